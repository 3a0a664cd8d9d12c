//! Where a field may be folded: at white space always, elsewhere where its grammar has room for some.

/// What the grammar of a field allows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Grammar {
    /// Text, of which any word may be encoded (RFC 2047 section 5).
    Text,
    /// Behind a comma, as in address lists (RFC 5322 section 3.4).
    Commas,
    /// Between two message identifiers (RFC 5322 section 3.6.4).
    Ids,
    /// Behind a semicolon, as before a parameter (RFC 2045 section 5.1).
    Semicolons,
    /// Behind a semicolon, behind a colon of `h=`, anywhere in base64 (RFC 6376 section 3.5).
    Tags,
    /// Nowhere but at white space.
    Blanks,
}

/// The fields that are no text, in lower case.
const STRUCTURED: &[(&str, Grammar)] = &[
    ("accept-language", Grammar::Commas),
    ("apparently-to", Grammar::Commas),
    ("arc-authentication-results", Grammar::Semicolons),
    ("arc-message-signature", Grammar::Tags),
    ("arc-seal", Grammar::Tags),
    ("authentication-results", Grammar::Semicolons),
    ("auto-submitted", Grammar::Semicolons),
    ("autocrypt", Grammar::Tags),
    ("autocrypt-gossip", Grammar::Tags),
    ("bcc", Grammar::Commas),
    ("bounces-to", Grammar::Commas),
    ("cc", Grammar::Commas),
    ("content-base", Grammar::Blanks),
    ("content-disposition", Grammar::Semicolons),
    ("content-id", Grammar::Ids),
    ("content-language", Grammar::Commas),
    ("content-length", Grammar::Blanks),
    ("content-location", Grammar::Blanks),
    ("content-md5", Grammar::Blanks),
    ("content-transfer-encoding", Grammar::Blanks),
    ("content-type", Grammar::Semicolons),
    ("date", Grammar::Blanks),
    ("delivered-to", Grammar::Commas),
    ("disposition-notification-options", Grammar::Semicolons),
    ("disposition-notification-to", Grammar::Commas),
    ("dkim-signature", Grammar::Tags),
    ("domainkey-signature", Grammar::Tags),
    ("envelope-to", Grammar::Commas),
    ("errors-to", Grammar::Commas),
    ("followup-to", Grammar::Commas),
    ("from", Grammar::Commas),
    ("importance", Grammar::Blanks),
    ("in-reply-to", Grammar::Ids),
    ("keywords", Grammar::Commas),
    ("list-archive", Grammar::Commas),
    ("list-help", Grammar::Commas),
    ("list-id", Grammar::Blanks),
    ("list-owner", Grammar::Commas),
    ("list-post", Grammar::Commas),
    ("list-subscribe", Grammar::Commas),
    ("list-unsubscribe", Grammar::Commas),
    ("list-unsubscribe-post", Grammar::Blanks),
    ("mail-followup-to", Grammar::Commas),
    ("mail-reply-to", Grammar::Commas),
    ("message-id", Grammar::Ids),
    ("mime-version", Grammar::Blanks),
    ("newsgroups", Grammar::Commas),
    ("obsoletes", Grammar::Ids),
    ("original-from", Grammar::Commas),
    ("original-message-id", Grammar::Ids),
    ("original-recipient", Grammar::Semicolons),
    ("precedence", Grammar::Blanks),
    ("priority", Grammar::Blanks),
    ("received", Grammar::Semicolons),
    ("received-spf", Grammar::Semicolons),
    ("references", Grammar::Ids),
    ("reply-to", Grammar::Commas),
    ("resent-bcc", Grammar::Commas),
    ("resent-cc", Grammar::Commas),
    ("resent-date", Grammar::Blanks),
    ("resent-from", Grammar::Commas),
    ("resent-message-id", Grammar::Ids),
    ("resent-reply-to", Grammar::Commas),
    ("resent-sender", Grammar::Commas),
    ("resent-to", Grammar::Commas),
    ("return-path", Grammar::Blanks),
    ("return-receipt-to", Grammar::Commas),
    ("sender", Grammar::Commas),
    ("sensitivity", Grammar::Blanks),
    ("supersedes", Grammar::Ids),
    ("to", Grammar::Commas),
];

impl Grammar {
    /// That of the field of a name in any case; a field that is not known is text.
    pub(super) fn of(name: &str) -> Self {
        let lower = name.to_ascii_lowercase();
        let found = STRUCTURED.binary_search_by_key(&lower.as_str(), |(name, _)| name).ok();
        found.and_then(|at| STRUCTURED.get(at)).map_or(Self::Text, |(_, grammar)| *grammar)
    }
}

/// Whether the field of that name is text, of which any word may be encoded (RFC 2047 section 5 (1)).
pub fn is_text(name: &str) -> bool {
    Grammar::of(name) == Grammar::Text
}

