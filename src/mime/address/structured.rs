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
            let described = phrase(&name(before).0);
            let blank = if described.is_empty() { "" } else { " " };
            format!("{described}{blank}{}", plain(behind, false))
        }
    }
}

fn plain(tokens: &[Token<'_>], uris: bool) -> String {
    let (mut out, mut inside) = (String::new(), false);
    for token in tokens {
        inside = (inside || token.is('<')) && !token.is('>');
        if token.text.is_ascii() {
            out.push_str(token.text);
        } else if token.kind == Kind::Comment {
            out.push_str(&comment(token.text));
        } else {
            token.text.chars().for_each(|one| push(&mut out, one, uris && inside));
        }
    }
    out
}

fn push(out: &mut String, one: char, percent: bool) {
    match (one.is_ascii(), percent) {
        (true, _) => out.push(one),
        (false, false) => out.push('?'),
        (false, true) => {
            for octet in one.encode_utf8(&mut [0; 4]).bytes() {
                out.push_str(&format!("%{octet:02X}"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
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
        ] {
            assert_eq!(to_ascii(text, structure), ascii);
        }
    }
}
