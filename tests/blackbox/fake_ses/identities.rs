//! ListEmailIdentities and GetEmailIdentity: enter the wished identities, leaves their JSON. It must not know the send
//! calls: whom those refuse is the test's to say.

use serde_json::{Value, json};

use super::answer::Refusal;

/// An identity of the account (SES API reference, GetEmailIdentity).
#[derive(Clone, Debug, PartialEq)]
pub struct Identity {
    /// A domain or an address.
    pub name: String,
    /// Its VerificationStatus: SUCCESS, PENDING, FAILED, ….
    pub status: &'static str,
    /// Whether mail is signed.
    pub signs: bool,
    /// The Status of its DKIM attributes.
    pub dkim: &'static str,
    /// A MAIL FROM domain with its state and what is done without its MX record.
    pub mail_from: Option<(&'static str, &'static str, &'static str)>,
}

impl Identity {
    /// One that is verified and signs.
    pub fn good(name: &str) -> Self {
        Self { name: name.into(), status: "SUCCESS", signs: true, dkim: "SUCCESS", mail_from: None }
    }

    fn kind(&self) -> &'static str {
        if self.name.contains('@') { "EMAIL_ADDRESS" } else { "DOMAIN" }
    }

    fn whole(&self) -> Value {
        let mail_from = self.mail_from.map(|(domain, status, behaviour)| {
            json!({
                "MailFromDomain": domain,
                "MailFromDomainStatus": status,
                "BehaviorOnMxFailure": behaviour,
            })
        });
        json!({
            "IdentityType": self.kind(),
            "FeedbackForwardingStatus": true,
            "VerifiedForSendingStatus": self.status == "SUCCESS",
            "VerificationStatus": self.status,
            "DkimAttributes": {
                "SigningEnabled": self.signs,
                "Status": self.dkim,
                "Tokens": ["token1", "token2", "token3"],
                "SigningAttributesOrigin": "AWS_SES",
            },
            "MailFromAttributes": mail_from,
        })
    }
}

/// A page of all, of at most `most`, as it is asked for.
pub(super) fn page(identities: &[Identity], asked: &Value, most: usize) -> Value {
    let from = asked["NextToken"].as_str().and_then(|token| token.parse().ok()).unwrap_or(0);
    let size = asked["PageSize"].as_u64().and_then(|size| usize::try_from(size).ok()).unwrap_or(100).min(most);
    let listed = identities.iter().skip(from).take(size).map(|one| {
        json!({
            "IdentityType": one.kind(),
            "IdentityName": one.name,
            "SendingEnabled": one.status == "SUCCESS",
            "VerificationStatus": one.status,
        })
    });
    let next = from.saturating_add(size);
    let token = (next < identities.len()).then(|| next.to_string());
    json!({ "EmailIdentities": listed.collect::<Vec<_>>(), "NextToken": token })
}

/// One of them, by the last segment of the path.
pub(super) fn one(identities: &[Identity], segment: &str) -> Result<Value, Refusal> {
    let name = decoded(segment);
    let found = identities.iter().find(|one| one.name.eq_ignore_ascii_case(&name));
    let unknown = || Refusal::new(404, "NotFoundException", format!("Email identity {name} does not exist."));
    found.map(Identity::whole).ok_or_else(unknown)
}

/// Without percent-encoding (RFC 3986 section 2.1).
fn decoded(text: &str) -> String {
    let (first, rest) = text.split_once('%').unwrap_or((text, ""));
    let mut octets = first.as_bytes().to_vec();
    for piece in rest.split('%').filter(|piece| !piece.is_empty()) {
        let (digits, behind) = piece.split_at_checked(2).unwrap_or((piece, ""));
        octets.push(u8::from_str_radix(digits, 16).unwrap_or(b'?'));
        octets.extend_from_slice(behind.as_bytes());
    }
    String::from_utf8_lossy(&octets).into_owned()
}
