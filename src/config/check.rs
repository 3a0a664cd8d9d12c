//! What must hold between settings, and what a type alone cannot tell.

mod tls;
mod upstream;

use std::{collections::HashSet, net::SocketAddr};

use ipnet::IpNet;

use crate::{
    log::Format,
    mail::{Address, without_login},
    server, tree,
    tree::{Fault, Node, Step},
};

use super::Settings;

/// A listener that anyone can reach must not relay for networks shorter than these prefixes.
const SHORTEST: (u8, u8) = (8, 16);

/// `defaulted` are the places of values that could not be read; what is said of the tables they stand in would be said of
/// the defaults in their place.
pub(super) fn check(settings: &Settings, root: &Node, defaulted: &[Vec<Step>]) -> Vec<Fault> {
    let mut checker = Checker { root, defaulted, faults: Vec::new() };
    checker.hostname(settings);
    checker.listeners(&settings.listeners);
    tls::check(&mut checker, settings);
    checker.users(settings);
    checker.limits(&settings.limits);
    checker.times(settings);
    checker.delivery(settings);
    checker.upstreams(&settings.upstreams);
    checker.logs(settings);
    checker.faults
}

struct Checker<'a> {
    root: &'a Node,
    defaulted: &'a [Vec<Step>],
    faults: Vec<Fault>,
}

