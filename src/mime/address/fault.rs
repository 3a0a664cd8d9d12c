//! What is wrong with an address list.

/// A fault of an address list, told for the reader of a refusal.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Fault {
    /// No address at all.
    #[error("there is no address")]
    Empty,
    /// A name or a local part alone.
    #[error("an address has no @domain")]
    NoAt,
    /// Nothing before the `@`.
    #[error("an address has nothing before its @")]
    NoLocal,
    /// Nothing behind the `@`.
    #[error("an address has nothing behind its @")]
    NoDomain,
    /// Blanks, comments or controls in the local part, or a name where an address should be.
    #[error("a local part has blanks in it")]
    LocalBlank,
    /// A character that the local part cannot have.
    #[error("a local part has a character that it cannot have")]
    LocalIllegal,
    /// RFC 6531 local parts.
    #[error("a local part is not ASCII")]
    LocalNotAscii,
    /// Blanks, comments or controls in the domain.
    #[error("a domain has blanks in it")]
    DomainBlank,
    /// Not letters, digits and hyphens, nor an address literal.
    #[error("a domain has a character that it cannot have")]
    DomainIllegal,
    /// U-labels.
    #[error("a domain is not ASCII")]
    DomainNotAscii,
    /// `<@a,@b:c@d>` (RFC 5322 section 4.4).
    #[error("an address has a route")]
    Route,
    /// An angle bracket without its partner, or something behind it.
    #[error("an address is not closed, or something stands behind it")]
    Angle,
    /// A character that a display name has in quotes only (RFC 5322 section 3.2.3).
    #[error("a display name has a character that needs quotes")]
    Phrase,
    /// An encoded-word that is not legal where it stands (RFC 2047 section 5).
    #[error("an encoded-word is not legal where it stands")]
    Word,
    /// Octets outside ASCII in a name or comment.
    #[error("a name is not ASCII")]
    NotAscii,
    /// Controls in a name or comment, or between addresses.
    #[error("there is a control character")]
    Control,
    /// An empty place in the list, or a semicolon between addresses.
    #[error("the list has an empty place or a semicolon")]
    Separator,
    /// A group within a group, or one without end.
    #[error("a group is not closed")]
    Group,
}

/// A fault, and the address where it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Flaw<'a> {
    /// What is wrong.
    pub fault: Fault,
    /// The text of the address.
    pub near: &'a str,
}
