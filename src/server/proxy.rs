//! The PROXY protocol, versions 1 and 2: a proxy says first for whom it connects
//! (<https://www.haproxy.org/download/3.0/doc/proxy-protocol.txt>).
//!
//! The header is read to its last octet and no further, so that a handshake may follow.

use std::{io, net::IpAddr, time::Duration};

use proxy_header::{ParseConfig, ProxyHeader};
use tokio::{
    io::{AsyncRead, AsyncReadExt},
    time::timeout,
};

/// What a header of version 2 begins with, up to the length.
const SIGNATURE: &[u8] = b"\r\n\r\n\0\r\nQUIT\n";
/// Octets of a header of version 1 at most (section 2.1).
const LINE: usize = 107;
/// Octets of a header of version 2 at most, of which the addresses take 216 and the rest is said about the client.
const MOST: usize = 4096;
/// How long a proxy may take; it sends the header before all else, in one piece.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a proxy said of its client.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Proxied {
    /// The client's address; nothing when the proxy speaks for itself, as in its health checks, or does not know it.
    pub address: Option<IpAddr>,
    /// The version of TLS that the client speaks with the proxy.
    pub tls: Option<String>,
}

/// Why there is no header.
#[derive(Debug, thiserror::Error)]
pub enum ProxyFault {
    /// Something else came: its first octets.
    #[error("it begins with {0:?} and not with a PROXY header of version 1 or 2")]
    Missing(String),
    /// It is not of the form: what it is, as far as it is shown.
    #[error("its PROXY header cannot be read: {0}")]
    Malformed(String),
    /// It says that it has so many octets.
    #[error("its PROXY header has {0} octets; at most {MOST} are read")]
    TooLong(usize),
    /// The peer left, or was silent.
    #[error("its PROXY header did not come: {0}")]
    Silent(#[from] io::Error),
}

/// Reads the header.
///
/// # Errors
/// Why there is none; the connection is of no use then, and nothing is answered (section 2).
pub async fn read(stream: &mut (impl AsyncRead + Unpin)) -> Result<Proxied, ProxyFault> {
    timeout(PATIENCE, header(stream)).await.map_err(|_| io::Error::from(io::ErrorKind::TimedOut))?
}

/// Whether octets are, or may become, a header of either version.
pub fn is_header(octets: &[u8]) -> bool {
    octets.starts_with(SIGNATURE) || octets.starts_with(b"PROXY ")
}

async fn header(stream: &mut (impl AsyncRead + Unpin)) -> Result<Proxied, ProxyFault> {
    // Both versions have as many octets at least.
    let mut octets = vec![0; SIGNATURE.len()];
    stream.read_exact(&mut octets).await?;
    if octets == SIGNATURE {
        binary(stream, &mut octets).await?;
    } else if octets.starts_with(b"PROXY ") {
        line(stream, &mut octets).await?;
    } else {
        return Err(ProxyFault::Missing(shown(&octets)));
    }
    parse(&octets)
}

async fn binary(stream: &mut (impl AsyncRead + Unpin), octets: &mut Vec<u8>) -> Result<(), ProxyFault> {
    let mut rest = [0; 4];
    stream.read_exact(&mut rest).await?;
    octets.extend_from_slice(&rest);
    let [_, _, high, low] = rest;
    let length = usize::from(u16::from_be_bytes([high, low]));
    if octets.len() + length > MOST {
        return Err(ProxyFault::TooLong(octets.len() + length));
    }
    let start = octets.len();
    octets.resize(start + length, 0);
    stream.read_exact(octets.get_mut(start..).unwrap_or_default()).await?;
    Ok(())
}

async fn line(stream: &mut (impl AsyncRead + Unpin), octets: &mut Vec<u8>) -> Result<(), ProxyFault> {
    while !octets.ends_with(b"\r\n") {
        if octets.len() == LINE {
            return Err(ProxyFault::Malformed(format!("{} has no end", shown(octets))));
        }
        octets.push(stream.read_u8().await?);
    }
    Ok(())
}

fn parse(octets: &[u8]) -> Result<Proxied, ProxyFault> {
    let (header, _) = ProxyHeader::parse(octets, ParseConfig::default())
        .map_err(|error| ProxyFault::Malformed(format!("{} ({error})", shown(octets))))?;
    let tls = header.ssl().filter(|ssl| ssl.client_ssl());
    let version = |text: Option<&str>| text.filter(|text| is_word(text)).unwrap_or("TLS").to_owned();
    Ok(Proxied {
        address: header.proxied_address().map(|address| address.source.ip().to_canonical()),
        tls: tls.map(|ssl| version(ssl.version())),
    })
}

fn is_word(text: &str) -> bool {
    !text.is_empty() && text.len() <= 32 && text.bytes().all(|octet| octet.is_ascii_graphic())
}

fn shown(octets: &[u8]) -> String {
    octets.escape_ascii().to_string().chars().take(120).collect()
}

#[cfg(test)]
mod tests {
    use proxy_header::{ProxiedAddress, SslInfo, Tlv};

