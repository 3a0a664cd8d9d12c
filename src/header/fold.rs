//! Folding of what we write ourselves (RFC 5322 sections 2.1.1 and 2.2.3).

/// Characters that a line of a value should not exceed: 78, and 76 where there are encoded-words (RFC 2047 section 2).
pub fn preferred(value: &str) -> usize {
    if value.contains("=?") { 76 } else { 78 }
}

/// A field of that name and value with its final CRLF, broken at white space so that lines stay at [`preferred`]
/// characters where that is possible. The value holds no line ends.
pub fn fold(name: &str, value: &str) -> String {
    let mut field = format!("{name}:");
    let mut column = field.len();
    let mut rest = value.trim_matches([' ', '\t']);
    let mut first = true;
    let most = preferred(value);
    while !rest.is_empty() {
        let blanks = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let word = rest.get(blanks..).and_then(|text| text.find([' ', '\t'])).map_or(rest.len(), |at| blanks + at);
        let (piece, tail) = rest.split_at(word);
        let gap = usize::from(first);
        if !first && column + piece.len() > most {
            field.push_str("\r\n");
            column = 0;
        }
        field.push_str(if first { " " } else { "" });
        field.push_str(piece);
        column += piece.len() + gap;
        (rest, first) = (tail, false);
    }
    field.push_str("\r\n");
    field
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_value_stays_on_its_line() {
        assert_eq!(fold("Subject", " hi  there "), "Subject: hi  there\r\n");
        assert_eq!(fold("Subject", ""), "Subject:\r\n");
    }

    #[test]
    fn a_long_value_is_broken_at_blanks_and_unfolds_to_itself() {
        let value = "word ".repeat(60) + &"x".repeat(200) + " end";
        let field = fold("Subject", &value);
        assert!(field.split("\r\n").all(|line| line.len() <= 78 || line.contains(&"x".repeat(200))));
        assert!(field.split("\r\n").skip(1).filter(|line| !line.is_empty()).all(|line| line.starts_with(' ')));
        assert_eq!(field.replace("\r\n", ""), format!("Subject: {}", value.trim()));
    }
}
