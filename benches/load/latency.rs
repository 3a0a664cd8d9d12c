//! From the final dot to 250, at half of what each party takes at most: an open loop, counted from the instant at which a
//! message was to go.

use std::{
    sync::Mutex,
    thread,
    time::{Duration, Instant},
};

use crate::{
    Plan,
    measure::{OCTETS, median, quantile, send},
    parties::PATIENCE,
    smtp::Smtp,
    throughput::{Sink, fake, postfix, queueing},
};

/// Sessions of the client.
const SESSIONS: usize = 20;
/// How long it sends.
const DURING: f64 = 10.0;

/// Sends at that rate; milliseconds of each message.
fn paced(port: u16, rate: f64) -> Vec<f64> {
    let times = Mutex::new(Vec::new());
    let each = Duration::from_secs_f64(SESSIONS as f64 / rate);
    let begin = Instant::now() + Duration::from_millis(200);
    let mail = "From: a@example.com\r\nSubject: x\r\n\r\n".to_owned()
        + &"seventy octets of text in each line of the message, more or less\r\n".repeat(OCTETS / 66);
    thread::scope(|scope| {
        for session in 0..SESSIONS {
            let (times, mail) = (&times, mail.as_bytes());
            scope.spawn(move || {
                let mut client = Smtp::ready(port);
                let mut own = Vec::new();
                let mut due = begin + each.mul_f64(session as f64 / SESSIONS as f64);
                while due.duration_since(begin).as_secs_f64() < DURING {
                    thread::sleep(due.saturating_duration_since(Instant::now()));
                    // What goes late for want of a free session has waited since it was due.
                    let late = Instant::now().saturating_duration_since(due);
                    assert!(client.prepare("a@example.com", &["b@example.com"]), "refused");
                    let dot = Instant::now();
                    assert_eq!(client.data(mail).code, 250);
                    own.push((dot.elapsed() + late).as_secs_f64() * 1e3);
                    due += each;
                }
                times.lock().unwrap().extend(own);
            });
        }
    });
    times.into_inner().unwrap()
}

pub fn latency(plan: Plan) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut our_rate, mut their_rate) = (0.0, 0.0);
    for _ in 0..plan.rounds {
        let fake = fake(100.0);
        let gateway = queueing(&fake, "");
        assert!(fake.wait_until(PATIENCE, |counts| counts.account > 0));
        our_rate = plan.messages as f64 / send(gateway.port(), SESSIONS, plan.messages).as_secs_f64() / 2.0;
        ours.extend(paced(gateway.port(), our_rate));
        drop(gateway);
        let sink = Sink::start();
        let postfix = postfix(sink.port());
        let messages = plan.messages / 5;
        their_rate = messages as f64 / send(postfix.port(), SESSIONS, messages).as_secs_f64() / 2.0;
        theirs.extend(paced(postfix.port(), their_rate));
    }
    for (name, rate, times) in [("headgate", our_rate, &ours), ("Postfix", their_rate, &theirs)] {
        println!(
            "{name:<10} at {rate:>5.0}/s: median {:.2} ms, p99 {:.2} ms, of {} messages",
            median(times),
            quantile(times, 0.99),
            times.len()
        );
    }
    println!(
        "headgate's median is {:.2} of Postfix's, its p99 {:.2}",
        median(&ours) / median(&theirs),
        quantile(&ours, 0.99) / quantile(&theirs, 0.99)
    );
}
