//! Names, comments and lists as RFC 5322 and RFC 2047 want them.

use super::token::{Kind, content, is_blank, is_special, lex};
use crate::header::{Piece, encode, mend_unstructured, preferred, printable};

/// Characters of a word that can still be folded.
const FOLDABLE: usize = 900;

/// Whether a word of a display name can only stand in quotes or encoded.
pub(super) fn is_foreign(word: &str) -> bool {
    !word.is_ascii()
        || word.contains(|one| is_special(one) || is_blank(one))
        || word.contains("=?")
        || word.len() > FOLDABLE
}

/// A display name: atoms, a quoted-string, or atoms and encoded-words.
pub(super) fn phrase(pieces: &[Piece<'_>]) -> String {
    let text = pieces.iter().map(text).collect::<Option<String>>();
    let text = text.map(|text| text.trim_matches([' ', '\t']).to_owned());
    let text = text.filter(|text| text.is_ascii() && !text.contains("=?"));
    match text {
        Some(text) if text.split(' ').all(|word| !word.is_empty() && !is_foreign(word)) || text.is_empty() => text,
        Some(text) if text.split([' ', '\t']).all(|word| word.len() <= FOLDABLE) => quoted(&text),
        _ => encode(&single_blanks(pieces)).trim_matches([' ', '\t']).to_owned(),
    }
}

/// The pieces with one blank beside a word that stays, where any number of them means one (RFC 5322 section 3.2.2).
fn single_blanks<'a>(pieces: &[Piece<'a>]) -> Vec<Piece<'a>> {
    let mut merged: Vec<Piece<'a>> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        match (merged.last_mut(), piece) {
            (_, Piece::Foreign(nothing)) if nothing.is_empty() => {}
            (Some(Piece::Blank(before)), Piece::Blank(more)) => before.to_mut().push_str(more),
            _ => merged.push(piece.clone()),
        }
    }
    let foreign: Vec<bool> = merged.iter().map(|piece| matches!(piece, Piece::Foreign(_))).collect();
    let is_foreign = |at: usize| foreign.get(at) == Some(&true);
    for (at, piece) in merged.iter_mut().enumerate() {
        if let Piece::Blank(blank) = piece
            && !(is_foreign(at.wrapping_sub(1)) && is_foreign(at + 1))
        {
            *blank = " ".into();
        }
    }
    merged
}

/// The text of a piece that is no encoded-word.
fn text<'p>(piece: &'p Piece<'_>) -> Option<&'p str> {
    match piece {
        Piece::Blank(text) | Piece::Plain(text) | Piece::Foreign(text) => Some(text),
        Piece::Encoded(_) => None,
    }
}

fn quoted(text: &str) -> String {
    escaped('"', text, '"')
}

/// A comment with its parentheses, its words encoded where they need it.
pub(super) fn comment(source: &str) -> String {
    let inside = printable(&content(source));
    escaped('(', &mend_unstructured(&inside).unwrap_or(inside), ')')
}

fn escaped(opening: char, text: &str, closing: char) -> String {
    let mut out = String::from(opening);
    for one in text.chars() {
        if one == opening || one == closing || one == '\\' {
            out.push('\\');
        }
        out.push(one);
    }
    out.push(closing);
    out
}

/// A field of that name and list with its final CRLF, folded behind commas; only an entry that is longer than a line is
/// folded between its words, and an address never.
pub fn folded(name: &str, list: &str) -> String {
    let mut field = format!("{name}:");
    let (mut column, most) = (field.len(), preferred(list));
    for entry in entries(list.trim_matches([' ', '\t'])) {
        let length: usize = entry.iter().map(String::len).sum();
        let mut breaks = column + length > most;
        for word in entry {
            let fits = column + word.len() <= most;
            if (breaks || !fits) && column > name.len() + 1 {
                field.push_str("\r\n");
                column = 0;
            }
            breaks = false;
            field.push_str(&word);
            column += word.len();
        }
    }
    field.push_str("\r\n");
    field
}

/// The entries of a list, each as its words with the blanks before them.
fn entries(list: &str) -> Vec<Vec<String>> {
    let mut entries: Vec<Vec<String>> = vec![vec![" ".to_owned()]];
    let mut before = None;
    for token in lex(list) {
        let Some(entry) = entries.last_mut() else { break };
        match (token.kind, before, entry.last_mut()) {
            (Kind::Blank, Some(Kind::Special(',')), _) => entries.push(vec![token.text.to_owned()]),
            (Kind::Blank, ..) | (_, _, None) => entry.push(token.text.to_owned()),
            (_, _, Some(word)) => word.push_str(token.text),
        }
        before = Some(token.kind);
    }
    entries
}
