//! A private Postfix that hands all mail to one port: settings, queue and log of its own, nothing of the system's.
//!
//! It differs from one in service where a test would wait for it: mail that was deferred is tried again each second or
//! two, and no name is looked up in the DNS.

use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use tempfile::TempDir;

use super::{MailServer, PATIENCE, fed, free_port, greets, wait_until};

const SYSTEM_SETTINGS: &str = "/etc/postfix";

/// The time between two looks at the queue: each look is a process.
const LOOK: Duration = Duration::from_millis(100);

/// The services of master.cf but the SMTP listener, as type, privacy, unprivileged, chroot, wake-up, limit, program.
/// Nothing is chrooted: a chroot would need the system's files copied into each instance.
const SERVICES: &str = "\
pickup   unix       n - n 1     1 pickup
cleanup  unix       n - n -     0 cleanup
qmgr     unix       n - n 300   1 qmgr
tlsmgr   unix       - - n 1000? 1 tlsmgr
rewrite  unix       - - n -     - trivial-rewrite
bounce   unix       - - n -     0 bounce
defer    unix       - - n -     0 bounce
trace    unix       - - n -     0 bounce
verify   unix       - - n -     1 verify
flush    unix       n - n 1000? 0 flush
proxymap unix       - - n -     - proxymap
smtp     unix       - - n -     - smtp
relay    unix       - - n -     - smtp
showq    unix       n - n -     - showq
error    unix       - - n -     - error
retry    unix       - - n -     - error
discard  unix       - - n -     - discard
anvil    unix       - - n -     1 anvil
scache   unix       - - n -     1 scache
postlog  unix-dgram n - n -     1 postlogd
";

/// A running Postfix. Needs root, as Postfix does; stopped when dropped.
pub struct Postfix {
    folder: TempDir,
    port: u16,
    master: Option<u32>,
}

impl Postfix {
    /// Starts one that relays everything to 127.0.0.1:`relay_port`; returns when it greets clients.
    ///
    /// # Panics
    /// When not root, when Postfix is not installed, or when it does not come up.
    pub fn start(relay_port: u16) -> Postfix {
        Postfix::start_with(relay_port, &[])
    }

    /// The same with further lines of main.cf, such as `("default_destination_concurrency_limit", "1")`, which win.
    pub fn start_with(relay_port: u16, settings: &[(&str, &str)]) -> Postfix {
        let relay = format!("[127.0.0.1]:{relay_port}");
        Postfix::begin("", &[&[("relayhost", relay.as_str())], settings].concat())
    }

    /// One that gives all mail to a service of its own, called `aws-email`: its line of master.cf.
    pub fn to_pipe(service: &str, settings: &[(&str, &str)]) -> Postfix {
        Postfix::begin(service, &[&[("default_transport", "aws-email")], settings].concat())
    }

    /// One with a further service, its line of master.cf, and these settings.
    pub fn to_transport(service: &str, settings: &[(&str, &str)]) -> Postfix {
        Postfix::begin(service, settings)
    }

    fn begin(service: &str, settings: &[(&str, &str)]) -> Postfix {
        let euid = fs::metadata("/proc/self").expect("/proc is mounted").uid();
        assert!(euid == 0, "a private Postfix needs root: run the tests as root, or leave out those named postfix");
        // Below /tmp, for the sake of its sockets: a path to one may have 107 octets.
        let folder = tempfile::Builder::new().prefix("headgate-postfix-").tempdir_in("/tmp").expect("/tmp is writable");
        let mut postfix = Postfix { folder, port: free_port(), master: None };
        postfix.lay_out().unwrap_or_else(|error| panic!("the folder of a private Postfix cannot be made: {error}"));
        postfix.configure(service, settings).expect("the new folder is writable");
        postfix.launch();
        postfix
    }

    /// The port of 127.0.0.1 where it takes mail by SMTP.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The process id of its master, whose children are all its other processes.
    ///
    /// # Panics
    /// When it has not started.
    pub fn master(&self) -> u32 {
        self.master.expect("a Postfix that was started has a master")
    }

    /// Submits a message by its `sendmail` command; the arguments are those after the choice of the instance, such as
    /// `["-i", "-f", "a@example.com", "b@example.net"]`.
    pub fn inject(&self, arguments: &[&str], message: &[u8]) -> Output {
        let mut command = self.command("/usr/sbin/sendmail", "-C");
        fed(command.args(arguments), message)
    }

    /// The messages in the queue, each as the JSON object that postqueue prints of it.
    pub fn queue(&self) -> Vec<String> {
        let output = run(self.command("/usr/sbin/postqueue", "-c").arg("-j"));
        String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
    }

