//! Twenty messages of 28 MB at once, and small ones beside them.
//!
//! The small ones go for as long as the large ones are under way, so that none of them is counted that had the machine
//! to itself. A large one that is put off comes again after a pause, as mail servers do, until it was taken.

use std::{
    thread,
    time::{Duration, Instant},
};

use crate::{
    Plan,
    measure::{median, processor, send},
    smtp::{Smtp, stuffed},
    throughput::{fake, queueing},
};

/// Octets of a large message: just below what is taken.
const LARGE: usize = 27_900_000;
/// Clients with a large message each.
const CLIENTS: usize = 20;
/// Sessions of the small ones.
const SESSIONS: usize = 10;
/// How long a client that was put off waits.
const PAUSE: Duration = Duration::from_millis(500);
/// After that time a client gives up, so that there is a figure in any case.
const GIVES_UP: Duration = Duration::from_secs(60);

/// What became of one large message.
#[derive(Clone, Copy, Debug, Default)]
struct Fate {
    taken: bool,
    put_off: usize,
    /// Octets of the message that were sent and not taken.
    in_vain: usize,
}

/// One client: it sends until its message is taken, or it has no patience left.
fn client(port: u16, wire: &[u8], declares: bool) -> Fate {
    let until = Instant::now() + GIVES_UP;
    let mut fate = Fate::default();
    let size = if declares { format!(" SIZE={}", wire.len()) } else { String::new() };
    while Instant::now() < until {
        let mut smtp = Smtp::ready(port);
        let lines = [format!("MAIL FROM:<a@example.com>{size}"), "RCPT TO:<b@example.com>".into(), "DATA".into()];
        if lines.iter().all(|line| smtp.command(line).code < 400) {
            smtp.send(wire);
            if smtp.reply().code == 250 {
                return Fate { taken: true, ..fate };
            }
            fate.in_vain += wire.len();
        }
        fate.put_off += 1;
        thread::sleep(PAUSE);
    }
    fate
}

/// Small messages a second, for as long as that holds and once at least.
fn small(port: u16, messages: usize, mut goes_on: impl FnMut() -> bool) -> f64 {
    let (begun, mut sent) = (Instant::now(), 0);
    loop {
        send(port, SESSIONS, messages);
        sent += messages;
        if !goes_on() {
            return sent as f64 / begun.elapsed().as_secs_f64();
        }
    }
}

/// A round: the rates alone and beside the large ones, and the fates of these.
fn round(plan: Plan, wire: &[u8], declares: bool) -> (f64, f64) {
    let fake = fake(100.0);
    let mut gateway = queueing(&fake, "");
    let (port, pid) = (gateway.port(), gateway.pid());
    let mut left = 10;
    let piece = plan.messages / 10;
    let alone = small(port, piece, || {
        left -= 1;
        left > 0
    });
    let (before, begun) = (processor(pid), Instant::now());
    let (fates, beside, took) = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(move || client(port, wire, declares))).collect();
        let beside = small(port, piece, || clients.iter().any(|client| !client.is_finished()));
        let took = begun.elapsed();
        let fates: Vec<Fate> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        (fates, beside, took)
    });
    let cost = processor(pid) - before;
    println!(
        "  alone {alone:.0}/s, beside {beside:.0}/s: {:.2}; {} of {CLIENTS} large ones taken in {:.1} s, put off {} \
         times, {} MB sent in vain; {:.1} s of processor time; VmHWM {} MB",
        beside / alone,
        fates.iter().filter(|fate| fate.taken).count(),
        took.as_secs_f64(),
        fates.iter().map(|fate| fate.put_off).sum::<usize>(),
        fates.iter().map(|fate| fate.in_vain).sum::<usize>() / 1_000_000,
        cost.as_secs_f64(),
        gateway.peak_resident() / 1_000_000,
    );
    (beside / alone, gateway.peak_resident() as f64 / 1e6)
}

pub fn large(plan: Plan) {
    let mail = "From: a@example.com\r\n\r\n".to_owned()
        + &"seventy octets of text in each line of the message, more or less\r\n".repeat(LARGE / 66);
    let wire = stuffed(mail.as_bytes());
    for (declares, name) in [(true, "with SIZE at MAIL"), (false, "without SIZE")] {
        println!("twenty large ones {name}");
        let rounds: Vec<(f64, f64)> = (0..plan.rounds).map(|_| round(plan, &wire, declares)).collect();
        let shares: Vec<f64> = rounds.iter().map(|round| round.0).collect();
        let most = rounds.iter().map(|round| round.1).fold(0.0, f64::max);
        println!(
            "small ones keep {:.2} of their rate; VmHWM {most:.0} MB at most, with limits.memory = 268 MB",
            median(&shares)
        );
    }
}
