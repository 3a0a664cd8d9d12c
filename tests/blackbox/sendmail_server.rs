//! Sendmail before the gateway, and with Amazon's recipe: a mailer that runs `ses-send-email.pl`.

use crate::{
    parties::sendmail::Sendmail,
    pipe::{self, Installed},
    smarthost,
};

/// Amazon's mailer, but for `--unstuff`: its flag `X` doubles dots as SMTP does, and the script sent them doubled.
const RECIPE: &str = "\
Maws-email, P=BIN/ses-send-email.pl, F=mDFMuXn, U=mail, S=EnvFromSMTP/HdrFromSMTP, R=EnvToSMTP,
\tA=ses-send-email.pl --unstuff -r -k KEYS -e URL -f $f $u";

fn with_mailer(installed: &Installed, endpoint: &str) -> Sendmail {
    Sendmail::to_mailer(&installed.recipe(RECIPE, endpoint))
}

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

#[test]
fn rts_mail_arrives_once_by_amazons_mailer() {
    pipe::rts_mail_arrives_once(with_mailer);
}

#[test]
fn while_ses_is_away_the_server_keeps_it() {
    pipe::while_ses_is_away_the_server_keeps_it(with_mailer);
}

#[test]
fn what_ses_refuses_amazons_mailer_bounces() {
    pipe::what_ses_refuses_bounces(with_mailer);
}
