//! DSN (RFC 3461): what the sender wants to hear of the delivery. Offered where messages are queued, since only there is
//! anything left to report once the client has heard 250.

use crate::mail::{Asked, Enhanced, Reply};

use super::{
    super::{session::Offer, xtext},
    Extension, MailFacts, unknown,
};

/// Octets of an ENVID and of an ORCPT, as the client writes them (RFC 3461 sections 4.4 and 4.2).
const ENVID_MAX: usize = 100;
const ORCPT_MAX: usize = 500;

pub(super) const EXTENSION: Extension = Extension {
    keyword: "DSN",
    source: "RFC 3461",
    offered: |session| session.offer.dsn.then(String::new),
    mail: &[("RET", ret), ("ENVID", envid)],
    rcpt: &[("NOTIFY", notify), ("ORCPT", orcpt)],
};

fn ret(value: Option<&str>, offer: &Offer, facts: &mut MailFacts) -> Result<(), Reply> {
    known("RET", offer)?;
    facts.dsn.ret = Some(value.unwrap_or_default().parse().map_err(wrong)?);
    Ok(())
}

fn envid(value: Option<&str>, offer: &Offer, facts: &mut MailFacts) -> Result<(), Reply> {
    known("ENVID", offer)?;
    let id = value.filter(|text| text.len() <= ENVID_MAX).and_then(xtext::decode);
    // Section 4.4 wants what is meant to be printable ASCII.
    let id = id.filter(|id| id.bytes().all(|octet| matches!(octet, b' '..=b'~')));
    let told = || wrong(format!("ENVID is xtext of at most {ENVID_MAX} octets, which stands for printable ASCII"));
    facts.dsn.envelope_id = Some(id.ok_or_else(told)?);
    Ok(())
}

fn notify(value: Option<&str>, offer: &Offer, asked: &mut Asked) -> Result<(), Reply> {
    known("NOTIFY", offer)?;
    asked.notify = Some(value.unwrap_or_default().parse().map_err(wrong)?);
    Ok(())
}

fn orcpt(value: Option<&str>, offer: &Offer, asked: &mut Asked) -> Result<(), Reply> {
    known("ORCPT", offer)?;
    let original = value.filter(|text| text.len() <= ORCPT_MAX).and_then(xtext::read_orcpt);
    let told = || {
        wrong(format!(
            "ORCPT is a type, a semicolon and xtext, at most {ORCPT_MAX} octets, as in rfc822;user@example.com"
        ))
    };
    asked.original = Some(original.ok_or_else(told)?);
    Ok(())
}

/// What is not offered is as unknown as any other.
fn known(keyword: &str, offer: &Offer) -> Result<(), Reply> {
    if offer.dsn { Ok(()) } else { Err(unknown(keyword)) }
}

fn wrong(text: String) -> Reply {
    Reply::new(501, Enhanced(5, 5, 4), &text)
}
