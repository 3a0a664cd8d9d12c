//! Exim before the gateway, and with a pipe transport that runs `ses-send-email.pl`.

use crate::{
    fake_ses::{FakeSes, Profile},
    gateway::Gateway,
    parties::{MailServer as _, PATIENCE, exim::Exim},
    pipe::{self, Installed},
    smarthost,
};

/// The transport. Exim refuses to put a sender, whom anybody can make up, into a command (4.96: "tainted"), but tells him
/// in the environment. Without `batch_max` each recipient is a call of its own.
const RECIPE: &str = "\
command = sh -c 'exec BIN/ses-send-email.pl -r -k KEYS -e URL -f \"\\$SENDER\" -- \"\\$@\"' sh $pipe_addresses
user = nobody
message_prefix =
message_suffix =
batch_max = 50
return_fail_output
log_fail_output";

fn with_transport(installed: &Installed, endpoint: &str) -> Exim {
    Exim::to_pipe(&installed.recipe(RECIPE, endpoint))
}

#[test]
fn rts_mail_arrives_once() {
    smarthost::rts_mail_arrives_once(Exim::to_smarthost);
}

#[test]
fn mail_by_smtp_arrives_too() {
    smarthost::mail_by_smtp_arrives_too(Exim::to_smarthost);
}

#[test]
fn what_ses_throttles_stays_with_the_server() {
    smarthost::what_ses_throttles_stays_with_the_server(Exim::to_smarthost);
}

#[test]
fn what_ses_throttles_stays_with_the_gateway() {
    smarthost::what_ses_throttles_stays_with_the_gateway(Exim::to_smarthost);
}

#[test]
fn what_ses_refuses_bounces() {
    smarthost::what_ses_refuses_bounces(Exim::to_smarthost);
}

#[test]
fn rts_mail_arrives_once_by_a_pipe() {
    pipe::rts_mail_arrives_once(with_transport);
}

#[test]
fn while_ses_is_away_the_server_keeps_it() {
    pipe::while_ses_is_away_the_server_keeps_it(with_transport);
}

#[test]
fn what_ses_refuses_the_pipe_bounces() {
    pipe::what_ses_refuses_bounces(with_transport);
}

#[test]
fn exim_sends_in_chunks_and_each_octet_arrives() {
    let fake = FakeSes::start(Profile::Today);
    let gateway = Gateway::with_ses(&fake.endpoint());
    let exim = Exim::to_smarthost(gateway.port());
    let line = ".a line that begins with a dot\n";
    let body = format!(".\n..\nQUIT\n{}", line.repeat(20_000));
    let mail = format!("From: a@example.com\nTo: b@example.net\nSubject: chunks\n\n{body}");
    for (number, mail) in [mail.as_str(), "From: a@example.com\nTo: b@example.net\n\n.\n"].into_iter().enumerate() {
        let output = exim.inject(&["-i", "-f", "a@example.com", "b@example.net"], mail.as_bytes());
        assert!(output.status.success(), "{output:?}");
        assert!(fake.wait_for_accepted(number as u64 + 1, PATIENCE), "{}", exim.log());
        let raw = String::from_utf8(fake.accepted().pop().unwrap().raw.to_vec()).unwrap();
        let (_, arrived) = raw.split_once("\r\n\r\n").unwrap();
        let (_, sent) = mail.split_once("\n\n").unwrap();
        assert!(arrived == sent.replace('\n', "\r\n"), "{number}: {} octets", arrived.len());
    }
    assert!(exim.empties_its_queue(PATIENCE), "{}", exim.log());
    // By a K Exim's log tells of CHUNKING.
    let log = exim.log();
    assert_eq!(log.lines().filter(|line| line.contains(" => ") && line.contains(" K ")).count(), 2, "{log}");
}
