//! Where the parts of a message lie (RFC 2045, RFC 2046): spans in its octets, none of which is copied.
//!
//! The walker takes mail as it is: a last boundary may be missing, lines may end in any way, fields may be malformed. What
//! it cannot understand is opaque: a part of which no more is known than where it lies. It takes linear time.

use std::ops::Range;

use bytes::Bytes;

use crate::header::{self, Header};

use super::{Encoding, Grammar, Value, delimiter::delimiters};

/// Parts within parts that are looked into.
pub const DEPTH: usize = 32;
/// Parts of a message that are looked at.
const PARTS: usize = 1000;
/// Octets of a part's header that are read.
const HEADER: usize = 1024 * 1024;

/// The parts of a message, each before those in it.
#[derive(Clone, Debug)]
pub struct Parts {
    /// The message itself first.
    pub list: Vec<Part>,
    /// Whether these are all; no message that makes sense has more.
    pub complete: bool,
}

/// One part, or the message itself.
#[derive(Clone, Debug)]
pub struct Part {
    /// Its place in the list, and that of the part which holds it.
    pub parent: Option<usize>,
    /// Its place among its siblings, from 1.
    pub ordinal: usize,
    /// Its header without the empty line; of the message itself nothing.
    pub header: Range<usize>,
    /// Its body.
    pub body: Range<usize>,
    /// Its type, in lower case, which may be a default.
    pub media_type: String,
    /// How its body is encoded.
    pub encoding: Encoding,
    /// What is in its body.
    pub shape: Shape,
    /// Whether a signature or encryption around it covers its octets.
    pub sealed: bool,
}

/// What is in a body.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Content.
    Leaf,
    /// Parts, with what nobody is shown before and behind them.
    Multipart {
        /// What stands before the first delimiter.
        preamble: Range<usize>,
        /// What stands behind the last one.
        epilogue: Range<usize>,
    },
    /// A message, the one part in it.
    Message,
    /// Something that is not understood or may not be encoded.
    Opaque,
}

impl Parts {
    /// Finds the parts of a message; the spans are in `rest`, which is the empty line and the body.
    pub fn of(header: &Header, rest: &Bytes) -> Self {
        let mut walker = Walker { rest, list: Vec::new(), complete: true };
        let body = empty_line(rest)..rest.len();
        walker.add(header, Place { parent: None, ordinal: 1, header: 0..0, body, media_type: PLAIN }, 0);
        Self { list: walker.list, complete: walker.complete }
    }

    /// Whether a message is one part alone; told by the beginning of its type, for most messages without a doubt.
    pub fn are_one(header: &Header) -> bool {
        let is_text =
            |at| header.raw(at).trim_ascii_start().get(..5).is_some_and(|kind| kind.eq_ignore_ascii_case(TEXT));
        // Without a type, or with several, nothing is looked into.
        sole(header, "Content-Type").ok().flatten().is_none_or(is_text)
    }

    /// The section number of a part, such as `2.1`; empty for the message itself.
    pub fn number(&self, index: usize) -> String {
        let (mut numbers, mut at) = (Vec::new(), self.list.get(index));
        while let Some((part, parent)) = at.and_then(|part| Some((part, self.list.get(part.parent?)?))) {
            if parent.shape != Shape::Message {
                numbers.push(part.ordinal.to_string());
            }
            at = Some(parent);
        }
        numbers.reverse();
        numbers.join(".")
    }

    /// Whether a part is a message with a header of its own: the message itself, or one within.
    pub fn is_message(&self, index: usize) -> bool {
        match self.list.get(index).map(|part| part.parent) {
            Some(Some(parent)) => self.list.get(parent).is_some_and(|parent| parent.shape == Shape::Message),
            found => found.is_some(),
        }
    }
}

/// The type of a body that names none (RFC 2045 section 5.2), and within multipart/digest (RFC 2046 section 5.1.5).
const PLAIN: &str = "text/plain";
const TEXT: &[u8] = b"text/";
const MESSAGE: &str = "message/rfc822";

/// Octets of the empty line that a body follows.
fn empty_line(rest: &[u8]) -> usize {
    header::lines(rest).next().filter(|line| line.content_end == line.start).map_or(0, |line| line.end)
}

/// Where a part is found, and its type if it names none.
struct Place {
    parent: Option<usize>,
    ordinal: usize,
    header: Range<usize>,
    body: Range<usize>,
    media_type: &'static str,
}

struct Walker<'a> {
    rest: &'a Bytes,
    list: Vec<Part>,
    complete: bool,
}