    /// Has all deferred mail tried again now.
    pub fn flush(&self) {
        run(self.command("/usr/sbin/postqueue", "-c").arg("-f"));
    }

    /// All that it has logged.
    pub fn log(&self) -> String {
        // A log of which nothing is written yet does not exist yet.
        fs::read(self.folder.path().join("maillog"))
            .map(|octets| String::from_utf8_lossy(&octets).into_owned())
            .unwrap_or_default()
    }

    /// Whether everything that it had taken, and every bounce this led to, leaves the queue before the patience is over.
    ///
    /// Postfix tells nobody when its queue gets empty, so this looks, and wants to see it twice in a row: between two
    /// stages a message can be overlooked by postqueue, and its log line comes a moment later than the deed.
    pub fn wait_queue_empty(&self, patience: Duration) -> bool {
        let mut looks = 0;
        wait_until(patience, || {
            std::thread::sleep(LOOK);
            let empty = unfinished(&self.log()).is_empty() && self.queue().is_empty();
            looks = if empty { looks + 1 } else { 0 };
            looks == 2
        })
    }

    /// A command of Postfix's for this instance; `option` is how that command is told where the settings are.
    fn command(&self, program: &str, option: &str) -> Command {
        let mut command = Command::new(program);
        command.arg(option).arg(self.folder.path().join("etc"));
        command
    }

    /// Makes the folders with the owners that Postfix insists on.
    fn lay_out(&self) -> std::io::Result<()> {
        let folder = self.folder.path();
        fs::set_permissions(folder, Permissions::from_mode(0o755))?;
        for part in ["etc", "etc/postfix-files.d", "queue", "data"] {
            fs::create_dir(folder.join(part))?;
        }
        fs::set_permissions(folder.join("data"), Permissions::from_mode(0o700))?;
        chown(folder.join("data"), Some(user_id("postfix")?), None)?;

        let system = Path::new(SYSTEM_SETTINGS);
        // By this list Postfix makes the folders of a new queue.
        fs::copy(system.join("postfix-files"), folder.join("etc/postfix-files"))?;
        // This one says where table types such as pcre are; a Postfix without settings may have none.
        let tables = ["/etc/postfix/dynamicmaps.cf", "/usr/share/postfix/dynamicmaps.cf"].map(Path::new);
        if let Some(tables) = tables.into_iter().find(|path| path.exists()) {
            fs::copy(tables, folder.join("etc/dynamicmaps.cf"))?;
        }
        Ok(())
    }

    fn configure(&self, service: &str, settings: &[(&str, &str)]) -> std::io::Result<()> {
        let Postfix { folder, port, .. } = self;
        let (etc, folder) = (folder.path().join("etc"), folder.path().display());
        let mut main = format!(
            "compatibility_level = 3.6
config_directory = {folder}/etc
meta_directory = {folder}/etc
queue_directory = {folder}/queue
data_directory = {folder}/data
maillog_file = {folder}/maillog
maillog_file_prefixes = {folder}
command_directory = /usr/sbin
daemon_directory = /usr/lib/postfix/sbin
shlib_directory = /usr/lib/postfix
myhostname = app1.example.com
myorigin = example.com
mydestination =
alias_maps =
alias_database =
local_recipient_maps =
inet_interfaces = 127.0.0.1
inet_protocols = ipv4
mynetworks = 127.0.0.0/8
smtpd_relay_restrictions = permit_mynetworks, reject
smtpd_peername_lookup = no
smtp_dns_support_level = disabled
smtp_host_lookup = native
smtp_tls_security_level = may
smtputf8_enable = yes
queue_run_delay = 1s
minimal_backoff_time = 1s
maximal_backoff_time = 2s
"
        );
        for (name, value) in settings {
            // The last line of a name is the one that counts.
            main += &format!("{name} = {value}\n");
        }
        fs::write(etc.join("main.cf"), main)?;
        fs::write(etc.join("master.cf"), format!("127.0.0.1:{port} inet n - n - - smtpd\n{SERVICES}{service}\n"))
    }

    fn launch(&mut self) {
        let output = run(self.command("/usr/sbin/postfix", "-c").arg("start"));
        self.master = fs::read_to_string(self.folder.path().join("queue/pid/master.pid"))
            .ok()
            .and_then(|text| text.trim().parse().ok());
        let ready = output.status.success() && wait_until(PATIENCE, || greets(self.port));
        assert!(ready, "Postfix does not start: {}\n{}", String::from_utf8_lossy(&output.stderr), self.log());
    }
}

impl MailServer for Postfix {
    fn port(&self) -> u16 {
        self.port
    }

