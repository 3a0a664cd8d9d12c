//! The fields of which a header holds one.

/// The fields that may stand once only: https://docs.aws.amazon.com/ses/latest/dg/header-fields.html, in lower case.
pub const ONCE_ONLY: &[&str] = &[
    "accept-language",
    "acceptlanguage",
    "archived-at",
    "auto-submitted",
    "bounces-to",
    "comments",
    "content-alternative",
    "content-base",
    "content-class",
    "content-description",
    "content-disposition",
    "content-duration",
    "content-id",
    "content-language",
    "content-length",
    "content-location",
    "content-md5",
    "content-transfer-encoding",
    "content-type",
    "date",
    "delivered-to",
    "disposition-notification-options",
    "disposition-notification-to",
    "dkim-signature",
    "domainkey-signature",
    "errors-to",
    "from",
    "importance",
    "in-reply-to",
    "keywords",
    "list-archive",
    "list-help",
    "list-id",
    "list-owner",
    "list-post",
    "list-subscribe",
    "list-unsubscribe",
    "list-unsubscribe-post",
    "message-context",
    "message-id",
    "mime-version",
    "organization",
    "original-from",
    "original-message-id",
    "original-recipient",
    "original-subject",
    "precedence",
    "priority",
    "references",
    "reply-to",
    "return-path",
    "return-receipt-to",
    "sender",
    "sensitivity",
    "solicitation",
    "subject",
    "thread-index",
    "thread-topic",
    "user-agent",
    "vbr-info",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_the_one_of_the_shipped_rules() {
        assert!(ONCE_ONLY.is_sorted());
        let rules: toml::Table = include_str!("../../rules/ses.toml").parse().unwrap();
        let mut shipped: Vec<String> = rules["list"]["ses_once"]
            .as_array()
            .unwrap()
            .iter()
            .map(|name| name.as_str().unwrap().to_lowercase())
            .collect();
        shipped.sort();
        assert_eq!(shipped, ONCE_ONLY);
    }
}
