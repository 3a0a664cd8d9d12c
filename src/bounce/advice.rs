//! What a sender can do about an answer.

use crate::mail::Reply;

/// Answers of one kind.
struct Advice {
    /// The first digit of the reply, or 0 for any.
    class: u16,
    /// Subject and detail of the enhanced code (RFC 3463); no detail for any.
    codes: &'static [(u16, Option<u16>)],
    /// Words of the answer, in lower case; none for any.
    words: &'static str,
    text: &'static str,
}

/// The first that fits counts.
const ADVICE: &[Advice] = &[
    Advice {
        class: 0,
        codes: &[],
        words: "not verified",
        text: "Amazon SES sends only for addresses and domains that were verified for the account in use. Send from one \
               that is, or ask the administrator to have the one named above verified. An account in the SES sandbox can \
               also send only to verified recipients.",
    },
    Advice {
        class: 5,
        codes: &[(1, Some(7)), (1, Some(8))],
        words: "",
        text: "The address of the sender is not one that can be used. Correct it in the settings of your mail program, \
               then send the message again.",
    },
    Advice {
        class: 5,
        codes: &[(1, None)],
        words: "",
        text: "Look for a mistake in the address, such as a blank, a missing dot or a letter with an accent before the @. \
               Correct it, then send the message again.",
    },
    Advice {
        class: 5,
        codes: &[(2, Some(3)), (3, Some(4))],
        words: "",
        text: "The message is too large. Send it with fewer or smaller attachments, or with a link to them.",
    },
    Advice {
        class: 5,
        codes: &[(6, None)],
        words: "",
        text: "Something in the message itself was refused: a field of its header, its form, or an attachment. Change \
               what the answer names before you send it again; unchanged it would be refused again. If a program made \
               the message, its maintainer should see this report.",
    },
    Advice {
        class: 4,
        codes: &[],
        words: "quota",
        text: "The account has used up what it may send in a day. That is no fault of the message: send it again later, \
               and let the administrator know, who can ask Amazon for a higher quota.",
    },
    Advice {
        class: 4,
        codes: &[],
        words: "rate exceeded",
        text: "More mail was waiting than the account may send in that time. That is no fault of the message: send it \
               again later, and let the administrator know, who can ask Amazon for a higher rate.",
    },
    Advice {
        class: 4,
        codes: &[(3, None), (7, None)],
        words: "",
        text: "The mail system could not use Amazon SES: its account, its permissions or its settings need attention. \
               That is no fault of the message. Forward this report to the administrator, and send the message again \
               when it is mended.",
    },
    Advice {
        class: 4,
        codes: &[],
        words: "",
        text: "The network or the next mail system did not work. That is no fault of the message: send it again later. \
               If that fails too, forward this report to the administrator.",
    },
    Advice {
        class: 5,
        codes: &[(7, None)],
        words: "",
        text: "You may not send this message, or not to this recipient. If you think that you should, forward this report \
               to the administrator.",
    },
    Advice {
        class: 0,
        codes: &[],
        words: "",
        text: "If the answer does not tell you what to do, forward this report to the administrator.",
    },
];

/// What to do about a last answer, in a few sentences.
pub(super) fn advice(reply: &Reply) -> &'static str {
    let text = reply.text().to_ascii_lowercase();
    let fits = |advice: &&Advice| {
        let is_code = |(subject, detail): &(u16, Option<u16>)| {
            let code = reply.enhanced().filter(|code| code.1 == *subject);
            code.is_some_and(|code| detail.is_none_or(|detail| detail == code.2))
        };
        (advice.class == 0 || advice.class == reply.code() / 100)
            && (advice.codes.is_empty() || advice.codes.iter().any(is_code))
            && text.contains(advice.words)
    };
    ADVICE.iter().find(fits).map_or("", |advice| advice.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_answer_has_its_advice() {
        for (reply, words) in [
            ("554 5.7.1 SES: Email address is not verified. The following identities failed", "verified"),
            ("553 5.1.3 SES: Missing final '@domain'", "mistake in the address"),
            ("553 5.1.7 SES: Missing final '@domain'", "address of the sender"),
            ("552 5.3.4 SES: Message length is more than 10485760 bytes long", "too large"),
            ("554 5.6.0 SES: Duplicate header 'Date'.", "in the message itself"),
            ("454 4.7.0 SES: Daily message quota exceeded.", "in a day"),
            ("454 4.3.2 SES: Maximum sending rate exceeded.", "higher rate"),
            ("451 4.3.2 SES: Account is paused", "permissions"),
            ("451 4.7.0 SES: User is not authorized to perform `ses:SendRawEmail'", "permissions"),
            ("451 4.3.5 SES: Configuration set does not exist", "settings need attention"),
            ("451 4.4.1 SES cannot be reached", "network"),
            ("451 4.4.2 SES did not answer in time", "network"),
            ("550 5.7.1 finance may send as finance.example.com only", "may not send"),
            ("550 5.2.1 mailbox disabled", "administrator"),
        ] {
            let advice = advice(&reply.parse().unwrap());
            assert!(advice.contains(words), "{reply}: {advice}");
        }
    }
}
