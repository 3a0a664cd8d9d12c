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
    fake_ses::{Answer, Call, FakeSes},
    gateway::{BASE, Gateway, ses},
    parties::{PATIENCE, disk::Disk, wait_until},
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
    taken: AtomicU64,
    put_off: AtomicU64,
    promised: Mutex<BTreeSet<String>>,
}

impl Load {
    pub fn new(port: u16) -> Arc<Self> {
        Arc::new(Self {
            port,
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
            taken: AtomicU64::new(0),
            put_off: AtomicU64::new(0),
            promised: Mutex::default(),
        })
    }

    /// The recipients of the messages that got 250.
    pub fn promised(&self) -> BTreeSet<String> {
        self.promised.lock().unwrap().clone()
    }

    /// How many messages got 250, and how many 452.
    pub fn counts(&self) -> (u64, u64) {
        (self.taken.load(Ordering::Relaxed), self.put_off.load(Ordering::Relaxed))
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
                250 => {
                    self.taken.fetch_add(1, Ordering::Relaxed);
                    self.promised.lock().unwrap().extend(to);
                }
                452 => drop(self.put_off.fetch_add(1, Ordering::Relaxed)),
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
    let database = gateway.path("headgate.db");
    reckon_with(fake, gateway, (promised, &database));
}

fn reckon_with(fake: &FakeSes, gateway: &mut Gateway, (promised, database): (&BTreeSet<String>, &Path)) {
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
    let doubtful = doubtful(database);
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
fn of_120_recipients_one_is_bad_in_the_second_batch_and_the_gateway_is_killed_in_the_third() {
    let fake = wide_open();
    let holds = |name: &'static str| move |call: &Call| call.recipients().any(|one| one == name);
    let bad = Answer::error(400, "BadRequestException", "Domain contains illegal character");
    fake.when(holds("r77@example.com"), bad.clone());
    fake.when(holds("r119@example.com"), Answer::Hang);
    let mut gateway = Gateway::start(&format!("{BASE}{QUEUE}{}", ses(&fake.endpoint())));
    let many: Vec<String> = (0..120).map(|number| format!("r{number}@example.com")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mail = b"From: a@example.com\r\nSubject: hello\r\n\r\nhi\r\n";
    assert_eq!(Smtp::ready(gateway.port()).submit("a@example.com", &many, mail).code, 250);
    assert!(wait_until(PATIENCE, || fake.calls().iter().any(holds("r119@example.com"))), "{}", gateway.stderr());
    gateway.kill();
    fake.clear_plan();
    fake.when(holds("r77@example.com"), bad);
    gateway.start_again();
    assert!(wait_until(PATIENCE, || deliveries(&fake).len() == 120), "{:?}", deliveries(&fake));
    assert_eq!(gateway.stop().code(), Some(0));
    let (delivered, doubtful) = (deliveries(&fake), doubtful(&gateway.path("headgate.db")));
    assert_eq!(delivered.get("r77@example.com"), None);
    assert_eq!(delivered["a@example.com"], 1, "one report");
    for (address, count) in &delivered {
        assert!(*count == 1 || doubtful.contains_key(address), "{address}: {count}");
    }
    let third: Vec<String> = (100..120).map(|number| format!("r{number}@example.com")).collect();
    assert!(doubtful.keys().all(|address| third.contains(address)), "only the third batch is in doubt: {doubtful:?}");
    assert_eq!(doubtful.len(), 20);
}

/// Sends until so many messages are taken, while SES has its troubles by turns.
fn soak(count: u64, faults: impl Fn(u64, &FakeSes)) {
    soak_in(count, None, faults);
}

/// The same with the store in that folder, which may be small; how many messages were put off.
fn soak_in(count: u64, folder: Option<&Path>, faults: impl Fn(u64, &FakeSes)) -> u64 {
    let database = folder.map(|folder| folder.join("queue.db"));
    let store = database.as_ref().map(|file| format!("[store]\nurl = \"sqlite:{}\"\n", file.display()));
    let store = store.unwrap_or_default();
    let fake = wide_open();
    fake.keep_bodies(false);
    let upstream = format!("{}attempt_timeout = \"2s\"\n", ses(&fake.endpoint()));
    let mut gateway = Gateway::start(&format!("{BASE}{QUEUE}{store}{upstream}"));
    let load = Load::new(gateway.port());
    let clients = load.send();
    for turn in 0.. {
        faults(turn, &fake);
        fake.wait_until(Duration::from_secs(2), |_| false);
        if load.counts().0 >= count {
            break;
        }
        assert!(gateway.runs(), "{}", gateway.stderr());
    }
    load.stop(clients);
    let (promised, (taken, put_off)) = (load.promised(), load.counts());
    let memory = gateway.peak_resident();
    eprintln!("{taken} messages for {} recipients, {put_off} put off, {} MB at most", promised.len(), memory >> 20);
    eprintln!("{:?}", fake.counts());
    assert!(memory < 300 << 20, "{} MB: more than limits.memory and what the program itself needs", memory >> 20);
    let database = database.unwrap_or_else(|| gateway.path("headgate.db"));
    reckon_with(&fake, &mut gateway, (&promised, &database));
    put_off
}

#[test]
#[ignore = "takes minutes; make proof runs it"]
fn proof_of_a_soak() {
    soak(100_000, |_, _| {});
}

#[test]
#[ignore = "takes minutes; make proof runs it"]
fn proof_of_a_soak_with_an_angry_ses() {
    soak(100_000, troubles);
}

#[test]
#[ignore = "takes minutes; make proof runs it"]
fn proof_of_a_soak_on_a_disk_that_is_full_by_turns() {
    let disk = Disk::mount("20m");
    let put_off = soak_in(4_000, Some(disk.path()), |turn, fake| {
        fake.otherwise(if turn % 2 == 0 { Answer::Throttle } else { Answer::Accept });
    });
    assert!(put_off > 0, "the disk was never full");
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
