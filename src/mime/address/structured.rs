//! Structured fields that are no address lists, in ASCII: comments and phrases are encoded (RFC 2047 section 5), and
//! where the grammar has no place for that, a character that cannot stand there is replaced.

use super::{
    entry::name,
    token::{Kind, Token, lex},
    write::{comment, phrase},
};
use crate::header::printable;

/// What a structured field is made of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Structure {
    /// Tokens and comments, as in Received.
    Tokens,
    /// A phrase before an identifier, as in List-Id (RFC 2919 section 3).
    Identifier,
    /// Phrases between commas, as in Keywords (RFC 5322 section 3.6.5).
    Phrases,
    /// URIs in angle brackets, as in List-Unsubscribe (RFC 2369 section 2): what is not ASCII there is an IRI, which
    /// becomes a URI (RFC 3987 section 3.1).
    Uris,
}

/// The value of a structured field in ASCII.
pub fn to_ascii(text: &str, structure: Structure) -> String {
    let text = printable(text);
    let tokens = lex(&text);
    match structure {
        Structure::Tokens | Structure::Uris => plain(&tokens, structure == Structure::Uris),
        Structure::Phrases => {
            let phrases = tokens.split(|token| token.is(',')).map(|tokens| phrase(&name(tokens).0));
            phrases.filter(|phrase| !phrase.is_empty()).collect::<Vec<_>>().join(", ")
        }
        Structure::Identifier => {
            let angle = tokens.iter().position(|token| token.is('<')).unwrap_or(0);
            let (before, behind) = tokens.split_at_checked(angle).unwrap_or((&tokens, &[]));
            if before.iter().all(|token| token.text.is_ascii()) {
                return plain(&tokens, false);
            }
            format!("{} {}", phrase(&name(before).0), plain(behind, false))
        }
    }
}

fn plain(tokens: &[Token<'_>], uris: bool) -> String {
    let (plain, other) = (replaced(tokens, uris, '?'), replaced(tokens, uris, '-'));
    // Question marks could make an encoded-word of what was none.
    if words(&plain) == words(&other) { plain } else { other }
}

fn words(text: &str) -> Vec<&str> {
    lex(text).iter().filter(|token| token.kind == Kind::Encoded).map(|token| token.text).collect()
}

fn replaced(tokens: &[Token<'_>], uris: bool, mark: char) -> String {
    let (mut out, mut inside) = (String::new(), false);
    for token in tokens {
        inside = (inside || token.is('<')) && !token.is('>');
        match token.kind {
            _ if token.text.is_ascii() => out.push_str(token.text),
            Kind::Comment => out.push_str(&comment(token.text)),
            Kind::Encoded => out.push_str(&phrase(&name(&[*token]).0)),
            _ => token.text.chars().for_each(|one| push(&mut out, one, if uris && inside { None } else { Some(mark) })),
        }
    }
    out
}

/// Adds a character, or what stands for it: the mark, or its octets in the form of RFC 3986 section 2.1.
fn push(out: &mut String, one: char, mark: Option<char>) {
    match mark {
        _ if one.is_ascii() => out.push(one),
        Some(mark) => out.push(mark),
        None => {
            for octet in one.encode_utf8(&mut [0; 4]).bytes() {
                out.push_str(&format!("%{octet:02X}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn comments_and_phrases_are_encoded_and_the_rest_is_ascii() {
        for (text, structure, ascii) in [
            ("from x (HELO größe) by ü", Structure::Tokens, "from x (HELO =?UTF-8?B?Z3LDtsOfZQ==?=) by ?"),
            ("<größe@x> (=?utf-8?q?=C3=A9?=)", Structure::Tokens, "<gr??e@x> (=?utf-8?q?=C3=A9?=)"),
            ("Bücher und <l.example>", Structure::Identifier, "=?UTF-8?Q?B=C3=BCcher?= und <l.example>"),
            ("<ü.example>", Structure::Identifier, "<?.example>"),
            ("früh,spät, a.b", Structure::Phrases, "=?UTF-8?Q?fr=C3=BCh?=, =?UTF-8?Q?sp=C3=A4t?=, \"a.b\""),
            ("<https://x.example/ü>, <mailto:a@b> ü", Structure::Uris, "<https://x.example/%C3%BC>, <mailto:a@b> ?"),
            ("a\u{1}b", Structure::Tokens, "a b"),
            ("addr=ü", Structure::Tokens, "addr=?"),
            ("=üutf-8?q?x?=", Structure::Tokens, "=-utf-8?q?x?="),
            ("=?utf-8?q?ü b?=", Structure::Tokens, "=?UTF-8?Q?=C3=BC_b?="),
            ("\"a\t\"ü b  c", Structure::Phrases, "a =?UTF-8?Q?=C3=BC?= b c"),
        ] {
            assert_eq!(to_ascii(text, structure), ascii);
        }
    }

    #[test]
    fn a_word_that_nobody_can_read_leaves_no_octet_that_is_not_ascii() {
        for text in ["=?utf-8?q?=C3?= =?utf-8?q?=\u{ff}\u{ff}A9?=", "=?utf-8?q?=C3\u{ff}?=", "=?utf-8?b?\u{ff}?="] {
            for structure in [Structure::Tokens, Structure::Identifier, Structure::Phrases, Structure::Uris] {
                let ascii = to_ascii(text, structure);
                assert!(ascii.is_ascii(), "{structure:?}: {ascii}");
                assert_eq!(to_ascii(&ascii, structure), ascii);
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_ascii_says_the_same_in_another_run(
            text in "([ -~]|[\t\u{1}\u{a0}éß用]|=\\?utf-8\\?[qb]\\?|=C3=A9|w6k=|\\?=|[()<>,\"\\\\]){0,40}",
        ) {
            for structure in [Structure::Tokens, Structure::Identifier, Structure::Phrases, Structure::Uris] {
                let once = to_ascii(&text, structure);
                prop_assert_eq!(to_ascii(&once, structure), once.clone(), "{:?}", structure);
            }
        }
    }
}
