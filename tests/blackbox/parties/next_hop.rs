//! A mail server that says what a test tells it to, and records what it heard: commands, logins, and the octets behind
//! DATA as they came, dots and all. It uses none of the product's code.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, Shutdown, TcpListener, TcpStream},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread,
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// How it is reached.
#[derive(Clone, Default)]
pub enum Privacy {
    #[default]
    None,
    Starttls(Arc<ServerConfig>),
    Implicit(Arc<ServerConfig>),
}

/// The answer to a command, if it is not the usual one; `END` stands for the end of the data. `CUT` closes the
/// connection without a word, `HANG` says nothing and waits until the other side leaves.
pub type Answers = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What it is like.
#[derive(Clone)]
pub struct Script {
    pub privacy: Privacy,
    /// Its extensions but STARTTLS.
    pub extensions: Vec<&'static str>,
    /// The login it wants, as name and password.
    pub login: Option<(&'static str, &'static str)>,
    pub answers: Answers,
}

impl Default for Script {
    fn default() -> Self {
        let extensions = vec!["PIPELINING", "SIZE 10000000", "8BITMIME", "ENHANCEDSTATUSCODES"];
        Self { privacy: Privacy::None, extensions, login: None, answers: Arc::new(|_| None) }
    }
}

impl Script {
    /// With these answers.
    pub fn answering(answers: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { answers: Arc::new(answers), ..Self::default() }
    }
}

/// What it heard.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    pub connections: usize,
    /// All commands of all connections; what follows AUTH is decoded.
    pub commands: Vec<String>,
    /// The data of each message up to the dot that ended it.
    pub data: Vec<Vec<u8>>,
}

/// The running server. Its threads end with their connections.
pub struct NextHop {
    port: u16,
    heard: Arc<Mutex<Heard>>,
}

impl NextHop {
    /// Starts one.
    pub fn start(script: Script) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a loopback port");
        let port = listener.local_addr().expect("its number").port();
        let heard = Arc::new(Mutex::new(Heard::default()));
        let book = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (script, book) = (script.clone(), Arc::clone(&book));
                locked(&book).connections += 1;
                // A client that leaves in the middle is what some tests are about.
                thread::spawn(move || drop(serve(stream, &script, &book)));
            }
        });
        Self { port, heard }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn heard(&self) -> Heard {
        locked(&self.heard).clone()
    }

    /// The commands that begin with that word.
    pub fn commands(&self, verb: &str) -> Vec<String> {
        self.heard().commands.into_iter().filter(|command| command.starts_with(verb)).collect()
    }
}

fn locked(heard: &Mutex<Heard>) -> MutexGuard<'_, Heard> {
    heard.lock().unwrap_or_else(PoisonError::into_inner)
}

trait Both: Read + Write + Send {}

impl<T: Read + Write + Send> Both for T {}

fn private(stream: TcpStream, config: &Arc<ServerConfig>) -> io::Result<Box<dyn Both>> {
    let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
    Ok(Box::new(StreamOwned::new(connection, stream)))
}

fn serve(stream: TcpStream, script: &Script, book: &Mutex<Heard>) -> io::Result<()> {
    let again = stream.try_clone()?;
    let wire: Box<dyn Both> = match &script.privacy {
        Privacy::Implicit(config) => private(stream, config)?,
        _ => Box::new(stream),
    };
    let mut session = Session { wire: BufReader::new(wire), script, book, secured: false, socket: again };
    session.say("CONNECT", "220 next-hop.example.com ESMTP")?;
    session.run()
}

struct Session<'a> {
    wire: BufReader<Box<dyn Both>>,
    script: &'a Script,
    book: &'a Mutex<Heard>,
    secured: bool,
    socket: TcpStream,
}

