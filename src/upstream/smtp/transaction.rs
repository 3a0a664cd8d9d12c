//! One mail transaction (RFC 5321 section 3.3): MAIL, RCPT for each recipient, DATA.

use bytes::Bytes;

use crate::{
    mail::{Address, Asked, Asks, Dsn, Enhanced, Outcome, Outcomes, Reply, Sender},
    smtp::xtext,
};

use super::{connection::Peer, data, reply, response::Response};

/// What goes over the wire.
pub(super) struct Letter {
    pub sender: Sender,
    pub recipients: Vec<Address>,
    pub message: Bytes,
    /// What the sender asked to hear, and of each recipient.
    pub dsn: Dsn,
    pub asked: Asks,
    /// Whether the server is SES, whose words are known.
    pub for_ses: bool,
}

/// How far an attempt came. It outlives an attempt that is broken off.
pub(super) struct Progress {
    each: Vec<Option<Outcome>>,
    /// Whether the server may have read the final dot.
    ended: bool,
}

impl Progress {
    pub fn new(recipients: usize) -> Self {
        Self { each: vec![None; recipients], ended: false }
    }

    /// The outcome of each recipient; `fault` is why some have none of their own.
    pub fn outcomes(self, fault: Outcome) -> Outcomes {
        let fault = if self.ended { reply::doubtful(fault) } else { fault };
        Outcomes::Each(self.each.into_iter().map(|known| known.unwrap_or_else(|| fault.clone())).collect())
    }

    /// The same for all that have none yet.
    fn settle(&mut self, outcome: &Outcome) {
        for open in self.each.iter_mut().filter(|one| one.is_none()) {
            *open = Some(outcome.clone());
        }
    }

    fn is_settled(&self) -> bool {
        self.each.iter().all(Option::is_some)
    }
}

/// Hands a letter over; says whether the connection may be used again. Each recipient has its outcome then.
///
/// # Errors
/// What broke the transaction off, for the recipients without an outcome.
pub(super) async fn run(peer: &mut Peer, letter: &Letter, progress: &mut Progress) -> Result<bool, Box<Outcome>> {
    if let Some(refusal) = unfit(peer, letter) {
        progress.settle(&refusal);
        return Ok(true);
    }
    envelope(peer, letter, progress).await?;
    if progress.is_settled() {
        return Ok(true);
    }
    let response = peer.wire.command("DATA").await.map_err(|error| reply::broken("DATA", &error))?;
    if response.code != 354 {
        let refusal = reply::refused("DATA", &response, letter.for_ses);
        progress.settle(&refusal);
        // A server that takes DATA in another way than 354 may wait for anything.
        return Ok(response.code >= 400);
    }
    let data = data::stuffed(&letter.message);
    peer.wire.write(&data).await.map_err(|error| reply::broken("data", &error))?;
    progress.ended = true;
    let verdict = match peer.wire.write(data::END).await {
        Ok(()) => peer.wire.response().await,
        Err(error) => Err(error),
    };
    let verdict = verdict.map_err(|error| reply::broken("end of data", &error))?;
    let known = matches!(verdict.code, 200..300 | 400..600);
    let outcome = if verdict.is_positive() {
        // Who takes DSN takes over to tell the sender (RFC 3461 section 5.2.2).
        Outcome { tells: peer.offer.dsn, ..reply::delivered(&verdict) }
    } else {
        reply::refused("end of data", &verdict, letter.for_ses)
    };
    progress.settle(&if known { outcome } else { reply::doubtful(outcome) });
    Ok(known)
}

/// MAIL and all RCPT, at once where the server lets us. Whoever is refused has an outcome then.
async fn envelope(peer: &mut Peer, letter: &Letter, progress: &mut Progress) -> Result<(), Box<Outcome>> {
    let recipients = letter.recipients.iter().map(|recipient| rcpt(peer, letter, recipient));
    let commands: Vec<String> = std::iter::once(mail(peer, letter)).chain(recipients).collect();
    let pipelining = peer.offer.pipelining;
    if pipelining {
        let all: String = commands.iter().map(|command| format!("{command}\r\n")).collect();
        peer.wire.write(all.as_bytes()).await.map_err(|error| reply::broken("MAIL", &error))?;
    }
    for (at, command) in commands.iter().enumerate() {
        let what = if at == 0 { "MAIL" } else { "RCPT" };
        let response = if pipelining { peer.wire.response().await } else { peer.wire.command(command).await };
        let response = response.map_err(|error| reply::broken(what, &error))?;
        if response.code == 421 {
            // The connection ends here, whatever was said of recipients before.
            return Err(Box::new(reply::refused(what, &response, letter.for_ses)));
        }
        take(progress, at, &response, letter.for_ses);
        if at == 0 && !response.is_positive() && !pipelining {
            return Ok(());
        }
    }
    Ok(())
}

/// What the reply to MAIL (at 0) or to a RCPT means. Behind a refused MAIL nothing that is said of recipients counts.
fn take(progress: &mut Progress, at: usize, response: &Response, for_ses: bool) {
    if response.is_positive() {
        return;
    }
    match at.checked_sub(1) {
        None => progress.settle(&reply::refused("MAIL", response, for_ses)),
        Some(at) => {
            if let Some(open) = progress.each.get_mut(at).filter(|one| one.is_none()) {
                *open = Some(reply::refused("RCPT", response, for_ses));
            }
        }
    }
}

fn mail(peer: &Peer, letter: &Letter) -> String {
    let mut command = format!("MAIL FROM:<{}>", letter.sender);
    if peer.offer.size.is_some() {
        command.push_str(&format!(" SIZE={}", letter.message.len()));
    }
    if peer.offer.eight_bit && !letter.message.is_ascii() {
        command.push_str(" BODY=8BITMIME");
    }
    if peer.offer.dsn {
        let Dsn { ret, envelope_id } = &letter.dsn;
        command.extend(ret.map(|ret| format!(" RET={ret}")));
        command.extend(envelope_id.as_ref().map(|id| format!(" ENVID={}", xtext::encode(id))));
    }
    command
}

fn rcpt(peer: &Peer, letter: &Letter, recipient: &Address) -> String {
    let mut command = format!("RCPT TO:<{recipient}>");
    if peer.offer.dsn {
        let Asked { notify, original } = letter.asked.of(recipient);
        command.extend(notify.map(|notify| format!(" NOTIFY={notify}")));
        command.extend(original.map(|original| format!(" ORCPT={}", xtext::write_orcpt(&original))));
    }
    command
}

/// Why the server as it offers itself cannot take this message.
fn unfit(peer: &Peer, letter: &Letter) -> Option<Outcome> {
    let message = &letter.message;
    let (code, enhanced, text) = if data::is_smuggling(message) {
        (
            554,
            Enhanced(5, 6, 0),
            "A line of one dot ends in a lone CR or LF, where a server may see the end of the data",
        )
    } else if peer.offer.size.is_some_and(|size| size > 0 && message.len() > size) {
        (552, Enhanced(5, 3, 4), "The message is larger than the next server takes")
    } else if !peer.offer.eight_bit && !message.is_ascii() {
        // RFC 6152 section 3: not without the extension; re-encoding is the rules' to do.
        (554, Enhanced(5, 6, 3), "The message has octets outside ASCII, which the next server does not take")
    } else {
        return None;
    };
    Some(Outcome::refused(Reply::new(code, enhanced, text), text))
}