/// A place before which a line may end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Place {
    pub at: usize,
    /// Whether there is no white space, so that some has to be added.
    pub bare: bool,
    /// Whether it lies in a quoted string or comment, where careless readers do not expect it.
    pub inside: bool,
}

/// The places of a field whose value begins behind `colon`, first to last.
pub(super) fn places(grammar: Grammar, field: &[u8], colon: usize) -> Vec<Place> {
    let (mut places, mut scan, mut before) = (Vec::new(), Scan::default(), b':');
    for (at, octet) in field.iter().copied().enumerate().skip(colon + 1) {
        let is_gap = |octet: u8| matches!(octet, b' ' | b'\t' | b'\r' | b'\n');
        let inside = scan.quoted || scan.depth > 0;
        if matches!(octet, b' ' | b'\t') && !is_gap(before) && !scan.escaped {
            places.push(Place { at, bare: false, inside });
        } else if !is_gap(octet) && !is_gap(before) && !inside && (at == colon + 1 || scan.allows(grammar, before)) {
            places.push(Place { at, bare: true, inside });
        }
        match grammar {
            Grammar::Text => {}
            Grammar::Tags => scan.read_tag(octet),
            _ => scan.read(octet),
        }
        before = octet;
    }
    places
}

/// What was read of a value so far.
#[derive(Default)]
struct Scan {
    quoted: bool,
    escaped: bool,
    /// Comments that are open.
    depth: usize,
    /// Whether a `<` is open.
    angle: bool,
    /// The name of the tag, while it is read; afterwards what its value is.
    name: Vec<u8>,
    tag: Option<Tag>,
}

/// What the value of a tag is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tag {
    Base64,
    Names,
    Other,
}

impl Scan {
    /// Whether white space may be added behind that octet.
    fn allows(&self, grammar: Grammar, before: u8) -> bool {
        match grammar {
            Grammar::Text | Grammar::Blanks => false,
            Grammar::Commas => before == b',' && !self.angle,
            Grammar::Ids => before == b'>',
            Grammar::Semicolons => before == b';',
            Grammar::Tags => {
                before == b';' || self.tag == Some(Tag::Base64) || self.tag == Some(Tag::Names) && before == b':'
            }
        }
    }

    fn read(&mut self, octet: u8) {
        let inside = self.quoted || self.depth > 0;
        match octet {
            _ if self.escaped => self.escaped = false,
            b'\\' if inside => self.escaped = true,
            b'"' if self.depth == 0 => self.quoted = !self.quoted,
            b'(' if !self.quoted => self.depth += 1,
            b')' if !self.quoted => self.depth = self.depth.saturating_sub(1),
            b'<' if !inside => self.angle = true,
            b'>' if !inside => self.angle = false,
            _ => {}
        }
    }

    fn read_tag(&mut self, octet: u8) {
        match octet {
            b';' => (self.tag, self.name) = (None, Vec::new()),
            b'=' if self.tag.is_none() => {
                self.tag = Some(match self.name.to_ascii_lowercase().as_slice() {
                    b"b" | b"bh" | b"keydata" => Tag::Base64,
                    b"h" => Tag::Names,
                    _ => Tag::Other,
                });
            }
            b' ' | b'\t' | b'\r' | b'\n' => {}
            _ if self.tag.is_none() => self.name.push(octet),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value with a `|` at each place, doubled where white space would be added.
    fn shown(name: &str, value: &str) -> String {
        let places = places(Grammar::of(name), format!(":{value}").as_bytes(), 0);
        let mut text = value.to_owned();
        for place in places.iter().rev() {
            text.insert_str(
                place.at - 1,
                if place.bare {
                    "||"
                } else if place.inside {
                    "?"
                } else {
                    "|"
                },
            );
        }
        text
    }

    #[test]
    fn the_table_is_sorted() {
        assert!(STRUCTURED.is_sorted_by_key(|(name, _)| name));
        assert_eq!(Grammar::of("REFERENCES"), Grammar::Ids);
        assert_eq!(Grammar::of("X-To"), Grammar::Text);
    }

    #[test]
    fn each_grammar_has_its_places() {
        assert_eq!(shown("To", " a,\"b, c\" <d,e>,(f,g) h"), "| a,||\"b,? c\"| <d,e>,||(f,g)| h");
        assert_eq!(shown("References", " <a><b>  <c>"), "| <a>||<b>|  <c>");
        assert_eq!(shown("Content-Type", "a/b;c=\"d;e\\\" f\";g=h"), "||a/b;||c=\"d;e\\\"? f\";||g=h");
        assert_eq!(shown("DKIM-Signature", " a=r;h=A:B;bh=xy"), "| a=r;||h=A:||B;||bh=||x||y");
        assert_eq!(shown("Subject", " one, two;three"), "| one,| two;three");
        assert_eq!(shown("Return-Path", " <a,b>"), "| <a,b>");
        assert_eq!(shown("To", " \"a\\ b\""), "| \"a\\ b\"");
    }
}
