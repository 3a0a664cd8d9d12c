//! How long a certificate is valid (RFC 5280 section 4.1.2.5).
//!
//! Octets in DER go in, a [`Validity`] comes out. It checks nothing: whether a certificate is to be trusted is for
//! rustls to say, which does not tell the dates.

use jiff::{Timestamp, civil::DateTime, tz::TimeZone};

use super::Validity;

const INTEGER: u8 = 0x02;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const SEQUENCE: u8 = 0x30;
/// `[0]`, in which the version stands.
const VERSION: u8 = 0xa0;

/// The time within which a certificate is valid; `None` of what is none.
pub(super) fn validity(certificate: &[u8]) -> Option<Validity> {
    let whole = Reader(certificate).take(SEQUENCE)?;
    let mut fields = Reader(Reader(whole).take(SEQUENCE)?);
    if fields.0.first() == Some(&VERSION) {
        fields.take(VERSION)?;
    }
    // serialNumber, signature, issuer.
    for tag in [INTEGER, SEQUENCE, SEQUENCE] {
        fields.take(tag)?;
    }
    let mut times = Reader(fields.take(SEQUENCE)?);
    Some(Validity { from: times.time()?, until: times.time()? })
}

/// Octets that are not read yet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    /// The contents of the next element, which has to have that tag.
    fn take(&mut self, tag: u8) -> Option<&'a [u8]> {
        let (found, contents) = self.element()?;
        (found == tag).then_some(contents)
    }

    /// Tag and contents of the next element (X.690 section 8.1; in DER lengths are definite).
    fn element(&mut self) -> Option<(u8, &'a [u8])> {
        let (tag, rest) = self.0.split_first()?;
        let (first, rest) = rest.split_first()?;
        let (length, rest) = match first {
            short @ 0..0x80 => (usize::from(*short), rest),
            long => {
                let (octets, rest) = rest.split_at_checked(usize::from(long & 0x7f))?;
                // No certificate needs more.
                let fits = (1..=4).contains(&octets.len());
                let length = octets.iter().fold(0, |length, octet| length << 8 | usize::from(*octet));
                (fits.then_some(length)?, rest)
            }
        };
        let (contents, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((*tag, contents))
    }

    /// YYMMDDHHMMSSZ, which ends with the year 2049, or YYYYMMDDHHMMSSZ.
    fn time(&mut self) -> Option<Timestamp> {
        let (tag, contents) = self.element()?;
        let text = std::str::from_utf8(contents).ok()?.strip_suffix('Z')?;
        let text = match tag {
            UTC_TIME if text.get(..2)? < "50" => format!("20{text}"),
            UTC_TIME => format!("19{text}"),
            GENERALIZED_TIME => text.to_owned(),
            _ => return None,
        };
        let time = DateTime::strptime("%Y%m%d%H%M%S", text).ok()?;
        TimeZone::UTC.to_timestamp(time).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An element of DER.
    fn element(tag: u8, contents: &[u8]) -> Vec<u8> {
        let length = u8::try_from(contents.len()).unwrap();
        let length = if length < 0x80 { vec![length] } else { vec![0x81, length] };
        [&[tag], length.as_slice(), contents].concat()
    }

    fn certificate(times: &[u8], version: bool) -> Vec<u8> {
        let version = if version { element(VERSION, &element(INTEGER, &[2])) } else { Vec::new() };
        let issuer = element(SEQUENCE, &[b'i'; 130]);
        let fields =
            [version, element(INTEGER, &[1]), element(SEQUENCE, b""), issuer, element(SEQUENCE, times)].concat();
        element(SEQUENCE, &element(SEQUENCE, &fields))
    }

    #[test]
    fn both_forms_of_time_are_read() {
        let times = [element(UTC_TIME, b"991231235959Z"), element(GENERALIZED_TIME, b"20500102030405Z")].concat();
        for version in [true, false] {
            let found = validity(&certificate(&times, version)).unwrap();
            assert_eq!(found.from.to_string(), "1999-12-31T23:59:59Z");
            assert_eq!(found.until.to_string(), "2050-01-02T03:04:05Z");
            assert!(found.holds("2026-01-01T00:00:00Z".parse().unwrap()));
            assert!(!found.holds("2051-01-01T00:00:00Z".parse().unwrap()));
        }
    }

    #[test]
    fn what_is_no_certificate_has_no_dates() {
        let times = [element(UTC_TIME, b"260101000000Z"), element(UTC_TIME, b"270101000000Z")].concat();
        let whole = certificate(&times, true);
        assert!(validity(&whole).is_some());
        for length in 0..whole.len() {
            assert_eq!(validity(&whole[..length]), None, "{length}");
        }
        for wrong in [&b"261301000000Z"[..], b"260101000000", b"2601010000Z", b"\xff60101000000Z"] {
            let times = [element(UTC_TIME, wrong), element(UTC_TIME, b"270101000000Z")].concat();
            assert_eq!(validity(&certificate(&times, true)), None);
        }
        assert_eq!(validity(b"\x30\x85\x01\x01\x01\x01\x01"), None);
    }
}
