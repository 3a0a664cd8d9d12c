//! Sendmail before the gateway.

use crate::{parties::sendmail::Sendmail, smarthost};

#[test]
fn rts_mail_arrives_once() {
    smarthost::rts_mail_arrives_once(Sendmail::to_smarthost);
}

#[test]
fn mail_by_smtp_arrives_too() {
    smarthost::mail_by_smtp_arrives_too(Sendmail::to_smarthost);
}

#[test]
fn what_ses_throttles_stays_with_the_server() {
    smarthost::what_ses_throttles_stays_with_the_server(Sendmail::to_smarthost);
}

#[test]
fn what_ses_throttles_stays_with_the_gateway() {
    smarthost::what_ses_throttles_stays_with_the_gateway(Sendmail::to_smarthost);
}

#[test]
fn what_ses_refuses_bounces() {
    smarthost::what_ses_refuses_bounces(Sendmail::to_smarthost);
}
