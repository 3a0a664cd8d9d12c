//! TLS to a mail server: rustls with aws-lc-rs, certificates checked against the system's authorities or `ca_file`.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, pem::PemObject},
};
use tokio_rustls::TlsConnector;

/// A connector that trusts the authorities of that file, or without one those of the system.
///
/// # Errors
/// There are no authorities to trust, in words for the operator.
pub(in crate::upstream) fn connector(ca_file: &Path) -> Result<TlsConnector, String> {
    let roots = if ca_file.as_os_str().is_empty() { system()? } else { from_file(ca_file)? };
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("TLS: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(TlsConnector::from(Arc::new(config)))
}

fn system() -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if roots.is_empty() {
        return Err("this system has no certificates of authorities; install ca-certificates or set ca_file".to_owned());
    }
    Ok(roots)
}

fn from_file(path: &Path) -> Result<RootCertStore, String> {
    let wrong = |why: String| format!("ca_file {}: {why}", path.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))? {
        let certificate = certificate.map_err(|error| wrong(error.to_string()))?;
        roots.add(certificate).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() { Err(wrong("there is no certificate in it".to_owned())) } else { Ok(roots) }
}