    use super::*;

    async fn heard(octets: &[u8]) -> (Result<Proxied, ProxyFault>, Vec<u8>) {
        let mut stream = octets;
        let result = header(&mut stream).await;
        (result, stream.to_vec())
    }

    fn client(text: &str) -> Proxied {
        Proxied { address: Some(text.parse().unwrap()), tls: None }
    }

    #[tokio::test]
    async fn both_versions_name_the_client_and_leave_what_follows() {
        for (header, expected) in [
            (&b"PROXY TCP4 203.0.113.7 192.0.2.1 4711 25\r\n"[..], client("203.0.113.7")),
            (b"PROXY TCP6 2001:db8::7 2001:db8::1 4711 25\r\n", client("2001:db8::7")),
            (b"PROXY TCP6 ::ffff:203.0.113.7 ::1 4711 25\r\n", client("203.0.113.7")),
            (b"PROXY UNKNOWN\r\n", Proxied::default()),
            (b"PROXY UNKNOWN ffff::1 ffff::2 1 2\r\n", Proxied::default()),
        ] {
            let (result, rest) = heard(&[header, b"EHLO x\r\n"].concat()).await;
            assert_eq!(result.unwrap(), expected, "{}", header.escape_ascii());
            assert_eq!(rest, b"EHLO x\r\n");
        }
        let address = ProxiedAddress::stream("203.0.113.7:1".parse().unwrap(), "192.0.2.1:25".parse().unwrap());
        let mut octets = Vec::new();
        ProxyHeader::with_address(address).encode_v2(&mut octets).unwrap();
        octets.extend_from_slice(b"\x16\x03\x01");
        let (result, rest) = heard(&octets).await;
        assert_eq!((result.unwrap(), rest.as_slice()), (client("203.0.113.7"), &b"\x16\x03\x01"[..]));
    }

    #[tokio::test]
    async fn a_proxy_may_say_that_its_client_speaks_tls() {
        let address = ProxiedAddress::stream("203.0.113.7:1".parse().unwrap(), "192.0.2.1:25".parse().unwrap());
        let cases = [(true, "TLSv1.3", Some("TLSv1.3")), (true, "a b", Some("TLS")), (false, "TLSv1.3", None)];
        for (client_ssl, version, expected) in cases {
            let mut ssl = SslInfo::new(client_ssl, false, false, 0);
            ssl.append_tlv(Tlv::SslVersion(version.into()));
            let mut octets = Vec::new();
            ProxyHeader::with_tlvs(Some(address.clone()), [Tlv::Ssl(ssl)]).encode_v2(&mut octets).unwrap();
            assert_eq!(heard(&octets).await.0.unwrap().tls.as_deref(), expected);
        }
    }

    #[tokio::test]
    async fn what_is_no_header_is_told_apart() {
        let endless = [&b"PROXY TCP4 "[..], &[b'1'; 200]].concat();
        let long = [SIGNATURE, b"\x21\x11\xff\xff"].concat();
        for (octets, expected) in [
            (&b"EHLO client.example\r\n"[..], "it begins with \"EHLO client.\" and not"),
            (b"PROXY TCP4 evil 192.0.2.1 1 2\r\n", "cannot be read: PROXY TCP4 evil"),
            (b"PROXY TCP9 1.2.3.4 192.0.2.1 1 2\r\n", "cannot be read"),
            (&endless, "has no end"),
            (&long, "has 65551 octets; at most 4096"),
            (b"PROXY", "did not come"),
            (b"PROXY TCP4 1.2", "did not come"),
        ] {
            let fault = heard(octets).await.0.unwrap_err().to_string();
            assert!(fault.contains(expected), "{fault}");
        }
    }
}