impl Walker<'_> {
    fn add(&mut self, header: &Header, place: Place, depth: usize) {
        if self.list.len() >= PARTS {
            self.complete = false;
            return;
        }
        let (types, encodings) = (sole(header, "Content-Type"), sole(header, "Content-Transfer-Encoding"));
        let content = types.ok().flatten().map(|at| Value::read(Grammar::Type, header.raw(at)));
        let media_type = match &content {
            Some(content) => content.first.as_deref().unwrap_or(PLAIN).to_ascii_lowercase(),
            None => place.media_type.to_owned(),
        };
        let encoding = encodings.ok().flatten().map_or(Encoding::Identity, |at| Encoding::read(header.raw(at)));
        let boundary = content.and_then(|content| content.boundary());
        let clear = types.is_ok() && encodings.is_ok() && depth < DEPTH && place.header.len() <= HEADER;
        let around = place.parent.and_then(|parent| self.list.get(parent));
        let sealed = around.is_some_and(|around| around.sealed || seals(&around.media_type));
        let index = self.list.len();
        let body = place.body.clone();
        self.list.push(Part {
            parent: place.parent,
            ordinal: place.ordinal,
            header: place.header,
            body: place.body,
            media_type,
            encoding,
            shape: Shape::Opaque,
            sealed,
        });
        if clear {
            let shape = self.look_into(index, body, (boundary, depth));
            if let Some(part) = self.list.get_mut(index) {
                part.shape = shape;
            }
        }
    }

    /// The shape of a part, whose parts are added.
    fn look_into(&mut self, index: usize, body: Range<usize>, (boundary, depth): (Option<Vec<u8>>, usize)) -> Shape {
        let Some(part) = self.list.get(index) else { return Shape::Opaque };
        let identity = part.encoding == Encoding::Identity;
        match part.media_type.split_once('/') {
            Some(("multipart", subtype)) => {
                let default = if subtype == "digest" { MESSAGE } else { PLAIN };
                let boundary = boundary.unwrap_or_default();
                self.multipart((index, default), body, (boundary.trim_ascii_end(), depth))
            }
            Some(("message", "rfc822" | "global" | "news")) if identity => {
                if let Some(part) = self.list.get_mut(index) {
                    part.shape = Shape::Message;
                }
                self.child(
                    Place { parent: Some(index), ordinal: 1, header: body, body: 0..0, media_type: PLAIN },
                    depth,
                );
                Shape::Message
            }
            Some(("message", _)) if identity => Shape::Opaque,
            _ => Shape::Leaf,
        }
    }

    fn multipart(
        &mut self,
        (index, media_type): (usize, &'static str),
        body: Range<usize>,
        (boundary, depth): (&[u8], usize),
    ) -> Shape {
        let rest = self.rest.clone();
        let octets = rest.get(body.clone()).unwrap_or_default();
        if boundary.is_empty() || boundary.iter().any(u8::is_ascii_control) {
            return Shape::Opaque;
        }
        let mut all = delimiters(octets, boundary);
        let Some(first) = all.next().filter(|first| !first.closes) else { return Shape::Opaque };
        let (mut last, mut ordinal) = (first, 0);
        while !last.closes && self.complete {
            let next = all.next();
            let end = next.map_or(octets.len(), |next| next.before).max(last.after);
            ordinal += 1;
            let whole = body.start + last.after..body.start + end;
            self.child(Place { parent: Some(index), ordinal, header: whole, body: 0..0, media_type }, depth);
            let Some(next) = next else { break };
            last = next;
        }
        let epilogue = if last.closes { body.start + last.after..body.end } else { body.end..body.end };
        Shape::Multipart { preamble: body.start..body.start + first.line, epilogue }
    }

    /// Adds what lies in a span: a header and a body.
    fn child(&mut self, place: Place, depth: usize) {
        let whole = place.header;
        let message = header::split(&self.rest.slice(whole.clone()));
        let header = whole.start..whole.start + message.head.len();
        let body = header.end + empty_line(&message.rest)..whole.end;
        let head = if header.len() > HEADER { Bytes::new() } else { message.head };
        self.add(&Header::parse(&head), Place { header, body, ..place }, depth + 1);
    }
}

/// The only field of that name; an error if there are several, of which readers may choose any.
fn sole(header: &Header, name: &str) -> Result<Option<usize>, Several> {
    let mut found = header.find(name);
    let first = found.next();
    if found.next().is_some() { Err(Several) } else { Ok(first) }
}

/// There are several fields where one should be.
#[derive(Clone, Copy)]
struct Several;

/// Whether a multipart covers the octets of its parts (RFC 1847).
fn seals(media_type: &str) -> bool {
    matches!(media_type, "multipart/signed" | "multipart/encrypted")
}

#[cfg(test)]
#[path = "part_tests.rs"]
mod tests;
