//! Apache's LogFormat, compiled at load; what it cannot mean is an error there and then.

use serde_json::Value;

use super::{
    Record,
    field::{self, FIELDS, FieldRow},
};

/// The header fields that JSON lines show.
const JSON_HEADER: &[&str] = &["Message-ID", "Subject", "User-Agent"];
/// The formats that have names.
const NAMED: &[(&str, &str)] = &[
    ("combined", "%h %l %u %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\" %{id}x %{ses-id}x"),
    ("combined-rt", "%h %l %{RTUSER}e %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\""),
];
const DIRECTIVES: &str = "%h %l %u %t %r %s %>s %b %B %D %T %{NAME}e %{NAME}i %{name}x and %%";

/// A compiled format.
#[derive(Debug)]
pub struct Format(Kind);

#[derive(Debug)]
enum Kind {
    Json,
    Line(Vec<Token>),
}

#[derive(Debug)]
enum Token {
    Text(String),
    Client,
    Login,
    User,
    Time,
    Request,
    Status,
    Size {
        dash: bool,
    },
    Microseconds,
    Seconds,
    Env(String),
    Header(String),
    Field(&'static FieldRow),
    /// Outside quotes, where a blank would part it into fields.
    Word(Box<Token>),
}

/// A format that cannot be compiled.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("{what} at character {at} of the format; known are {DIRECTIVES}")]
pub struct FormatError {
    at: usize,
    what: String,
}

impl Format {
    /// Compiles `json`, a named format, or a LogFormat.
    ///
    /// # Errors
    /// An unknown directive or field, with its place.
    pub fn compile(text: &str) -> Result<Self, FormatError> {
        if text == "json" {
            return Ok(Self(Kind::Json));
        }
        let named = NAMED.iter().find(|(name, _)| *name == text).map(|(_, format)| *format);
        tokens(named.unwrap_or(text)).map(|tokens| Self(Kind::Line(tokens)))
    }

    /// The header fields it shows.
    pub fn header_fields(&self) -> Vec<String> {
        match &self.0 {
            Kind::Json => JSON_HEADER.iter().map(|name| (*name).to_owned()).collect(),
            Kind::Line(tokens) => tokens
                .iter()
                .filter_map(|token| match token.inner() {
                    Token::Header(name) => Some(name.clone()),
                    _ => None,
                })
                .collect(),
        }
    }

    /// The line for a record, without its end.
    pub fn line(&self, record: &Record) -> String {
        match &self.0 {
            Kind::Json => {
                let pairs = FIELDS.iter().map(|row| (row.name.replace('-', "_"), (row.value)(record)));
                one_line(&Value::Object(pairs.collect()).to_string())
            }
            Kind::Line(tokens) => tokens.iter().map(|token| token.text(record)).collect(),
        }
    }
}

impl Token {
    fn inner(&self) -> &Self {
        match self {
            Self::Word(token) => token,
            token => token,
        }
    }

    fn text(&self, record: &Record) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Client => record.client.map_or_else(|| "-".to_owned(), |address| address.to_string()),
            Self::Login => single_word(record.login.as_deref().unwrap_or("-")),
            Self::User => single_word(record.whom().unwrap_or("-")),
            Self::Time => record.time.strftime("[%d/%b/%Y:%H:%M:%S %z]").to_string(),
            Self::Request => escaped(&record.request),
            Self::Status => record.status.map_or_else(|| "-".to_owned(), |code| code.to_string()),
            Self::Size { dash: true } if record.size == 0 => "-".to_owned(),
            Self::Size { .. } => record.size.to_string(),
            Self::Microseconds => record.duration.as_micros().to_string(),
            Self::Seconds => record.duration.as_secs().to_string(),
            Self::Env(name) => escaped(record.env.get(name).map_or("-", String::as_str)),
            Self::Header(name) => {
                let value = record.header.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
                escaped(value.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty()).unwrap_or("-"))
            }
            Self::Field(row) if row.words => escaped(&field::word(&(row.value)(record))),
            Self::Field(row) => single_word(&field::word(&(row.value)(record))),
            Self::Word(token) => token.text(record).replace(' ', "\\x20"),
        }
    }
}

fn tokens(format: &str) -> Result<Vec<Token>, FormatError> {
    let mut tokens = Vec::new();
    let (mut literal, mut quoted) = (String::new(), false);
    let mut characters = format.char_indices();
    while let Some((at, one)) = characters.next() {
        match one {
            '\n' | '\r' => return Err(FormatError { at: at + 1, what: "a line end".to_owned() }),
            '%' => {
                let rest = characters.as_str();
                let (token, length) = directive(rest).map_err(|what| FormatError { at: at + 1, what })?;
                match token {
                    Token::Text(text) => literal.push_str(&text),
                    token => {
                        tokens.extend((!literal.is_empty()).then(|| Token::Text(std::mem::take(&mut literal))));
                        let words =
                            matches!(token, Token::Request | Token::Env(_) | Token::Header(_) | Token::Field(_));
                        tokens.push(if words && !quoted { Token::Word(Box::new(token)) } else { token });
                    }
                }
                characters = format.char_indices();
                characters.by_ref().take_while(|(place, _)| *place < at + length).for_each(drop);
            }
            other => {
                quoted ^= other == '"';
                literal.push(other);
            }
        }
    }
    tokens.extend((!literal.is_empty()).then_some(Token::Text(literal)));
    Ok(tokens)
}