    fn inject(&self, arguments: &[&str], message: &[u8]) -> Output {
        let before = self.log().len();
        let output = Postfix::inject(self, arguments, message);
        let tried = || self.log().get(before..).is_some_and(|log| log.contains(" status="));
        assert!(!output.status.success() || wait_until(PATIENCE, tried), "{}", self.log());
        output
    }

    fn run_queue(&self) {
        self.flush();
    }

    fn waiting(&self) -> Vec<String> {
        let parsed = |line: &String| serde_json::from_str::<serde_json::Value>(line).ok();
        let recipients = self
            .queue()
            .iter()
            .filter_map(parsed)
            .flat_map(|mut mail| mail["recipients"].as_array_mut().map(std::mem::take).unwrap_or_default())
            .collect::<Vec<_>>();
        recipients.iter().filter_map(|one| one["address"].as_str().map(str::to_owned)).collect()
    }

    fn log(&self) -> String {
        Postfix::log(self)
    }

    fn empties_its_queue(&self, patience: Duration) -> bool {
        self.flush();
        self.wait_queue_empty(patience)
    }
}

impl Drop for Postfix {
    fn drop(&mut self) {
        // Fails when the instance never came up, which is no reason to fail here.
        let _ =
            self.command("/usr/sbin/postfix", "-c").arg("stop").stdout(Stdio::null()).stderr(Stdio::null()).status();
        let Some(master) = self.master else { return };
        // By now the process id may be another's.
        let program = fs::read_link(format!("/proc/{master}/exe"));
        if program.is_ok_and(|path| path.ends_with("postfix/sbin/master")) {
            let _ = Command::new("kill").args(["-KILL", &master.to_string()]).status();
        }
    }
}

fn run(command: &mut Command) -> Output {
    command.stdin(Stdio::null()).output().unwrap_or_else(|error| {
        panic!("{command:?} does not start: {error}; `scripts/install test` installs what tests need")
    })
}

/// The queue ids that the log shows taken and not yet removed.
fn unfinished(log: &str) -> BTreeSet<&str> {
    let ids = |program: &'static str, what: &'static str| {
        log.lines().filter(move |line| line.contains(program)).filter_map(move |line| {
            let (id, event) = line.split_once("]: ")?.1.split_once(": ")?;
            event.starts_with(what).then_some(id)
        })
    };
    let removed: BTreeSet<&str> = ids("/qmgr[", "removed").collect();
    ids("/cleanup[", "message-id=").filter(|id| !removed.contains(id)).collect()
}

fn user_id(name: &str) -> std::io::Result<u32> {
    let users = fs::read_to_string("/etc/passwd")?;
    let mut entries = users.lines().map(|line| line.split(':').collect::<Vec<_>>());
    let id = entries.find(|entry| entry.first() == Some(&name)).and_then(|entry| entry.get(2)?.parse().ok());
    id.ok_or_else(|| std::io::Error::other(format!("there is no user {name}: Postfix is not installed")))
}

#[cfg(test)]
mod tests {
    use super::super::sink::Sink;
    use super::*;

    const MAIL: &[u8] = b"From: a@example.com\nTo: b@example.net\nSubject: hello\n\nhello\n";

    #[test]
    fn mail_given_to_sendmail_goes_through_postfix_to_the_relay() {
        let sink = Sink::start();
        let postfix = Postfix::start(sink.port());
        let output = postfix.inject(&["-i", "-f", "a@example.com", "b@example.net"], MAIL);
        assert!(output.status.success(), "{output:?}");
        assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());
        let mails = sink.mails();
        let [mail] = mails.as_slice() else { panic!("the relay got {mails:?}") };
        assert!(mail.contains("Subject: hello"), "{mail}");
        assert!(postfix.log().contains("status=sent"));
    }

    #[test]
    fn postfix_keeps_mail_while_the_relay_is_away_and_tries_again() {
        let port = free_port();
        let postfix = Postfix::start_with(port, &[("default_destination_concurrency_limit", "1")]);
        postfix.inject(&["-i", "-f", "a@example.com", "b@example.net"], MAIL);
        assert!(wait_until(PATIENCE, || postfix.log().contains("status=deferred")));
        assert!(!postfix.wait_queue_empty(Duration::ZERO));
        assert!(postfix.queue().iter().any(|line| line.contains("b@example.net")), "{:?}", postfix.queue());

        let sink = Sink::start_on(port);
        postfix.flush();
        assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());
        assert_eq!(sink.mails().len(), 1);
    }

    #[test]
    fn no_process_of_a_private_postfix_outlives_it() {
        let postfix = Postfix::start(free_port());
        let master = postfix.master.expect("a running Postfix has a master");
        assert!(Path::new(&format!("/proc/{master}")).exists());
        drop(postfix);
        assert!(wait_until(PATIENCE, || !Path::new(&format!("/proc/{master}")).exists()));
    }
}