impl Session<'_> {
    fn run(&mut self) -> io::Result<()> {
        while let Some(line) = self.line()? {
            self.note(&line);
            let verb = line.split([' ', ':']).next().unwrap_or_default().to_ascii_uppercase();
            match verb.as_str() {
                "EHLO" => self.ehlo(&line)?,
                "STARTTLS" => self.start_tls(&line)?,
                "AUTH" => self.auth(&line)?,
                "DATA" if self.say(&line, "354 go on")? == 354 => self.data()?,
                "DATA" => {}
                "QUIT" => return self.say(&line, "221 2.0.0 bye").map(drop),
                _ => drop(self.say(&line, "250 2.0.0 Ok")?),
            }
        }
        Ok(())
    }

    fn note(&self, command: &str) {
        locked(self.book).commands.push(command.to_owned());
    }

    fn line(&mut self) -> io::Result<Option<String>> {
        let mut line = String::new();
        let count = self.wire.read_line(&mut line)?;
        Ok((count > 0).then(|| line.trim_end_matches(['\r', '\n']).to_owned()))
    }

    /// The scripted answer, or this one; says its code.
    fn say(&mut self, command: &str, usual: &str) -> io::Result<u16> {
        let answer = (self.script.answers)(command).unwrap_or_else(|| usual.to_owned());
        match answer.as_str() {
            "CUT" => {
                self.socket.shutdown(Shutdown::Both)?;
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            "HANG" => {
                while self.wire.read(&mut [0; 100])? > 0 {}
                Err(io::ErrorKind::ConnectionAborted.into())
            }
            words => {
                let stream = self.wire.get_mut();
                stream.write_all(format!("{}\r\n", words.replace('\n', "\r\n")).as_bytes())?;
                stream.flush()?;
                Ok(words.get(..3).and_then(|code| code.parse().ok()).unwrap_or(0))
            }
        }
    }

    fn ehlo(&mut self, line: &str) -> io::Result<()> {
        let offers_tls = matches!(self.script.privacy, Privacy::Starttls(_)) && !self.secured;
        let mut lines = vec!["next-hop.example.com"];
        lines.extend(&self.script.extensions);
        lines.extend(offers_tls.then_some("STARTTLS"));
        let last = lines.len() - 1;
        let text =
            lines.iter().enumerate().map(|(at, word)| format!("250{}{word}", if at == last { ' ' } else { '-' }));
        let text: Vec<String> = text.collect();
        self.say(line, &text.join("\n")).map(drop)
    }

    fn start_tls(&mut self, line: &str) -> io::Result<()> {
        let code = self.say(line, "220 2.0.0 go")?;
        if let (Privacy::Starttls(config), 220) = (&self.script.privacy, code) {
            self.wire = BufReader::new(private(self.socket.try_clone()?, config)?);
            self.secured = true;
        }
        Ok(())
    }

    fn auth(&mut self, line: &str) -> io::Result<()> {
        let decoded = |text: &str| {
            String::from_utf8(STANDARD.decode(text).unwrap_or_default()).unwrap_or_default().replace('\0', " ")
        };
        let mut words = line.split(' ').skip(1);
        let given = match (words.next(), words.next()) {
            (Some("PLAIN"), Some(initial)) => decoded(initial).trim().to_owned(),
            _ => {
                self.say("AUTH LOGIN", "334 VXNlcm5hbWU6")?;
                let name = decoded(&self.line()?.unwrap_or_default());
                self.say("AUTH LOGIN", "334 UGFzc3dvcmQ6")?;
                format!("{name} {}", decoded(&self.line()?.unwrap_or_default()))
            }
        };
        self.note(&format!("LOGIN {given}"));
        let right = self.script.login.is_some_and(|(name, password)| given == format!("{name} {password}"));
        let usual = if right { "235 2.7.0 welcome" } else { "535 5.7.8 Authentication credentials invalid" };
        self.say("LOGIN", usual).map(drop)
    }

    /// Reads up to the line of one dot; only CRLF ends a line here.
    fn data(&mut self) -> io::Result<()> {
        let mut data: Vec<u8> = Vec::new();
        while !data.ends_with(b"\r\n.\r\n") && data != b".\r\n" {
            if self.wire.read_until(b'\n', &mut data)? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
        data.truncate(data.len() - 3);
        locked(self.book).data.push(data);
        self.say("END", "250 2.0.0 Ok: queued as 4A7B").map(drop)
    }
}
