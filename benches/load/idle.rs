//! What connections cost that say nothing, or next to nothing: memory, and the rate of those who have mail.

use std::{
    io::Write as _,
    net::TcpStream,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

use crate::{
    Plan,
    gateway::Gateway,
    measure::{Rounds, processor, send},
    smtp::Smtp,
    throughput::{fake, queueing},
};

/// Connections that are idle at once.
const IDLE: usize = 10_000;
/// Connections that are slow at once, and the time between two octets of one.
const SLOW: usize = 1_000;
const PAUSE: Duration = Duration::from_secs(1);
/// Sessions of those who have mail.
const SESSIONS: usize = 10;
const LIMITS: &str = "[limits]\nconnections = 20000\nconnections_per_client = 20000\n";

/// Resident memory of a gateway that does nothing, and beside idle connections that were greeted.
pub fn idle(_: Plan) {
    let fake = fake(1e6);
    let mut gateway = queueing(&fake, LIMITS);
    let alone = gateway.resident();
    let connections: Vec<Smtp> = (0..IDLE).map(|_| Smtp::ready(gateway.port())).collect();
    let with = gateway.resident();
    let megabytes = |octets: u64| octets as f64 / 1e6;
    println!("headgate, idle: {:.1} MB resident", megabytes(alone));
    println!("  with {} idle connections: {:.1} MB", connections.len(), megabytes(with));
    println!("  each: {:.1} KB", (with - alone) as f64 / 1e3 / IDLE as f64);
}

/// The rate of clients with mail, with and without slow connections beside them.
pub fn slow(plan: Plan) {
    let (mut without, mut with) = (Rounds::default(), Rounds::default());
    for _ in 0..plan.rounds {
        for (rounds, slow) in [(&mut without, false), (&mut with, true)] {
            let fake = fake(1e6);
            let mut gateway = queueing(&fake, LIMITS);
            let dripping = slow.then(|| Dripping::begin(&gateway));
            let before = processor(gateway.pid());
            let took = send(gateway.port(), SESSIONS, plan.messages);
            rounds.add(plan.messages, took, processor(gateway.pid()) - before);
            drop(dripping);
        }
    }
    without.print("headgate", &[]);
    with.print(&format!("beside {SLOW} slow connections"), &[("without them", without.rate())]);
}

/// Connections within the data of a message, each of which gets an octet now and then; they end with it.
struct Dripping {
    ended: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<()>>,
}

impl Dripping {
    fn begin(gateway: &Gateway) -> Self {
        let clients: Vec<Smtp> = (0..SLOW)
            .map(|_| {
                let mut client = Smtp::ready(gateway.port());
                assert!(client.prepare("a@example.com", &["b@example.net"]));
                client
            })
            .collect();
        let ended = Arc::new(AtomicBool::new(false));
        let seen = Arc::clone(&ended);
        let thread = thread::spawn(move || {
            let mut writers: Vec<TcpStream> = clients.iter().map(Smtp::writer).collect();
            while !seen.load(Ordering::Relaxed) {
                for writer in &mut writers {
                    let _ = writer.write_all(b"x");
                    thread::sleep(PAUSE / u32::try_from(SLOW).expect("few"));
                }
            }
        });
        Self { ended, thread: Some(thread) }
    }
}

impl Drop for Dripping {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        self.thread.take().into_iter().for_each(|thread| drop(thread.join()));
    }
}
