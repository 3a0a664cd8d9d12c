//! Postfix with Amazon's recipe: a pipe transport that runs `ses-send-email.pl`.

use crate::{
    fake_ses::{Answer, FakeSes, Profile},
    parties::{MailServer, PATIENCE, free_port, postfix::Postfix},
    pipe::{self, Installed},
};

/// Amazon's lines of master.cf; those of main.cf are `default_transport = aws-email` alone.
const RECIPE: &str = "\
aws-email  unix  -  n  n  -  -  pipe
  flags=R user=nobody argv=BIN/ses-send-email.pl -r -k KEYS -e URL -f ${sender} ${recipient}";

fn start(installed: &Installed, endpoint: &str) -> Postfix {
    Postfix::to_pipe(&installed.recipe(RECIPE, endpoint), &[])
}

#[test]
fn rts_mail_arrives_once() {
    pipe::rts_mail_arrives_once(start);
}

#[test]
fn while_ses_is_away_the_server_keeps_it() {
    pipe::while_ses_is_away_the_server_keeps_it(start);
}

#[test]
fn what_ses_throttles_stays_with_the_server() {
    let fake = FakeSes::start(Profile::Today);
    fake.otherwise(Answer::Throttle);
    let installed = Installed::new();
    let postfix = start(&installed, &fake.endpoint());
    MailServer::inject(&postfix, &["-i", "-f", "a@example.com", "b@example.net"], b"From: a@example.com\n\nhi\n");
    assert_eq!(postfix.waiting(), ["b@example.net"], "{}", postfix.log());
    let log = postfix.log();
    assert!(log.contains("status=deferred") && log.contains("Maximum sending rate exceeded."), "{log}");

    fake.clear_plan();
    assert!(postfix.empties_its_queue(PATIENCE), "{}", postfix.log());
    assert_eq!(fake.accepted().len(), 1);
}

#[test]
fn what_ses_refuses_bounces() {
    let log = pipe::what_ses_refuses_bounces(start);
    let status = "status=bounced (Command died with status 1: ";
    assert!(log.contains(status) && log.contains("Command output: Email address is not verified. "), "{log}");
}

#[test]
fn mail_without_a_sender_arrives_whether_postfix_calls_it_mailer_daemon_or_nothing() {
    let fake = FakeSes::start(Profile::Today);
    let installed = Installed::new();
    for recipe in [RECIPE.to_owned(), RECIPE.replace("flags=R", "flags=R null_sender=")] {
        let before = fake.accepted().len();
        let postfix = Postfix::to_pipe(&installed.recipe(&recipe, &fake.endpoint()), &[]);
        let mail = b"From: postmaster@example.com\nSubject: Undelivered\n\nIt came back.\n";
        MailServer::inject(&postfix, &["-i", "-f", "<>", "b@example.net"], mail);
        assert!(postfix.wait_queue_empty(PATIENCE), "{}", postfix.log());
        let accepted = fake.accepted();
        let [call] = &accepted[before..] else { panic!("{accepted:?}\n{}", postfix.log()) };
        assert_eq!((call.to.as_slice(), call.feedback.as_deref()), (["b@example.net".to_owned()].as_slice(), None));
        assert!(call.header("Return-Path").is_empty(), "{:?}", call.header("Return-Path"));
    }
}

/// Postfix looks at the exit code only when the output does not begin with an enhanced code: here it does, and 32, with
/// which the script lost mail while SES was away, is no longer a reason to bounce.
#[test]
fn the_first_line_of_headgate_send_has_postfix_keep_mail_whatever_the_exit_code() {
    let port = free_port();
    let installed = Installed::new();
    let recipe = RECIPE.replace("BIN/ses-send-email.pl", "BIN/headgate send --legacy-exit");
    let postfix = Postfix::to_pipe(&installed.recipe(&recipe, &format!("http://127.0.0.1:{port}")), &[]);
    MailServer::inject(&postfix, &["-i", "-f", "a@example.com", "b@example.net"], b"From: a@example.com\n\nhi\n");
    assert_eq!(postfix.waiting(), ["b@example.net"], "{}", postfix.log());
    let log = postfix.log();
    assert!(log.contains("dsn=4.4.1, status=deferred (SES cannot be reached"), "{log}");

    let fake = FakeSes::start_on(Profile::Today, port);
    assert!(postfix.empties_its_queue(PATIENCE), "{}", postfix.log());
    let accepted = fake.accepted();
    let [call] = accepted.as_slice() else { panic!("{accepted:?}\n{}", postfix.log()) };
    let id = call.message_id().unwrap();
    assert!(postfix.log().contains(&format!("status=sent (delivered via aws-email service (2.0.0 Ok {id}))")), "{id}");
}
