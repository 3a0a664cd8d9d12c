//! SMTP extensions, one file each: what EHLO says and which parameters of MAIL and RCPT they own.

mod auth;
mod chunking;
mod dsn;
mod eightbitmime;
mod enhanced_status_codes;
mod pipelining;
mod size;
mod smtputf8;
mod starttls;
mod xclient;
mod xforward;

use crate::mail::{Asked, Dsn, Enhanced, Reply};

use super::{
    command::Parameter,
    session::{Offer, Session},
};

/// One extension.
pub struct Extension {
    /// The EHLO keyword.
    pub keyword: &'static str,
    /// Where it is defined.
    pub source: &'static str,
    /// What stands behind the keyword in EHLO; `None` when it is not offered.
    pub offered: fn(&Session) -> Option<String>,
    /// The parameters of MAIL that it owns, and what each does.
    pub mail: &'static [(&'static str, MailParameter)],
    /// The parameters of RCPT that it owns, and what each does.
    pub rcpt: &'static [(&'static str, RcptParameter)],
}

/// Reads one parameter of MAIL into the facts, or refuses it.
pub type MailParameter = fn(Option<&str>, &Offer, &mut MailFacts) -> Result<(), Reply>;

/// Reads one parameter of RCPT into what is asked, or refuses it.
pub type RcptParameter = fn(Option<&str>, &Offer, &mut Asked) -> Result<(), Reply>;

/// What the parameters of a MAIL said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MailFacts {
    /// SMTPUTF8 (RFC 6531).
    pub smtputf8: bool,
    /// SIZE in octets (RFC 1870), as the client guesses it.
    pub size: Option<u64>,
    /// RET and ENVID (RFC 3461).
    pub dsn: Dsn,
}

/// All extensions, in the order of EHLO.
pub const EXTENSIONS: &[Extension] = &[
    pipelining::EXTENSION,
    size::EXTENSION,
    eightbitmime::EXTENSION,
    smtputf8::EXTENSION,
    chunking::EXTENSION,
    enhanced_status_codes::EXTENSION,
    dsn::EXTENSION,
    starttls::EXTENSION,
    auth::EXTENSION,
    xclient::EXTENSION,
    xforward::EXTENSION,
];

/// Reads the parameters of MAIL; an unknown one is refused (RFC 5321 section 4.1.1.11).
pub(super) fn mail_facts(parameters: &[Parameter], offer: &Offer) -> Result<MailFacts, Reply> {
    let mut facts = MailFacts::default();
    for parameter in once(parameters)? {
        let mut owned = EXTENSIONS.iter().flat_map(|one| one.mail);
        let owner = owned.find(|(known, _)| *known == parameter.keyword);
        let (_, read) = owner.ok_or_else(|| unknown(&parameter.keyword))?;
        read(parameter.value.as_deref(), offer, &mut facts)?;
    }
    Ok(facts)
}

/// Reads the parameters of RCPT; an unknown one is refused.
pub(super) fn rcpt_asked(parameters: &[Parameter], offer: &Offer) -> Result<Asked, Reply> {
    let mut asked = Asked::default();
    for parameter in once(parameters)? {
        let mut owned = EXTENSIONS.iter().flat_map(|one| one.rcpt);
        let owner = owned.find(|(known, _)| *known == parameter.keyword);
        let (_, read) = owner.ok_or_else(|| unknown(&parameter.keyword))?;
        read(parameter.value.as_deref(), offer, &mut asked)?;
    }
    Ok(asked)
}

/// The parameters, none of which may be given twice.
fn once(parameters: &[Parameter]) -> Result<&[Parameter], Reply> {
    let is_twice = |(index, one): &(usize, &Parameter)| {
        parameters.iter().take(*index).any(|earlier| earlier.keyword == one.keyword)
    };
    match parameters.iter().enumerate().find(is_twice) {
        Some((_, one)) => Err(Reply::new(501, Enhanced(5, 5, 4), &format!("{:.80} is given twice", one.keyword))),
        None => Ok(parameters),
    }
}

fn unknown(keyword: &str) -> Reply {
    Reply::new(555, Enhanced(5, 5, 4), &format!("{keyword:.80} is no parameter that EHLO offers"))
}
