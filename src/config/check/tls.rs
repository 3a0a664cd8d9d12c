//! What must hold for `[tls]` and the listeners that use it; the files it names are read.

use crate::{
    config::Settings,
    server::{Tls, TlsSettings},
};

use super::Checker;

pub(super) fn check(checker: &mut Checker<'_>, settings: &Settings) {
    let tls = &settings.tls;
    if tls.is_given() {
        files(checker, tls);
        return;
    }
    for (index, listener) in settings.listeners.iter().enumerate().filter(|(_, one)| one.tls != Tls::None) {
        let text = format!("listener {} needs a certificate; name its file in certificate of [tls]", listener.name);
        checker.fault(&["listener".into(), index.into(), "tls".into()], &text);
    }
    for (key, path) in [("private_key", &tls.private_key), ("client_ca", &tls.client_ca)] {
        if !path.as_os_str().is_empty() {
            checker.fault(&["tls".into(), key.into()], &format!("a {key} goes with a certificate"));
        }
    }
}

fn files(checker: &mut Checker<'_>, tls: &TlsSettings) {
    match tls.check() {
        // One who only hands in mail may not read the key; the gateway tells when it is not for itself either.
        Err(fault) if !fault.is_forbidden => checker.fault(&["tls".into(), fault.key.into()], &fault.message),
        _ => {}
    }
}
