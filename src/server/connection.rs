//! One connection: it reads, asks the session, performs its steps.
//!
//! Replies to pipelined commands are gathered and leave in one write. A command has a time as a whole, and so has a
//! message's data, so a client that sends an octet a second ends as one that sends nothing.

use std::{io, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    time::{Instant, timeout, timeout_at},
};

use crate::{
    mail::{Address, Client, Enhanced, Id, Reply},
    smtp::{Codec, Event, Item, Login, LoginEnd, Next, Session, Step},
};

use super::{Tls, admission::Share, line, listener::House, pace::Pace, proxy, users::Verdict, wire::Wire};

/// Octets read at once, and octets of replies gathered before they are sent.
const PIECE: usize = 32 << 10;

/// How long a handshake may take, where a command may take longer.
const HANDSHAKE: Duration = Duration::from_secs(60);

/// What a connection ends with.
enum Ending {
    /// The client is gone, or a write failed.
    Lost,
    /// The last reply was sent.
    Closed,
}

pub(super) struct Connection {
    pub(super) stream: Wire,
    pub(super) house: Arc<House>,
    pub(super) codec: Codec,
    pub(super) session: Session,
    pub(super) out: Vec<u8>,
    pub(super) share: Share,
    /// Octets that the client said the message has.
    expected: usize,
    reading_data: bool,
    /// Whether anything came from the client.
    heard: bool,
    deadline: Instant,
    pace: Pace,
    pub(super) began: Instant,
}

impl Connection {
    pub(super) fn new(stream: Wire, client: Client, house: Arc<House>) -> Self {
        let session = Session::new(Arc::clone(&house.offer), client, Id::mint);
        let now = Instant::now();
        Self {
            stream,
            session,
            codec: Codec::default(),
            out: Vec::new(),
            share: house.budget.share(),
            expected: 0,
            reading_data: false,
            heard: false,
            pace: Pace::begin(),
            deadline: now + house.limits.command_time.0,
            began: now,
            house,
        }
    }

    /// Talks until one side ends it.
    pub(super) async fn run(mut self) {
        if self.house.settings.tls == Tls::Implicit && self.handshake().await.is_err() {
            return;
        }
        if let Some(step) = self.greet().await {
            let _ = self.perform(step).await;
            return;
        }
        if let Ending::Lost = self.talk().await
            && let Some(event) = self.session.lost()
        {
            self.log_event(event);
        }
        let _ = timeout(Duration::from_secs(1), self.stream.shutdown()).await;
    }

    async fn talk(&mut self) -> Ending {
        loop {
            while let Some(item) = self.codec.next_item() {
                let step = self.step(item);
                match self.perform(step).await {
                    Ok(true) => {}
                    Ok(false) => return Ending::Closed,
                    Err(_) => return Ending::Lost,
                }
                if self.out.len() > PIECE && self.flush().await.is_err() {
                    return Ending::Lost;
                }
            }
            if self.reading_data && !self.share.cover(self.codec.held()) {
                self.codec.starve();
                self.share.give_back();
            }
            if self.flush().await.is_err() {
                return Ending::Lost;
            }
            match self.read().await {
                Ok(true) => {
                    if !std::mem::replace(&mut self.heard, true) && proxy::is_header(self.codec.buffer()) {
                        let text = "takes PROXY headers from peers in proxy_protocol only";
                        let step = self.session.close(554, Enhanced(5, 7, 1), text);
                        let _ = self.perform(step).await;
                        return Ending::Closed;
                    }
                }
                Ok(false) => return Ending::Lost,
                Err(step) => {
                    let _ = self.perform(step).await;
                    return Ending::Closed;
                }
            }
        }
    }

