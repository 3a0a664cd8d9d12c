//! What happens with any mail server that runs `ses-send-email.pl` for each mail, told once for all of them. Each server's
//! own file has the recipe by which it runs it.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

use crate::{
    fake_ses::{Answer, Call, FakeSes, Profile},
    gateway::HEADGATE,
    parties::{MailServer, PATIENCE, free_port},
    postfix::RT_MAIL,
    queue,
};

const MAIL: &[u8] = b"From: a@example.com\nTo: b@example.net\nSubject: hello\n\nhi\n";
const ARGUMENTS: &[&str] = &["-i", "-f", "a@example.com", "b@example.net"];

/// The program as an administrator installs it: where every user may run it, under the names it is called by, with a file
/// of credentials.
pub struct Installed(TempDir);

impl Installed {
    /// Installs it.
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("headgate-bin-").tempdir_in("/tmp").unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
        let installed = Self(folder);
        fs::write(installed.keys(), "AWSAccessKeyId=AKIDEXAMPLE\nAWSSecretKey=wJalrEXAMPLEKEY\n").unwrap();
        fs::set_permissions(installed.keys(), Permissions::from_mode(0o644)).unwrap();
        // No link to where it was built: the users of mail servers may not look into the builder's folders.
        let program = installed.path("headgate");
        fs::hard_link(HEADGATE, &program).or_else(|_| fs::copy(HEADGATE, &program).map(drop)).unwrap();
        for name in ["ses-send-email.pl", "sendmail"] {
            std::os::unix::fs::symlink("headgate", installed.path(name)).unwrap();
        }
        installed
    }

    /// A file in its folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// The file of credentials.
    pub fn keys(&self) -> PathBuf {
        self.path("keys")
    }

    /// A recipe in which `BIN`, `KEYS` and `URL` stand for the folder, the file of credentials and SES.
    pub fn recipe(&self, recipe: &str, endpoint: &str) -> String {
        let text = |path: &Path| path.display().to_string();
        recipe.replace("BIN", &text(self.0.path())).replace("KEYS", &text(&self.keys())).replace("URL", endpoint)
    }
}

/// How a mail server is started: with what is installed, and SES's endpoint.
pub type Start<Server> = fn(&Installed, &str) -> Server;

/// Request Tracker's mail arrives once with its fields mended, for all of its recipients and nobody else.
pub fn rts_mail_arrives_once<Server: MailServer>(start: Start<Server>) {
    let fake = FakeSes::start(Profile::Today);
    let installed = Installed::new();
    let server = start(&installed, &fake.endpoint());
    let to = ["requestor@example.net", "cc@example.org", "admin@example.net"];
    let output = server.inject(&[&["-i", "-f", "rt@example.com"], &to[..]].concat(), RT_MAIL.as_bytes());
    assert!(output.status.success(), "{output:?}");
    assert!(server.empties_its_queue(PATIENCE), "{}", server.log());

    let accepted = fake.accepted();
    let mut reached: Vec<&str> = accepted.iter().flat_map(Call::recipients).collect();
    reached.sort_unstable();
    assert_eq!(reached, ["admin@example.net", "cc@example.org", "requestor@example.net"], "{}", server.log());
    assert_eq!(fake.counts().received, accepted.len() as u64, "SES took each at once: {}", server.log());
    for call in &accepted {
        assert_eq!((call.feedback.as_deref(), call.access_key.as_str()), (Some("rt@example.com"), "AKIDEXAMPLE"));
        assert_eq!(call.header("X-RT-Ticket"), ["example.com #42"]);
        assert_eq!(call.header("X-Chicken"), ["yummy"]);
        assert_eq!(call.header("RT-Ticket").len() + call.header("Chicken").len(), 0);
        let body = RT_MAIL.split_once("\n\n").unwrap().1;
        assert_eq!(String::from_utf8_lossy(call.body()).replace("\r\n", "\n"), body);
    }
}

/// While SES cannot be reached the server keeps the mail, and delivers it once afterwards.
pub fn while_ses_is_away_the_server_keeps_it<Server: MailServer>(start: Start<Server>) {
    let port = free_port();
    let installed = Installed::new();
    let server = start(&installed, &format!("http://127.0.0.1:{port}"));
    server.inject(ARGUMENTS, MAIL);
    assert_eq!(server.waiting(), ["b@example.net"], "{}", server.log());

    let fake = FakeSes::start_on(Profile::Today, port);
    assert!(server.empties_its_queue(PATIENCE), "{}", server.log());
    assert_eq!(queue::deliveries(&fake).into_iter().collect::<Vec<_>>(), [("b@example.net".to_owned(), 1)]);
}

/// What SES refuses comes back to its sender by the same way, once and with SES's words. The server's log, for more.
pub fn what_ses_refuses_bounces<Server: MailServer>(start: Start<Server>) -> String {
    let fake = FakeSes::start(Profile::Today);
    let refused = Answer::error(400, "MessageRejected", "Email address is not verified. a@example.com");
    fake.when(|call| call.to == ["b@example.net"], refused);
    let installed = Installed::new();
    let server = start(&installed, &fake.endpoint());
    server.inject(ARGUMENTS, MAIL);
    assert!(server.empties_its_queue(PATIENCE), "{}", server.log());

    let accepted = fake.accepted();
    let [bounce] = accepted.as_slice() else { panic!("{accepted:?}\n{}", server.log()) };
    assert_eq!(bounce.to, ["a@example.com"]);
    assert_eq!(bounce.feedback, None, "nobody hears of a bounce that bounces");
    let text = String::from_utf8_lossy(bounce.body());
    assert!(text.contains("b@example.net") && text.contains("Email address is not verified."), "{text}");
    assert_eq!(fake.counts().received, 2, "the mail once, the bounce once");
    server.log()
}
