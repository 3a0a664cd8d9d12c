//! Exim before the gateway.

use crate::{parties::exim::Exim, smarthost};

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
