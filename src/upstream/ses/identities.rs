//! The identities of the account, and those that senders stand for.
//!
//! A verified domain lets send from its addresses and from its subdomains; an address that is an identity of its own
//! comes before its domain (SES developer guide, "Verified identities").

use aws_sdk_sesv2::{
    Client,
    operation::get_email_identity::{GetEmailIdentityError, GetEmailIdentityOutput},
    types::{BehaviorOnMxFailure, DkimAttributes, DkimSigningAttributesOrigin, IdentityInfo, VerificationStatus},
};

use crate::{
    mail::Address,
    upstream::{Details, Identity, Silence},
};

use super::ask::ask;

/// Pages of the list that are read, and the identities on each, as many as SES grants.
const PAGES: usize = 10;
const PAGE: i32 = 1000;
/// Where the CNAME records of Easy DKIM lead when SES names no other zone.
const DKIM_ZONE: &str = "dkim.amazonses.com";

type All = Result<Vec<(String, bool)>, Silence>;
type One = Result<Option<Identity>, Silence>;
/// All identities, and the one of each sender.
pub(super) type Identities = (All, Vec<(Address, One)>);

/// Asks for all identities, and for what is known of those that senders stand for.
pub(super) async fn examine(client: Result<&Client, Silence>, senders: &[Address]) -> Identities {
    let client = match client {
        Ok(client) => client,
        Err(silence) => {
            let silent = senders.iter().map(|sender| (sender.clone(), Err(silence.clone())));
            return (Err(silence.clone()), silent.collect());
        }
    };
    let all = list(client).await;
    let mut found = Vec::new();
    for sender in senders {
        found.push((sender.clone(), of_sender(client, &all, sender).await));
    }
    (all, found)
}

async fn list(client: &Client) -> All {
    let (mut all, mut next) = (Vec::new(), None::<String>);
    for _ in 0..PAGES {
        let page = ask("ses:ListEmailIdentities", || {
            client.list_email_identities().page_size(PAGE).set_next_token(next.clone()).send()
        });
        let page = page.await?;
        all.extend(page.email_identities().iter().filter_map(listed));
        next = page.next_token().filter(|token| !token.is_empty()).map(str::to_owned);
        if next.is_none() {
            break;
        }
    }
    Ok(all)
}

fn listed(info: &IdentityInfo) -> Option<(String, bool)> {
    let verified = match info.verification_status() {
        Some(status) => *status == VerificationStatus::Success,
        None => info.sending_enabled(),
    };
    Some((info.identity_name()?.to_owned(), verified))
}

async fn of_sender(client: &Client, all: &All, sender: &Address) -> One {
    let names = candidates(sender);
    let Ok(all) = all else { return guessed(client, &names).await };
    let listed = names.iter().find_map(|name| all.iter().find(|(known, _)| known.eq_ignore_ascii_case(name)));
    let Some((name, verified)) = listed else { return Ok(None) };
    Ok(Some(match get(client, name).await {
        Ok(Some(identity)) => identity,
        // It went between the two calls.
        Ok(None) => return Ok(None),
        Err(silence) => Identity { name: name.clone(), verified: *verified, details: Err(silence) },
    }))
}

/// Without the list each identity that it may be is asked for.
async fn guessed(client: &Client, names: &[String]) -> One {
    for name in names {
        if let Some(identity) = get(client, name).await? {
            return Ok(Some(identity));
        }
    }
    Ok(None)
}

async fn get(client: &Client, name: &str) -> One {
    let asked = ask("ses:GetEmailIdentity", || async {
        match client.get_email_identity().email_identity(name).send().await {
            Ok(identity) => Ok(Some(identity)),
            Err(error) if error.as_service_error().is_some_and(GetEmailIdentityError::is_not_found_exception) => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    });
    Ok(asked.await?.map(|output| Identity {
        name: name.to_owned(),
        // The status alone is told by emulators.
        verified: output.verified_for_sending_status()
            || output.verification_status() == Some(&VerificationStatus::Success),
        details: Ok(details(name, &output)),
    }))
}

fn details(name: &str, output: &GetEmailIdentityOutput) -> Details {
    let status = output.verification_status().map(VerificationStatus::as_str);
    let dkim = output.dkim_attributes();
    Details {
        status: status.unwrap_or_default().to_owned(),
        signs: dkim.is_some_and(DkimAttributes::signing_enabled),
        dkim: dkim.and_then(DkimAttributes::status).map(|status| status.as_str().to_owned()).unwrap_or_default(),
        records: dkim.map(|dkim| records(name, dkim)).unwrap_or_default(),
        mail_from: output.mail_from_attributes().filter(|own| !own.mail_from_domain().is_empty()).map(|own| {
            let refuses = *own.behavior_on_mx_failure() == BehaviorOnMxFailure::RejectMessage;
            (own.mail_from_domain().to_owned(), own.mail_from_domain_status().as_str().to_owned(), refuses)
        }),
    }
}

/// The records of Easy DKIM; with a key of one's own, its record is one's own too.
fn records(name: &str, dkim: &DkimAttributes) -> Vec<(String, String)> {
    if dkim.signing_attributes_origin() == Some(&DkimSigningAttributesOrigin::External) {
        return Vec::new();
    }
    let domain = name.rsplit_once('@').map_or(name, |(_, domain)| domain);
    let zone = dkim.signing_hosted_zone().unwrap_or(DKIM_ZONE);
    dkim.tokens().iter().map(|token| (format!("{token}._domainkey.{domain}"), format!("{token}.{zone}"))).collect()
}

/// The identities that may stand for a sender, the nearest first.
fn candidates(sender: &Address) -> Vec<String> {
    let mut names = vec![sender.to_string()];
    let mut domain = sender.domain();
    names.push(domain.to_owned());
    while let Some((_, parent)) = domain.split_once('.').filter(|(_, parent)| parent.contains('.')) {
        names.push(parent.to_owned());
        domain = parent;
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_stands_for_itself_its_domain_or_one_above() {
        let of = |text: &str| candidates(&Address::parse(text).unwrap());
        assert_eq!(of("a@example.com"), ["a@example.com", "example.com"]);
        assert_eq!(
            of("a@x.mail.example.com"),
            ["a@x.mail.example.com", "x.mail.example.com", "mail.example.com", "example.com"]
        );
    }

    #[test]
    fn the_records_of_easy_dkim_are_told() {
        let dkim = DkimAttributes::builder().tokens("abc").tokens("def");
        let found = records("example.com", &dkim.clone().build());
        let record = |token: &str, zone: &str| (format!("{token}._domainkey.example.com"), format!("{token}.{zone}"));
        assert_eq!(found, [record("abc", DKIM_ZONE), record("def", DKIM_ZONE)]);
        let zone = dkim.clone().signing_hosted_zone("x.dkim.example").build();
        assert_eq!(records("example.com", &zone)[0], record("abc", "x.dkim.example"));
        let own = dkim.signing_attributes_origin(DkimSigningAttributesOrigin::External).build();
        assert_eq!(records("example.com", &own), []);
    }
}
