//! Twenty messages of 28 MB at once, and small ones beside them.

use std::{
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use crate::{
    Plan,
    measure::send,
    smtp::Smtp,
    throughput::{fake, queueing},
};

/// Octets of a large message: just below what is taken.
const LARGE: usize = 27_900_000;

pub fn large(plan: Plan) {
    let fake = fake(100.0);
    let mut gateway = queueing(&fake, "");
    let alone = plan.messages as f64 / send(gateway.port(), 10, plan.messages).as_secs_f64();
    let mail = "From: a@example.com\r\n\r\n".to_owned()
        + &"seventy octets of text in each line of the message, more or less\r\n".repeat(LARGE / 66);
    let done = AtomicBool::new(false);
    let port = gateway.port();
    let (taken, beside) = thread::scope(|scope| {
        let clients: Vec<_> = (0..20)
            .map(|_| {
                scope.spawn(|| {
                    // A client that is put off comes again, as a mail server does, until the small ones are through.
                    let (mut taken, mut put_off) = (0, 0);
                    while taken == 0 || !done.load(Ordering::Relaxed) {
                        match Smtp::ready(port).submit("a@example.com", &["b@example.com"], mail.as_bytes()).code {
                            250 => taken += 1,
                            _ => put_off += 1,
                        }
                    }
                    (taken, put_off)
                })
            })
            .collect();
        let beside = plan.messages as f64 / send(port, 10, plan.messages).as_secs_f64();
        done.store(true, Ordering::Relaxed);
        let all: Vec<(u32, u32)> = clients.into_iter().map(|client| client.join().unwrap()).collect();
        (all, beside)
    });
    let (accepted, put_off) = taken.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    println!("small messages alone {alone:.0}/s, beside twenty large ones {beside:.0}/s: {:.2}", beside / alone);
    println!(
        "large messages taken {accepted}, put off with 452 {put_off} times; each of the twenty clients got one in"
    );
    println!("VmHWM: {} MB, with limits.memory = 256 MiB", gateway.peak_resident() >> 20);
}
