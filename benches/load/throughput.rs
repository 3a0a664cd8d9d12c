//! Messages a second: accepted durably, and delivered.

use std::{
    io::Read as _,
    process::{Command, Stdio},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use crate::{
    Plan,
    fake_ses::{Account, FakeSes, Profile},
    gateway::{BASE, Gateway, ses},
    measure::{Rounds, processor, send},
    parties::{Guard, PATIENCE, free_port, postfix::Postfix, wait_for_port, wait_until},
};

/// A fake SES of that rate.
pub fn fake(rate: f64) -> FakeSes {
    let fake = FakeSes::start(Profile::Today);
    fake.set_account(Account { max_send_rate: rate, max_24_hour_send: -1.0, sent_last_24_hours: 0.0 });
    fake.keep_bodies(false);
    fake
}

/// A gateway with a queue before it.
pub fn queueing(fake: &FakeSes, more: &str) -> Gateway {
    let delivery = "[delivery]\nmode = \"queue\"\nconcurrency = 128\n";
    Gateway::start(&format!("{BASE}{delivery}{more}{}", ses(&fake.endpoint())))
}

/// Postfix's sink, which throws mail away and counts it.
pub struct Sink {
    guard: Guard,
    port: u16,
    taken: Arc<AtomicUsize>,
}

impl Sink {
    pub fn start() -> Self {
        let port = free_port();
        let mut command = Command::new("/usr/sbin/smtp-sink");
        command.args(["-u", "nobody", "-c", &format!("127.0.0.1:{port}"), "1000"]);
        let mut guard = Guard::spawn(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()));
        let taken = Arc::new(AtomicUsize::new(0));
        let (mut output, counting) = (guard.child().stdout.take().unwrap(), Arc::clone(&taken));
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(length @ 1..) = output.read(&mut buffer) {
                let text = String::from_utf8_lossy(&buffer[..length]);
                // Its line is "quit=N mesg=N", written over and over.
                if let Some(number) = text.rsplit("mesg=").next().and_then(|rest| rest.split_whitespace().next()) {
                    counting.fetch_max(number.parse().unwrap_or(0), Ordering::Relaxed);
                }
            }
        });
        assert!(wait_for_port(port, PATIENCE), "smtp-sink does not start; it needs root");
        Self { guard, port, taken }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn process(&mut self) -> u32 {
        self.guard.child().id()
    }
}

/// A Postfix as fast as it gets without giving up what it promises.
pub fn postfix(relay_port: u16) -> Postfix {
    let settings = [
        ("default_process_limit", "200"),
        ("smtpd_client_connection_count_limit", "0"),
        ("smtpd_client_connection_rate_limit", "0"),
        ("smtpd_client_message_rate_limit", "0"),
        ("default_destination_concurrency_limit", "100"),
        ("in_flow_delay", "0s"),
        ("smtp_connection_cache_on_demand", "yes"),
    ];
    Postfix::start_with(relay_port, &settings)
}

/// Durable acceptance while delivery is paced at 100 recipients a second.
pub fn acceptance(plan: Plan) {
    for sessions in [10, 100] {
        let (mut sinks, mut gateways, mut postfixes) = (Rounds::default(), Rounds::default(), Rounds::default());
        for _ in 0..plan.rounds {
            let mut sink = Sink::start();
            let before = processor(sink.process());
            let took = send(sink.port(), sessions, plan.messages);
            sinks.add(plan.messages, took, processor(sink.process()) - before);

            let fake = fake(100.0);
            let mut gateway = queueing(&fake, "");
            assert!(fake.wait_until(PATIENCE, |counts| counts.account > 0));
            let before = processor(gateway.pid());
            let took = send(gateway.port(), sessions, plan.messages);
            gateways.add(plan.messages, took, processor(gateway.pid()) - before);
            drop(gateway);

            let postfix = postfix(sink.port());
            let before = processor(postfix.master());
            let messages = plan.messages / 5;
            let took = send(postfix.port(), sessions, messages);
            postfixes.add(messages, took, processor(postfix.master()) - before);
        }
        println!("{sessions} sessions");
        sinks.print("smtp-sink, stores nothing", &[]);
        let beside = [("smtp-sink", sinks.rate()), ("Postfix", postfixes.rate())];
        gateways.print("headgate, paced at 100/s", &beside);
        postfixes.print("Postfix, before its sink", &beside[..1]);
    }
}

/// Accepted durably and delivered, the fake SES answering after 20 ms.
pub fn delivery(plan: Plan) {
    for sessions in [10, 100] {
        let (mut gateways, mut postfixes) = (Rounds::default(), Rounds::default());
        for _ in 0..plan.rounds {
            let fake = fake(1e6);
            fake.latency(Duration::from_millis(20));
            let mut gateway = queueing(&fake, "");
            assert!(fake.wait_until(PATIENCE, |counts| counts.account > 0));
            let (before, begun) = (processor(gateway.pid()), Instant::now());
            send(gateway.port(), sessions, plan.messages);
            assert!(fake.wait_for_accepted(plan.messages as u64, Duration::from_secs(600)), "{:?}", fake.counts());
            gateways.add(plan.messages, begun.elapsed(), processor(gateway.pid()) - before);
            drop(gateway);

            let sink = Sink::start();
            let postfix = postfix(sink.port());
            let messages = plan.messages / 5;
            let (before, begun) = (processor(postfix.master()), Instant::now());
            send(postfix.port(), sessions, messages);
            assert!(wait_until(Duration::from_secs(600), || sink.taken.load(Ordering::Relaxed) >= messages));
            postfixes.add(messages, begun.elapsed(), processor(postfix.master()) - before);
        }
        println!("{sessions} sessions");
        gateways.print("headgate to SES at 20 ms", &[("Postfix", postfixes.rate())]);
        postfixes.print("Postfix to smtp-sink", &[]);
    }
}
