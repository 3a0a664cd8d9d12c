//! The queue on a disk that is full: mail is put off, what is queued stays, and it goes on by itself.

use std::collections::BTreeSet;

use crate::{
    fake_ses::Answer,
    gateway::{BASE, Gateway, ses},
    parties::{PATIENCE, disk::Disk, wait_until},
    queue::{QUEUE, deliveries, wide_open},
    smtp::Smtp,
};

fn mail(number: usize, octets: usize) -> Vec<u8> {
    let lines = "sixty-four octets, all of them in one line, with CRLF at the end\r\n".repeat(octets / 66);
    format!("From: a@example.com\r\nSubject: {number}\r\n\r\n{lines}").into_bytes()
}

/// Sends until the disk is full, first large bodies (files) and then small ones (rows); who was promised delivery.
fn fill(client: &mut Smtp) -> BTreeSet<String> {
    let mut promised = BTreeSet::new();
    for octets in [400_000, 20_000, 2_000] {
        let mut refused = 0;
        for number in 0..2_000 {
            let to = format!("r{octets}-{number}@example.com");
            let reply = client.submit("a@example.com", &[&to], &mail(number, octets));
            match reply.code {
                250 => drop(promised.insert(to)),
                452 => refused += 1,
                _ => panic!("{reply:?}"),
            }
            if refused == 3 {
                break;
            }
        }
        assert_eq!(refused, 3, "the disk does not get full");
    }
    promised
}

#[test]
fn a_store_on_a_file_system_that_is_read_only_is_named_at_the_start() {
    let disk = Disk::mount("1m,ro");
    let file = disk.path().join("queue.db").display().to_string();
    let store = format!("[store]\nurl = \"sqlite:{file}\"\n");
    let outbox = "[[upstream]]\nname = \"out\"\nkind = \"outbox\"\npath = \"outbox\"\n";
    let mut gateway = Gateway::launch(&format!("{BASE}{QUEUE}{store}{outbox}"));
    assert_eq!(gateway.wait_for_end().code(), Some(69), "{}", gateway.stderr());
    let said = gateway.stderr();
    assert!(said.contains(&file) && said.contains("Read-only file system"), "{said}");
}

#[test]
fn a_full_disk_puts_mail_off_keeps_what_is_queued_and_recovers_by_itself() {
    let disk = Disk::mount("16m");
    let fake = wide_open();
    fake.otherwise(Answer::Throttle);
    let store = format!("[store]\nurl = \"sqlite:{}/queue.db\"\n", disk.path().display());
    let mut gateway = Gateway::start(&format!("{BASE}{QUEUE}{store}{}", ses(&fake.endpoint())));
    let mut client = Smtp::ready(gateway.port());
    let promised = fill(&mut client);
    assert!(promised.len() > 10, "{}", promised.len());
    fake.otherwise(Answer::Accept);
    assert!(wait_until(PATIENCE, || fake.accepted().len() >= promised.len()), "{}", gateway.stderr());
    let delivered = deliveries(&fake);
    assert_eq!(delivered.keys().cloned().collect::<BTreeSet<_>>(), promised);
    let twice = delivered.values().filter(|count| **count > 1).count();
    assert_eq!(twice, 0, "a delivery was forgotten for want of room");
    assert!(wait_until(PATIENCE, || client.submit("a@example.com", &["z@example.com"], &mail(0, 2_000)).code == 250));
    assert!(fake.wait_for_accepted(promised.len() as u64 + 1, PATIENCE));
    assert_eq!(gateway.stop().code(), Some(0), "{}", gateway.stderr());
}
