//! Simple mode: a message is made of a subject, addresses and a text.

use bytes::Bytes;
use jiff::ZonedDateTime;
use mail_builder::{
    MessageBuilder,
    headers::{address::Address as Mailboxes, raw::Raw},
};

use crate::{
    header,
    mail::{Address, Id},
    mime::{Mailbox, mailboxes},
};

use super::options::Options;

/// A message and whom it is for.
pub(super) struct Made {
    pub(super) sender: Address,
    pub(super) recipients: Vec<Address>,
    pub(super) raw: Bytes,
}

/// Makes it. The blind recipients are in the envelope only.
///
/// # Errors
/// An address that is none, in the words of SES.
pub(super) fn make(options: &Options, text: &[u8], id: Id) -> Result<Made, String> {
    let (from, sender) = mailbox(options.sender.as_deref().unwrap_or_default())?;
    let read = |list: &[String]| list.iter().map(|one| mailbox(one)).collect::<Result<Vec<_>, _>>();
    let (to, cc, bcc) = (read(&options.recipients)?, read(&options.cc)?, read(&options.bcc)?);
    let mut recipients: Vec<Address> = Vec::new();
    for (_, address) in to.iter().chain(&cc).chain(&bcc) {
        if !recipients.contains(address) {
            recipients.push(address.clone());
        }
    }
    let shown = |list: Vec<(Mailbox, Address)>| {
        let entry = |(one, address): (Mailbox, Address)| shown(&one, &address);
        Mailboxes::new_list(list.into_iter().map(entry).collect())
    };
    let date = ZonedDateTime::now().strftime("%a, %d %b %Y %H:%M:%S %z").to_string();
    let body = header::text(text).replace("\r\n", "\n");
    let mut message = MessageBuilder::new()
        .from(self::shown(&from, &sender))
        .to(shown(to))
        .subject(options.subject.clone().unwrap_or_default())
        .header("Date", Raw::new(date))
        .message_id(format!("{id}@{}", sender.domain()));
    if !cc.is_empty() {
        message = message.cc(shown(cc));
    }
    let mut raw = Vec::new();
    message.text_body(body).serialize(&mut raw);
    Ok(Made { sender, recipients, raw: Bytes::from(raw) })
}

fn shown<'a>(mailbox: &Mailbox, address: &Address) -> Mailboxes<'a> {
    let name = Some(mailbox.name.clone()).filter(|name| !name.is_empty());
    Mailboxes::new_address(name, address.to_string())
}

/// An address with its name, if it has one.
pub(super) fn mailbox(text: &str) -> Result<(Mailbox, Address), String> {
    let text = text.trim();
    let plain = || Mailbox { name: String::new(), address: text.to_owned() };
    let mailbox = if text.contains('<') { mailboxes(text.as_bytes()).pop().unwrap_or_else(plain) } else { plain() };
    let address = address(&mailbox.address)?;
    Ok((mailbox, address))
}

/// An address alone; the cause in SES's words where it has some.
pub(super) fn address(text: &str) -> Result<Address, String> {
    Address::parse(text).map_err(|error| match error {
        crate::mail::AddressError::NoDomain => format!("Missing final '@domain': {text}"),
        other => format!("<{text}>: {other}"),
    })
}
