//! SMTP extensions, one file each: what EHLO says and which parameters of MAIL they own.

mod auth;
mod chunking;
mod eightbitmime;
mod enhanced_status_codes;
mod pipelining;
mod size;
mod smtputf8;
mod starttls;
mod xclient;
mod xforward;

use crate::mail::{Enhanced, Reply};

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
    /// The parameter of MAIL that it owns, and what that does.
    pub mail: Option<(&'static str, MailParameter)>,
}

/// Reads one parameter of MAIL into the facts, or refuses it.
pub type MailParameter = fn(Option<&str>, &Offer, &mut MailFacts) -> Result<(), Reply>;

/// What the parameters of a MAIL said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MailFacts {
    /// SMTPUTF8 (RFC 6531).
    pub smtputf8: bool,
    /// SIZE in octets (RFC 1870), as the client guesses it.
    pub size: Option<u64>,
}

/// All extensions, in the order of EHLO.
pub const EXTENSIONS: &[Extension] = &[
    pipelining::EXTENSION,
    size::EXTENSION,
    eightbitmime::EXTENSION,
    smtputf8::EXTENSION,
    chunking::EXTENSION,
    enhanced_status_codes::EXTENSION,
    starttls::EXTENSION,
    auth::EXTENSION,
    xclient::EXTENSION,
    xforward::EXTENSION,
];

/// Reads the parameters of MAIL; an unknown one is refused (RFC 5321 section 4.1.1.11).
pub(super) fn mail_facts(parameters: &[Parameter], offer: &Offer) -> Result<MailFacts, Reply> {
    let mut facts = MailFacts::default();
    for (index, parameter) in parameters.iter().enumerate() {
        let keyword = parameter.keyword.as_str();
        if parameters.iter().take(index).any(|earlier| earlier.keyword == keyword) {
            return Err(Reply::new(501, Enhanced(5, 5, 4), &format!("{keyword} is given twice")));
        }
        let owner = EXTENSIONS.iter().filter_map(|one| one.mail).find(|(known, _)| *known == keyword);
        let (_, read) = owner.ok_or_else(|| unknown(keyword))?;
        read(parameter.value.as_deref(), offer, &mut facts)?;
    }
    Ok(facts)
}

/// RCPT has no parameters until DSN is offered.
pub(super) fn rcpt_parameters(parameters: &[Parameter]) -> Result<(), Reply> {
    parameters.first().map_or(Ok(()), |parameter| Err(unknown(&parameter.keyword)))
}

fn unknown(keyword: &str) -> Reply {
    Reply::new(555, Enhanced(5, 5, 4), &format!("{keyword:.80} is no parameter that EHLO offers"))
}
