//! How fast the gateway is beside Postfix and beside a sink that stores nothing, all on one machine, by turns.
//!
//! `make load` runs it: `load [acceptance|delivery|latency|backlog|large|handshakes|idle|slow|all] [--rounds N] [--quick]`. The figures are
//! medians of the rounds, and worth something as ratios within one run. The client is Postfix's smtp-source, the sink
//! behind the gateway is the fake SES in this process, the one behind Postfix its own smtp-sink.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "a bench that cannot run ends")]

#[allow(unused_imports, reason = "its own tests are compiled, and not run, here")]
#[path = "../../tests/blackbox/fake_ses/mod.rs"]
mod fake_ses;
#[path = "../../tests/blackbox/gateway.rs"]
mod gateway;
#[allow(unused_imports, reason = "as above")]
#[path = "../../tests/blackbox/parties/mod.rs"]
mod parties;
#[path = "../../tests/blackbox/smtp.rs"]
mod smtp;

mod backlog;
mod handshakes;
mod idle;
mod large;
mod latency;
mod measure;
mod throughput;

/// What a run is to do.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds of each party.
    pub rounds: usize,
    /// Messages of a round.
    pub messages: usize,
}

fn main() {
    let mut names = Vec::new();
    let mut plan = Plan { rounds: 5, messages: 10_000 };
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            // cargo says this to every bench.
            "--bench" => {}
            "--quick" => plan = Plan { rounds: 1, messages: 1_000 },
            "--rounds" => plan.rounds = arguments.next().and_then(|text| text.parse().ok()).expect("--rounds NUMBER"),
            name => names.push(name.to_owned()),
        }
    }
    let wants = |name: &str| names.is_empty() || names.iter().any(|one| one == name || one == "all");
    println!("load average at the start: {}", measure::load_average());
    println!("{} rounds of {} messages of 4 KB; medians\n", plan.rounds, plan.messages);
    type Part = (&'static str, fn(Plan));
    let parts: [Part; 8] = [
        ("acceptance", throughput::acceptance),
        ("delivery", throughput::delivery),
        ("latency", latency::latency),
        ("backlog", backlog::backlog),
        ("large", large::large),
        ("handshakes", handshakes::handshakes),
        ("idle", idle::idle),
        ("slow", idle::slow),
    ];
    for (name, run) in parts.into_iter().filter(|(name, _)| wants(name)) {
        println!("## {name}");
        run(plan);
        println!();
    }
    println!("load average at the end: {}", measure::load_average());
}