    fn step(&mut self, item: Item) -> Step {
        self.deadline = Instant::now() + self.house.limits.command_time.0;
        self.reading_data = false;
        match item {
            Item::Line(line) => {
                let step = self.session.line(&line);
                if matches!(step.next, Next::Handshake) && self.codec.discard() {
                    return Step { event: step.event, ..self.session.pipelined() };
                }
                if !self.session.in_transaction() {
                    self.codec.forget();
                    self.share.give_back();
                    self.expected = 0;
                }
                step
            }
            Item::LongLine => self.session.fault(Reply::new(500, Enhanced(5, 5, 6), "The line is too long")),
            Item::BareLine => {
                self.session.fault(Reply::new(500, Enhanced(5, 5, 2), "A line ends in CRLF, not in LF alone"))
            }
            Item::Chunk(chunk) => {
                if chunk.is_err() {
                    self.share.give_back();
                }
                self.session.chunk(chunk, self.codec.received())
            }
            Item::Data(data) => {
                if data.is_err() {
                    self.share.give_back();
                }
                self.session.data(data, self.codec.received())
            }
        }
    }

    /// Reads on. `Ok(false)` when the client is gone, the closing step when it took too long or we shut down.
    async fn read(&mut self) -> Result<bool, Step> {
        let idle = Instant::now() + self.house.limits.data_idle.0;
        let slow = self.pace.too_slow(self.house.limits.data_rate.0).unwrap_or(self.deadline);
        let until = if self.reading_data { self.deadline.min(idle).min(slow) } else { self.deadline };
        self.codec.buffer().reserve(PIECE);
        let (stopping, leaving) = (self.house.shared.stopping.clone(), self.house.shared.leaving.clone());
        let reading = timeout_at(until, self.stream.read_buf(self.codec.buffer()));
        let idle_session = !self.reading_data && !self.session.in_transaction();
        // A client that never pauses must not keep us from seeing that drain is over.
        let result = tokio::select! {
            biased;
            () = leaving.cancelled() => return Err(self.session.close(421, Enhanced(4, 3, 2), "is shutting down")),
            result = reading => result,
            () = stopping.cancelled(), if idle_session => {
                return Err(self.session.close(421, Enhanced(4, 3, 2), "is shutting down"));
            }
        };
        match result {
            Ok(Ok(length)) => {
                self.pace.count(length);
                Ok(length > 0)
            }
            Ok(Err(_)) => Ok(false),
            Err(_) => Err(self.session.close(421, Enhanced(4, 4, 2), "waited too long; goodbye")),
        }
    }

    /// Logs and answers what a step says; how it goes on.
    fn tell(&mut self, step: Step) -> Next {
        if let Some(event) = step.event {
            self.log_event(event);
        }
        if let Some(reply) = step.reply {
            if matches!(step.next, Next::Command) && self.began_transaction(&reply) {
                self.began = Instant::now();
            }
            reply.write(&mut self.out);
        }
        step.next
    }

