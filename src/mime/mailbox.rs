//! The mailboxes of an address list (RFC 5322 section 3.4).

use mail_parser::{Addr, Address, HeaderValue, parsers::MessageStream};

/// One mailbox of a list.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mailbox {
    /// The display name, decoded; empty if there is none.
    pub name: String,
    /// The address; what stands there even if it is none.
    pub address: String,
}

/// The mailboxes of a field's value, those in groups too; an empty group has none. Folds are undone first: the parser
/// takes the line end of one inside a quoted string for the end of all.
pub fn mailboxes(value: &[u8]) -> Vec<Mailbox> {
    let mut octets: Vec<u8> = value.iter().copied().filter(|octet| !matches!(octet, b'\r' | b'\n')).collect();
    octets.push(b'\n');
    let HeaderValue::Address(list) = MessageStream::new(&octets).parse_address() else { return Vec::new() };
    let members: Vec<Addr<'_>> = match list {
        Address::List(members) => members,
        Address::Group(groups) => groups.into_iter().flat_map(|group| group.addresses).collect(),
    };
    let boxes = members.into_iter().filter_map(|one| {
        let address = one.address?.trim().to_owned();
        (!address.is_empty()).then(|| Mailbox { name: one.name.unwrap_or_default().into_owned(), address })
    });
    boxes.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses(value: &str) -> Vec<String> {
        mailboxes(value.as_bytes()).into_iter().map(|one| one.address).collect()
    }

    #[test]
    fn lists_and_groups() {
        assert_eq!(addresses(" Evan <evan@example.com>, b@example.com"), ["evan@example.com", "b@example.com"]);
        assert_eq!(addresses(" undisclosed-recipients:;"), [""; 0]);
        assert_eq!(addresses(" team: a@example.com, B <b@example.com>;"), ["a@example.com", "b@example.com"]);
        assert_eq!(addresses("evan@example.com"), ["evan@example.com"]);
        assert_eq!(addresses(""), [""; 0]);
        assert_eq!(addresses(" \"Evan,\r\n of RT\" <evan@example.com>"), ["evan@example.com"]);
    }
}
