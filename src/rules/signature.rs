//! Signatures that no longer match what was signed (RFC 6376): told, since SES keeps them and receivers will see.

use std::collections::BTreeSet;

use super::draft::Draft;

/// What is to be said of each DKIM-Signature whose fields or body the rules changed.
pub fn stale_signatures(draft: &Draft) -> Vec<String> {
    let changes = &draft.trace.changes;
    let names: BTreeSet<String> = changes.iter().map(|change| change.field.to_ascii_lowercase()).collect();
    let whole = names.iter().any(|name| name.starts_with("(repair"));
    let stale = draft.header.find("DKIM-Signature").filter_map(|at| {
        let value = String::from_utf8_lossy(&draft.header.unfolded(at)).into_owned();
        let signed = tag(&value, "h").unwrap_or_default().to_ascii_lowercase();
        let mut changed: Vec<&str> = signed.split(':').map(str::trim).filter(|name| names.contains(*name)).collect();
        changed.dedup();
        let what = match (changed.is_empty(), whole) {
            (false, _) => changed.join(", "),
            (true, true) => "the message".to_owned(),
            (true, false) => return None,
        };
        Some(format!(
            "the DKIM-Signature of {} no longer matches: {what} changed",
            tag(&value, "d").unwrap_or("an unnamed domain")
        ))
    });
    stale.collect()
}

/// The value of a tag in a tag list (RFC 6376 section 3.2).
fn tag<'a>(value: &'a str, name: &str) -> Option<&'a str> {
    value.split(';').find_map(|part| {
        let (known, value) = part.split_once('=')?;
        (known.trim() == name).then(|| value.trim())
    })
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;
    use crate::{
        mail::{Client, Envelope, Id},
        rules::{Facts, Rules, SourceText},
    };

    fn stale(raw: &str) -> Vec<String> {
        let rules = Rules::compile(&[SourceText::builtin("ses").unwrap()], &Default::default()).unwrap();
        let mut envelope = Envelope::default();
        envelope.recipients.push(crate::mail::Address::parse("b@example.net").unwrap());
        let mut draft = Draft::new(envelope, &Bytes::from(raw.to_owned()));
        let client = Client::new([127, 0, 0, 1].into(), "smtp");
        rules.run(&Facts { id: Id::nil(), client, size: raw.len(), hostname: String::new() }, &mut draft);
        stale_signatures(&draft)
    }

    #[test]
    fn a_signature_over_a_changed_field_is_named() {
        let signed = "DKIM-Signature: v=1; d=example.com; h=from:chicken;\r\n b=x\r\nFrom: a@example.com\r\n";
        assert_eq!(
            stale(&format!("{signed}Chicken: yummy\r\n\r\nhi\r\n")),
            ["the DKIM-Signature of example.com no longer matches: chicken changed"]
        );
        assert_eq!(stale(&format!("{signed}Cats: yucky\r\n\r\nhi\r\n")), [""; 0]);
    }
}