    /// Does what a step says; false when the session is over.
    async fn perform(&mut self, step: Step) -> io::Result<bool> {
        if let Some(reply) = &step.reply {
            self.tarpit(reply).await?;
        }
        match self.tell(step) {
            Next::Command => {}
            Next::Room(size, envelope) => {
                let room = self.make_room(size).await?;
                self.expected = if room { usize::try_from(size).unwrap_or(usize::MAX) } else { 0 };
                let step = self.session.room(*envelope, room);
                self.tell(step);
            }
            Next::Handshake => {
                self.flush().await?;
                self.handshake().await?;
            }
            Next::Data => {
                let (limit, expected) = self.begin_message();
                self.codec.begin_data(limit, expected);
            }
            Next::Chunk(size, last) => {
                let (limit, expected) = self.begin_message();
                self.codec.begin_chunk((size, last), limit, expected);
            }
            Next::Skip(size) => {
                self.begin_message();
                self.codec.skip(size);
            }
            Next::Recipient(address, asked) => {
                let refusal = self.refusal(&address);
                if let Some(reply) = self.session.recipient(*address, asked, refusal).reply {
                    reply.write(&mut self.out);
                }
            }
            Next::Login(login) => return self.take_login(*login).await,
            Next::Answer(reply) => self.answer(&reply),
            Next::Submit(transaction) => {
                self.flush().await?;
                let reply = self.submit(*transaction).await;
                self.share.give_back();
                self.answer(&reply);
                self.deadline = Instant::now() + self.house.limits.command_time.0;
            }
            Next::Close => {
                self.flush().await?;
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// What the rules, or what its login may send, have against a recipient.
    fn refusal(&self, address: &Address) -> Option<Reply> {
        let (client, sender, shared) = (self.session.client(), self.session.sender()?, &self.house.shared);
        shared.intake.check_recipient(client, sender, address).or_else(|| {
            let (users, login) = (shared.users.as_ref()?, client.login.as_ref()?);
            users.charge(login, self.session.recipients() == 0)
        })
    }

    /// What comes next is a message's, for which there is a time; its limit, and what it should have, in octets.
    fn begin_message(&mut self) -> (usize, usize) {
        (self.reading_data, self.pace) = (true, Pace::begin());
        self.deadline = Instant::now() + self.house.limits.data_time.0;
        (usize::try_from(self.house.limits.message_size.0).unwrap_or(usize::MAX), std::mem::take(&mut self.expected))
    }

    /// Answers a login; false when the session is over.
    async fn take_login(&mut self, login: Login) -> io::Result<bool> {
        let step = self.log_in(login).await;
        let next = self.tell(step);
        self.deadline = Instant::now() + self.house.limits.command_time.0;
        if let Next::Close = next {
            self.flush().await?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Says what became of the data.
    fn answer(&mut self, reply: &Reply) {
        for _ in 0..self.session.answers() {
            reply.write(&mut self.out);
        }
    }

    /// Goes on within TLS; when that fails the connection is of no use any longer.
    async fn handshake(&mut self) -> io::Result<()> {
        let stream = std::mem::replace(&mut self.stream, Box::new(tokio::io::empty()));
        let (certificates, stopping) = (self.house.shared.certificates.clone(), self.house.shared.stopping.clone());
        let shaking = async {
            let certificates = certificates.ok_or_else(|| io::Error::other("there is no certificate"))?;
            certificates.accept(stream).await
        };
        let shaken = tokio::select! {
            shaken = timeout(self.house.limits.command_time.0.min(HANDSHAKE), shaking) => {
                shaken.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into()))
            }
            () = stopping.cancelled() => Err(io::Error::other("shutting down")),
        };
        let client = self.session.client();
        let (stream, version) = shaken.inspect_err(|error| {
            tracing::info!(listener = client.listener, client = %client.address, %error, "the TLS handshake failed");
        })?;
        self.stream = stream;
        self.session.secured(version);
        self.deadline = Instant::now() + self.house.limits.command_time.0;
        Ok(())
    }

    fn began_transaction(&self, reply: &Reply) -> bool {
        reply.enhanced() == Some(Enhanced(2, 1, 0)) && self.session.in_transaction()
    }

    /// Has a login checked; the answer to a wrong one comes late.
    async fn log_in(&mut self, login: Login) -> Step {
        let Login { name, password, as_another } = login;
        let Some(users) = self.house.shared.users.clone() else {
            return self.session.login(name, as_another, LoginEnd::Wrong);
        };
        let end = match users.check(self.session.client().address, &name, password).await {
            Verdict::Right => LoginEnd::Right,
            Verdict::Blocked => LoginEnd::Blocked,
            Verdict::Wrong(wait) => {
                let leaving = self.house.shared.leaving.clone();
                let _ = timeout(wait, leaving.cancelled()).await;
                LoginEnd::Wrong
            }
        };
        self.session.login(name, as_another, end)
    }

    fn log_event(&self, event: Event) {
        let (record, word) = line::event_record(event, self.session.client());
        if let Some(word) = word {
            self.house.shared.metrics.message(word);
        }
        self.house.shared.log.write(&record);
    }

    pub(super) async fn flush(&mut self) -> io::Result<()> {
        if self.out.is_empty() {
            return Ok(());
        }
        let (stream, out) = (&mut self.stream, &self.out);
        // Within TLS what is written may wait for a flush.
        let writing = async {
            stream.write_all(out).await?;
            stream.flush().await
        };
        let writing = timeout(self.house.limits.command_time.0, writing);
        // What the client takes at once is written even when drain is over.
        let written = tokio::select! {
            biased;
            written = writing => written.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())),
            () = self.house.shared.leaving.cancelled() => Err(io::ErrorKind::TimedOut.into()),
        };
        self.out.clear();
        written
    }
}
