//! The header of the PROXY protocol: whatever a peer sends, it is read or refused, and nothing behind it is touched.

#![no_main]

use headgate::server::proxy::{is_header, read};
use libfuzzer_sys::fuzz_target;
use tokio::runtime::{Builder, Runtime};

/// Octets of a header at most.
const MOST: usize = 4096;

thread_local! {
    static RUNTIME: Runtime = Builder::new_current_thread().enable_time().build().expect("a runtime");
}

fuzz_target!(|octets: &[u8]| {
    let mut rest = octets;
    let heard = RUNTIME.with(|runtime| runtime.block_on(read(&mut rest)));
    let taken = octets.len() - rest.len();
    assert!(taken <= MOST);
    let Ok(proxied) = heard else { return };
    assert!(is_header(octets), "what is no header is refused");
    if octets.starts_with(b"PROXY ") {
        assert!(taken <= 107 && octets[..taken].ends_with(b"\r\n"));
        assert_eq!(proxied.tls, None, "a line tells of no TLS");
    } else {
        assert_eq!(taken, 16 + usize::from(u16::from_be_bytes([octets[14], octets[15]])));
    }
    if let Some(version) = proxied.tls {
        assert!((1..=32).contains(&version.len()) && version.bytes().all(|octet| octet.is_ascii_graphic()));
    }
    // What stands behind the header makes no difference.
    let mut alone = &octets[..taken];
    let again = RUNTIME.with(|runtime| runtime.block_on(read(&mut alone))).expect("the same header");
    assert_eq!((again.address, alone.len()), (proxied.address, 0));
});