/// Reads a directive behind its `%`; gives it with its length in octets.
fn directive(rest: &str) -> Result<(Token, usize), String> {
    if let Some(inside) = rest.strip_prefix('{') {
        let (name, tail) = inside.split_once('}').ok_or("a { without }")?;
        let length = name.len() + 3;
        let token = match tail.chars().next() {
            Some('e') => Token::Env(name.to_owned()),
            Some('i') => Token::Header(name.to_owned()),
            Some('x') => Token::Field(field::find(name).ok_or_else(|| unknown_field(name))?),
            _ => return Err(format!("%{{{name}}} without e, i or x")),
        };
        return Ok((token, length));
    }
    let (plain, skipped) = rest.strip_prefix('>').map_or((rest, 0), |tail| (tail, 1));
    let token = match plain.chars().next() {
        Some('h' | 'a') => Token::Client,
        Some('l') => Token::Login,
        Some('u') => Token::User,
        Some('t') => Token::Time,
        Some('r') => Token::Request,
        Some('s') => Token::Status,
        Some('b') => Token::Size { dash: true },
        Some('B') => Token::Size { dash: false },
        Some('D') => Token::Microseconds,
        Some('T') => Token::Seconds,
        Some('%') => Token::Text("%".to_owned()),
        Some(other) => return Err(format!("unknown directive %{other}")),
        None => return Err("a % without directive".to_owned()),
    };
    Ok((token, 1 + skipped))
}

fn unknown_field(name: &str) -> String {
    let known: Vec<&str> = FIELDS.iter().map(|row| row.name).collect();
    format!("unknown field %{{{name}}}x (there are {})", known.join(", "))
}

/// Apache's escapes: nothing in the text can end a quoted field or a line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for octet in text.bytes() {
        match octet {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            b' '..=b'~' => out.push(char::from(octet)),
            _ => out.push_str(&format!("\\x{octet:02x}")),
        }
    }
    out
}

/// JSON whose strings hold nothing that any reader takes for the end of a line, or a terminal for an order.
fn one_line(json: &str) -> String {
    let ends_lines = |one: char| one.is_control() || matches!(one, '\u{2028}' | '\u{2029}');
    if !json.contains(ends_lines) {
        return json.to_owned();
    }
    let escape = |one: char| if ends_lines(one) { format!("\\u{:04x}", u32::from(one)) } else { one.to_string() };
    json.chars().map(escape).collect()
}

/// The same without blanks, for fields that stand outside quotes.
fn single_word(text: &str) -> String {
    escaped(text).replace(' ', "\\x20")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{log::Event, mail::Id};

    fn record() -> Record {
        let mut record = Record::new(Event::Message, Id::nil());
        record.time = "2011-08-08T17:30:34-04:00[America/New_York]".parse().unwrap();
        record.client = Some("10.0.0.10".parse().unwrap());
        record.user = Some("evan@example.com".to_owned());
        record.env.insert("RTUSER".to_owned(), "evan@example.com".to_owned());
        record.request = "SMTP from=<rt@example.com> to=<b@example.com>".to_owned();
        (record.status, record.size, record.outcome) = (Some(250), 46809, "delivered");
        record.header = vec![("User-Agent".to_owned(), "Mozilla/5.0 \"x\"\n250 forged".to_owned())];
        record
    }

    #[test]
    fn the_line_of_the_rt_patch() {
        let rt = "%h %l %{RTUSER}e %t \"%r\" %>s %b \"%{Referer}i\" \"%{User-Agent}i\"";
        let expected = "10.0.0.10 - evan@example.com [08/Aug/2011:17:30:34 -0400] \"SMTP from=<rt@example.com> to=<b@example.com>\" 250 46809 \"-\" \"Mozilla/5.0 \\\"x\\\"\\n250 forged\"";
        assert_eq!(Format::compile(rt).unwrap().line(&record()), expected);
        assert_eq!(Format::compile("combined-rt").unwrap().line(&record()), expected);
    }

    #[test]
    fn nobody_is_a_dash_and_blanks_do_not_split_a_word() {
        let mut record = record();
        record.user = Some("a user=root\u{1b}".to_owned());
        assert_eq!(Format::compile("%u é%%").unwrap().line(&record), "a\\x20user=root\\x1b é%");
        record.user = None;
        assert_eq!(Format::compile("%u %{login}x %{outcome}x").unwrap().line(&record), "- - delivered");
    }

    #[test]
    fn a_blank_parts_fields_outside_quotes_only() {
        let mut record = record();
        record.env.insert("RTUSER".to_owned(), "a b".to_owned());
        assert_eq!(Format::compile("%{RTUSER}e \"%{RTUSER}e\"").unwrap().line(&record), "a\\x20b \"a b\"");
    }

    #[test]
    fn json_has_every_field_once_and_holds_no_line_end() {
        let line = Format::compile("json").unwrap().line(&record());
        let value: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(value.as_object().unwrap().len(), FIELDS.len());
        assert_eq!(value["user_source"], "rule");
        assert!(!line.contains('\n'));
    }

    #[test]
    fn what_cannot_be_meant_is_an_error_with_its_place() {
        for (format, at) in [("%h %q", 4), ("%{Subject", 1), ("x %{nope}x", 3), ("%", 1), ("%h\n", 3), ("%{a}z", 1)] {
            assert_eq!(Format::compile(format).unwrap_err().at, at, "{format}");
        }
    }
}
