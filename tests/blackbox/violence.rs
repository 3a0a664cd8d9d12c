//! Proof by violence: whatever is done to the gateway, every message that got its 250 is delivered, and twice only where
//! an attempt was in doubt. The witness is the fake's own record, not the product's.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use crate::{
    fake_ses::{Answer, FakeSes},
    gateway::{BASE, Gateway, ses},
    queue::{QUEUE, deliveries, wide_open},
    smtp::Smtp,
};

/// Clients that send at once.
const CLIENTS: u64 = 4;
/// How long what is queued at the end may take to be delivered.
const DRAINED: Duration = Duration::from_secs(120);

/// Numbers that nobody chose; the seed is printed when a test fails.
#[derive(Debug)]
pub struct Chance(u64);

impl Chance {
    pub fn new() -> Self {
        let clock = || SystemTime::now().duration_since(UNIX_EPOCH).map_or(1, |since| since.as_nanos() as u64);
        let seed = std::env::var("HEADGATE_TEST_SEED").ok().and_then(|text| text.parse().ok()).unwrap_or_else(clock);
        eprintln!("HEADGATE_TEST_SEED={seed}");
        Self(seed | 1)
    }

    /// A number below that one.
    pub fn below(&mut self, most: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % most
    }
}

/// Clients that send until they are told to stop, and what they were promised.
pub struct Load {
    port: u16,
    next: AtomicU64,
    stop: AtomicBool,
    promised: Mutex<BTreeSet<String>>,
}

impl Load {
    pub fn new(port: u16) -> Arc<Self> {
        Arc::new(Self { port, next: AtomicU64::new(0), stop: AtomicBool::new(false), promised: Mutex::default() })
    }

    /// The recipients of the messages that got 250.
    pub fn promised(&self) -> BTreeSet<String> {
        self.promised.lock().unwrap().clone()
    }

    /// Sends messages of one, two or sixty recipients, some of them large, until it is stopped.
    pub fn send(self: &Arc<Self>) -> Vec<thread::JoinHandle<()>> {
        self.stop.store(false, Ordering::Relaxed);
        (0..CLIENTS)
            .map(|_| {
                let load = Arc::clone(self);
                thread::spawn(move || {
                    while !load.stop.load(Ordering::Relaxed) {
                        load.session();
                    }
                })
            })
            .collect()
    }

    pub fn stop(&self, clients: Vec<thread::JoinHandle<()>>) {
        self.stop.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| client.join().unwrap());
    }

    /// One connection, until it breaks.
    fn session(&self) {
        let Some(mut client) = Smtp::try_ready(self.port) else {
            thread::yield_now();
            return;
        };
        while !self.stop.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let count = if number % 50 == 7 { 60 } else { 1 + number % 2 };
            let to: Vec<String> = (0..count).map(|each| format!("m{number}-{each}@example.com")).collect();
            let addresses: Vec<&str> = to.iter().map(String::as_str).collect();
            let body = if number % 40 == 3 { "large body\r\n".repeat(30_000) } else { "hi\r\n".to_owned() };
            let mail = format!("From: a@example.com\r\nSubject: {number}\r\nChicken: yummy\r\n\r\n{body}");
            match client.submit("a@example.com", &addresses, mail.as_bytes()).code {
                250 => self.promised.lock().unwrap().extend(to),
                0 => return,
                _ => {}
            }
        }
    }
}

/// The recipients of attempts that the store says are in doubt, and how often.
pub fn doubtful(database: &Path) -> BTreeMap<String, usize> {
    let connection = rusqlite::Connection::open(database).unwrap();
    let mut select = connection.prepare("SELECT seq, recipients FROM attempt WHERE ambiguous = 1").unwrap();
    let mut address = connection.prepare("SELECT address FROM recipient WHERE seq = ?1 AND ordinal = ?2").unwrap();
    let attempts = select.query_map([], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))).unwrap();
    let mut doubtful = BTreeMap::new();
    for (seq, ordinals) in attempts.map(Result::unwrap) {
        for ordinal in ordinals.split(',') {
            let address: String = address.query_row((seq, ordinal), |row| row.get(0)).unwrap();
            *doubtful.entry(address).or_default() += 1;
        }
    }
    doubtful
}

/// Waits until everything promised is delivered, then holds the fake's record against the promises and the doubts.
pub fn reckon(fake: &FakeSes, gateway: &mut Gateway, promised: &BTreeSet<String>) {
    fake.clear_plan();
    fake.release();
    let mut missing = Vec::new();
    let deadline = Instant::now() + DRAINED;
    while Instant::now() < deadline {
        let before = fake.counts().accepted;
        let delivered = deliveries(fake);
        missing = promised.iter().filter(|one| !delivered.contains_key(*one)).cloned().collect();
        if missing.is_empty() {
            break;
        }
        fake.wait_until(Duration::from_millis(200), |counts| counts.accepted > before);
    }
    assert!(missing.is_empty(), "{} of {} are lost, such as {:?}", missing.len(), promised.len(), missing.first());
    assert_eq!(gateway.stop().code(), Some(0), "{}", gateway.stderr());
    let doubtful = doubtful(&gateway.path("headgate.db"));
    let twice = deliveries(fake).into_iter().filter(|(_, count)| *count > 1);
    let unexplained: Vec<_> =
        twice.filter(|(address, count)| doubtful.get(address).copied().unwrap_or(0) + 1 < *count).collect();
    assert!(unexplained.is_empty(), "delivered more often than attempts were in doubt: {unexplained:?}");
}

/// Kills the gateway again and again under load.
pub fn killed(rounds: u64, faults: impl Fn(u64, &FakeSes)) {
    let mut chance = Chance::new();
    let fake = wide_open();
    fake.keep_bodies(false);
    let upstream = format!("{}attempt_timeout = \"2s\"\n", ses(&fake.endpoint()));
    let mut gateway = Gateway::start(&format!("{BASE}{QUEUE}{upstream}"));
    let load = Load::new(gateway.port());
    for round in 0..rounds {
        faults(round, &fake);
        let clients = load.send();
        // Not a wait for something: the instant of the kill is what chance decides.
        fake.wait_until(Duration::from_millis(30 + chance.below(400)), |_| false);
        gateway.kill();
        load.stop(clients);
        gateway.start_again();
    }
    let promised = load.promised();
    assert!(promised.len() as u64 > rounds, "only {} were promised", promised.len());
    reckon(&fake, &mut gateway, &promised);
}

/// What SES does wrong, by turns.
fn troubles(round: u64, fake: &FakeSes) {
    fake.clear_plan();
    match round % 5 {
        0 => {}
        1 => fake.every(3, Answer::Throttle),
        2 => {
            fake.every(4, Answer::CutAfterReading);
            fake.every(7, Answer::AcceptThenCut);
        }
        3 => fake.every(2, Answer::error(500, "InternalFailure", "?")),
        _ => fake.every(20, Answer::Hang),
    }
}

#[test]
fn twenty_kills_under_load_lose_nothing() {
    killed(20, |_, _| {});
}

#[test]
fn twenty_kills_under_load_with_an_angry_ses_lose_nothing() {
    killed(20, troubles);
}

#[test]
#[ignore = "takes minutes; make proof runs it"]
fn proof_of_two_hundred_kills() {
    killed(200, |_, _| {});
}

#[test]
#[ignore = "takes minutes; make proof runs it"]
fn proof_of_two_hundred_kills_with_an_angry_ses() {
    killed(200, troubles);
}