impl Checker<'_> {
    fn fault(&mut self, path: &[Step], message: &str) {
        let table = |one: &Vec<Step>| one.get(..one.len().saturating_sub(1).max(1)).unwrap_or_default().to_vec();
        if self.defaulted.iter().any(|one| path.starts_with(&table(one))) {
            return;
        }
        let place = self.root.place_of(path);
        self.faults.push(Fault::new(&place, format!("{}: {message}", tree::dotted(path))));
    }

    fn hostname(&mut self, settings: &Settings) {
        let name = &settings.hostname;
        if !name.is_empty() && Address::from_parts("postmaster", name).is_err() {
            self.fault(&["hostname".into()], &format!("{name:?} is no host name, such as relay.example.com"));
        }
    }

    fn listeners(&mut self, listeners: &[server::Settings]) {
        if listeners.is_empty() {
            self.fault(&["listener".into()], "at least one [[listener]] is needed");
        }
        let (mut names, mut addresses) = (HashSet::new(), HashSet::new());
        for (index, listener) in listeners.iter().enumerate() {
            let path = |key: &str| [Step::from("listener"), Step::from(index), Step::from(key)];
            if listener.name.is_empty() || !names.insert(listener.name.to_ascii_lowercase()) {
                self.fault(
                    &path("name"),
                    &format!("{:?} is empty or used twice; each listener has a name of its own", listener.name),
                );
            }
            if !addresses.insert(listener.address.as_str()) {
                self.fault(&path("address"), &format!("another listener has {} already", listener.address));
            }
            let named = !listener.proxy_protocol.is_empty() || !listener.xclient.is_empty();
            match listener.place() {
                // Behind a proxy the clients are those that it names.
                Some(place) if place.is_local() && !named => {}
                Some(_) if listener.auth == server::Auth::Required => {}
                Some(_) => self.open_relay(&path("allow"), listener),
                None => {
                    let text = format!(
                        "{:?} is no address with a port, such as \"127.0.0.1:2525\" or \"[::]:25\", and neither unix:PATH nor systemd:NAME",
                        listener.address
                    );
                    self.fault(&path("address"), &text);
                }
            }
            if listener.protocol == server::Protocol::Lmtp && listener.address.ends_with(":25") {
                // RFC 2033 section 5: a server that sends there would not be answered as it expects.
                self.fault(&path("protocol"), "LMTP is not spoken on port 25, where other servers expect SMTP");
            }
        }
    }

    fn open_relay(&mut self, path: &[Step], listener: &server::Settings) {
        let networks: Vec<IpNet> = listener.allow.iter().map(|network| network.0).collect();
        let open = IpNet::aggregate(&networks).into_iter().find(|network| {
            let shortest = if network.addr().is_ipv4() { SHORTEST.0 } else { SHORTEST.1 };
            network.prefix_len() < shortest && !network.addr().is_loopback()
        });
        if let Some(network) = open {
            let local = listener.place().is_some_and(|place| place.is_local());
            let text = format!(
                "listener {} on {} would be an open relay for {network}; allow the networks of your own clients, such as \"10.0.0.0/8\"{}",
                listener.name,
                listener.address,
                if local { "" } else { ", or listen on 127.0.0.1" }
            );
            self.fault(path, &text);
        }
    }

    /// A listener that takes logins needs users, and users a file that can be read.
    fn users(&mut self, settings: &Settings) {
        let file = &settings.users.file;
        if !file.as_os_str().is_empty()
            && let Err(error) = server::Book::read(file)
        {
            self.fault(&["users".into(), "file".into()], &error.to_string());
        }
        for (index, listener) in settings.listeners.iter().enumerate() {
            let path = [Step::from("listener"), Step::from(index), Step::from("auth")];
            if listener.auth == server::Auth::None {
                continue;
            }
            if file.as_os_str().is_empty() {
                self.fault(&path, "logins need [users] file, which `headgate users add` makes");
            }
            // What systemd passes may be local; if it is not, no login is offered.
            let remote = matches!(listener.place(), Some(server::Place::Tcp(address)) if !address.ip().is_loopback());
            if listener.tls == server::Tls::None && remote {
                self.fault(&path, "passwords are not taken in the clear: set tls, or listen on 127.0.0.1");
            }
        }
    }

    fn limits(&mut self, limits: &server::Limits) {
        let counts = [
            ("recipients", limits.recipients),
            ("connections", limits.connections),
            ("connections_per_client", limits.connections_per_client),
            ("received", limits.received),
        ];
        for (key, _) in counts.iter().filter(|(_, count)| *count == 0) {
            self.fault(&["limits".into(), (*key).into()], "at least 1 is needed");
        }
        let sizes = [("message_size", limits.message_size), ("header_size", limits.header_size)];
        for (key, _) in sizes.iter().filter(|(_, size)| size.0 == 0) {
            self.fault(&["limits".into(), (*key).into()], "at least 1 octet is needed");
        }
        if limits.message_size.0.saturating_mul(4) > limits.memory.0 {
            let text = format!(
                "a message of {} needs a memory of at least {} octets",
                limits.message_size,
                limits.message_size.0.saturating_mul(4)
            );
            self.fault(&["limits".into(), "memory".into()], &text);
        }
    }

    /// Times that end every session or attempt at once when they are nothing.
    fn times(&mut self, settings: &Settings) {
        let limits = &settings.limits;
        let times = [
            ("limits", "command_time", limits.command_time),
            ("limits", "data_idle", limits.data_idle),
            ("limits", "data_time", limits.data_time),
            ("delivery", "direct_timeout", settings.delivery.direct_timeout),
        ];
        for (section, key, _) in times.iter().filter(|(_, _, time)| time.0.is_zero()) {
            self.fault(&[(*section).into(), (*key).into()], "more than no time is needed");
        }
    }

    fn delivery(&mut self, settings: &Settings) {
        let retry = &settings.delivery.retry;
        if retry.first.0.is_zero() || retry.first > retry.max || retry.max > retry.expire {
            let text = format!(
                "first = \"{}\", max = \"{}\", expire = \"{}\": more than no time, and none longer than the next",
                retry.first, retry.max, retry.expire
            );
            self.fault(&["delivery".into(), "retry".into()], &text);
        }
        if let Some(store) = &settings.store
            && store.path().is_none()
        {
            let url = without_login(&store.url);
            let text = format!("{url:?} is no store; write \"sqlite:\" and a file, such as \"sqlite:headgate.db\"");
            self.fault(&["store".into(), "url".into()], &text);
        }
        if settings.delivery.concurrency == 0 {
            self.fault(&["delivery".into(), "concurrency".into()], "at least 1 is needed");
        }
        let from = &settings.bounce.from;
        if !from.is_empty()
            && let Err(error) = Address::parse(from)
        {
            self.fault(&["bounce".into(), "from".into()], &format!("{from:?}: {error}"));
        }
    }

    fn upstreams(&mut self, upstreams: &[crate::upstream::Settings]) {
        if upstreams.iter().all(|upstream| upstream.weight == 0) {
            self.fault(&["upstream".into()], "at least one [[upstream]] with a weight above 0 is needed");
        }
        let mut names = HashSet::new();
        for (index, upstream) in upstreams.iter().enumerate() {
            let path = |key: &str| [Step::from("upstream"), Step::from(index), Step::from(key)];
            if upstream.name.is_empty() || !names.insert(upstream.name.as_str()) {
                self.fault(
                    &path("name"),
                    &format!("{:?} is empty or used twice; each upstream has a name of its own", upstream.name),
                );
            }
            upstream::check(self, index, upstream);
        }
    }

    fn logs(&mut self, settings: &Settings) {
        if let Err(error) = Format::compile(&settings.access_log.format) {
            self.fault(&["access_log".into(), "format".into()], &error.to_string());
        }
        if settings.access_log.output.ends_with("syslog") && !settings.access_log.output.contains('/')
            || settings.access_log.output.is_empty()
        {
            self.fault(
                &["access_log".into(), "output".into()],
                "write stdout, off, or the path of a file; syslog is not in this version",
            );
        }
        let address = &settings.http.address;
        if !address.is_empty() && address.parse::<SocketAddr>().is_err() {
            self.fault(
                &["http".into(), "address".into()],
                &format!("{address:?} is no address with a port, such as \"127.0.0.1:8025\""),
            );
        }
    }
}
