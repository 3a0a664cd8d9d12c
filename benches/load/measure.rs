//! The client, the clocks, and the table.

use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// Octets of a message.
pub const OCTETS: usize = 4096;

/// The three numbers of the system.
pub fn load_average() -> String {
    let text = fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').take(3).collect::<Vec<_>>().join(" ")
}

/// Sends so many messages over so many sessions and waits for its end: how long it took.
pub fn send(port: u16, sessions: usize, messages: usize) -> Duration {
    let mut source = Command::new("/usr/sbin/smtp-source");
    source.args(["-d", "-s", &sessions.to_string(), "-l", &OCTETS.to_string(), "-m", &messages.to_string()]);
    source.args(["-f", "a@example.com", "-t", "b@example.com", &format!("127.0.0.1:{port}")]);
    let begun = Instant::now();
    let status = source.stdin(Stdio::null()).stdout(Stdio::null()).status().expect("smtp-source comes with Postfix");
    assert!(status.success(), "smtp-source: {status}");
    begun.elapsed()
}

/// Processor time of a process and of all that it started and that still run or were waited for.
pub fn processor(process: u32) -> Duration {
    let mut all = own_time(process).unwrap_or_default();
    for child in children(process) {
        all += processor(child);
    }
    all
}

fn own_time(process: u32) -> Option<Duration> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    let fields: Vec<&str> = stat.rsplit(')').next()?.split_whitespace().collect();
    // utime, stime, cutime and cstime, counted behind the name: proc(5) numbers them 14 to 17. A tick is 10 ms.
    let ticks: u64 = fields.get(11..15)?.iter().filter_map(|field| field.parse::<u64>().ok()).sum();
    Some(Duration::from_millis(ticks * 10))
}

fn children(process: u32) -> Vec<u32> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|text| text.parse().ok()).collect::<Vec<_>>()).collect()
}

/// One party's rounds.
#[derive(Debug, Default)]
pub struct Rounds {
    /// Messages a second.
    pub rates: Vec<f64>,
    /// Processor time a message, in microseconds, of the party itself.
    pub costs: Vec<f64>,
}

impl Rounds {
    pub fn add(&mut self, messages: usize, took: Duration, cost: Duration) {
        self.rates.push(messages as f64 / took.as_secs_f64());
        self.costs.push(cost.as_secs_f64() * 1e6 / messages as f64);
    }

    /// Messages a second, in the middle.
    pub fn rate(&self) -> f64 {
        median(&self.rates)
    }

    /// The line of the table: beside the rate its share of another's.
    pub fn print(&self, name: &str, beside: &[(&str, f64)]) {
        let low = self.rates.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.rates.iter().copied().fold(0.0, f64::max);
        let shares: Vec<String> =
            beside.iter().map(|(other, rate)| format!("{:.2} of {other}", self.rate() / rate)).collect();
        println!(
            "{name:<34} {:>7.0}/s ({low:.0} to {high:.0})  {:>5.0} µs processor each  {}",
            self.rate(),
            median(&self.costs),
            shares.join(", ")
        );
    }
}

/// The middle of some numbers.
pub fn median(numbers: &[f64]) -> f64 {
    quantile(numbers, 0.5)
}

/// The number below which that share lies.
pub fn quantile(numbers: &[f64], share: f64) -> f64 {
    let mut sorted = numbers.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().saturating_sub(1);
    sorted.get((last as f64 * share).round() as usize).copied().unwrap_or(f64::NAN)
}
