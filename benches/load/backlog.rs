//! 100,000 messages queued: how soon the first goes after a start, and how much memory it takes.

use std::time::{Duration, Instant};

use crate::{
    Plan,
    fake_ses::Answer,
    measure::send,
    parties::PATIENCE,
    throughput::{fake, queueing},
};

pub fn backlog(plan: Plan) {
    let messages = plan.messages * 10;
    let fake = fake(1e6);
    fake.otherwise(Answer::Throttle);
    let mut gateway = queueing(&fake, "");
    let took = send(gateway.port(), 100, messages);
    println!("{messages} messages queued in {:.1} s", took.as_secs_f64());
    println!("VmHWM while queueing: {} MB", gateway.peak_resident() >> 20);
    assert!(gateway.stop().success());
    fake.otherwise(Answer::Accept);
    let begun = Instant::now();
    gateway.launch_again();
    assert!(fake.wait_for_accepted(1, PATIENCE));
    println!("from the start of the program to the first delivery: {:.2} s", begun.elapsed().as_secs_f64());
    let until = (messages / 10) as u64;
    assert!(fake.wait_for_accepted(until, Duration::from_secs(600)));
    println!("VmHWM after the start and {until} deliveries: {} MB", gateway.peak_resident() >> 20);
}
