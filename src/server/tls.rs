//! TLS towards clients: the certificate in use, and the handshake.
//!
//! Files come in, and streams; a [`Wire`] within TLS and the name of its version go out. It knows nothing of SMTP. What
//! the files hold may be exchanged at any time: each handshake takes what is in use then, and what runs goes on with what
//! it began with.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
};

use rustls::{
    Error, InconsistentKeys, RootCertStore, ServerConfig, SupportedProtocolVersion,
    crypto::{CryptoProvider, aws_lc_rs},
    pki_types::{
        CertificateDer, PrivateKeyDer,
        pem::{self, PemObject},
    },
    server::{WebPkiClientVerifier, danger::ClientCertVerifier},
    sign::{CertifiedKey, SingleCertAndKey},
    version::{TLS12, TLS13},
};
use tokio_rustls::TlsAcceptor;

use super::wire::Wire;

/// `[tls]`: the certificate that listeners with TLS show.
#[derive(Clone, Default, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct TlsSettings {
    /// The certificate in PEM, those of the authorities between behind it; read anew on SIGHUP and when it changes.
    pub certificate: PathBuf,
    /// Its key in PEM; empty when the file of the certificate holds it too.
    pub private_key: PathBuf,
    /// The oldest version of TLS that is spoken.
    pub min_version: MinVersion,
    /// Authorities in PEM: with it, TLS is for clients with a certificate of one of them; empty asks for none.
    pub client_ca: PathBuf,
}

/// The oldest version of TLS that is spoken; what is older than 1.2 is not to be used (RFC 8996).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
pub enum MinVersion {
    /// TLS 1.2 (RFC 5246).
    #[default]
    #[serde(rename = "1.2")]
    Tls12,
    /// TLS 1.3 (RFC 8446).
    #[serde(rename = "1.3")]
    Tls13,
}

impl MinVersion {
    fn and_newer(self) -> Vec<&'static SupportedProtocolVersion> {
        match self {
            Self::Tls12 => vec![&TLS13, &TLS12],
            Self::Tls13 => vec![&TLS13],
        }
    }
}

/// What is wrong with the files of `[tls]`.
#[derive(Debug, thiserror::Error)]
#[error("tls.{key}: {message}")]
pub struct TlsFault {
    /// The key of `[tls]` whose file it is.
    pub key: &'static str,
    /// What is wrong, and what would be right.
    pub message: String,
    /// Whether another user may read what this one may not.
    pub is_forbidden: bool,
}

impl TlsSettings {
    /// The paths that are given.
    pub fn paths_mut(&mut self) -> impl Iterator<Item = &mut PathBuf> {
        let all = [&mut self.certificate, &mut self.private_key, &mut self.client_ca];
        all.into_iter().filter(|path| !path.as_os_str().is_empty())
    }

    /// Whether there is a certificate.
    pub fn is_given(&self) -> bool {
        !self.certificate.as_os_str().is_empty()
    }

    /// Reads the files and sees whether they can be used together.
    ///
    /// # Errors
    /// The first file that cannot be used.
    pub fn check(&self) -> Result<(), TlsFault> {
        self.server().map(drop)
    }

    fn server(&self) -> Result<Arc<ServerConfig>, TlsFault> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let certified = self.certified(&provider)?;
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder
            .with_protocol_versions(&self.min_version.and_newer())
            .map_err(|error| fault("min_version", error.to_string()))?;
        let builder = match self.clients(provider)? {
            Some(verifier) => builder.with_client_cert_verifier(verifier),
            None => builder.with_no_client_auth(),
        };
        Ok(Arc::new(builder.with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)))))
    }

    fn certified(&self, provider: &CryptoProvider) -> Result<CertifiedKey, TlsFault> {
        let chain = certificates("certificate", &self.certificate)?;
        let path = if self.private_key.as_os_str().is_empty() { &self.certificate } else { &self.private_key };
        let unusable = |why: &dyn fmt::Display| fault("private_key", format!("{}: {why}", path.display()));
        let key = PrivateKeyDer::from_pem_file(path).map_err(|error| no_key(path, error))?;
        let key = provider.key_provider.load_private_key(key).map_err(|error| unusable(&error))?;
        let certified = CertifiedKey::new(chain, key);
        match certified.keys_match() {
            Ok(()) | Err(Error::InconsistentKeys(InconsistentKeys::Unknown)) => Ok(certified),
            Err(Error::InconsistentKeys(_)) => {
                let text = format!("it is not the key of the certificate in {}", self.certificate.display());
                Err(unusable(&text))
            }
            Err(_) => {
                let text = format!("{}: the first certificate in it is damaged", self.certificate.display());
                Err(fault("certificate", text))
            }
        }
    }

    /// Who sees whether the clients' certificates are good, if they need one.
    fn clients(&self, provider: Arc<CryptoProvider>) -> Result<Option<Arc<dyn ClientCertVerifier>>, TlsFault> {
        if self.client_ca.as_os_str().is_empty() {
            return Ok(None);
        }
        let wrong = |why: &dyn fmt::Display| fault("client_ca", format!("{}: {why}", self.client_ca.display()));
        let mut roots = RootCertStore::empty();
        for certificate in certificates("client_ca", &self.client_ca)? {
            roots.add(certificate).map_err(|_| wrong(&"a certificate in it is damaged"))?;
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        verifier.map(Some).map_err(|error| wrong(&error))
    }
}

fn certificates(key: &'static str, path: &Path) -> Result<Vec<CertificateDer<'static>>, TlsFault> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let all = read.map_err(|error| unreadable(key, path, &error))?;
    if all.is_empty() {
        let text = "there is no certificate in it; one begins with -----BEGIN CERTIFICATE-----";
        return Err(fault(key, format!("{}: {text}", path.display())));
    }
    Ok(all)
}

fn no_key(path: &Path, error: pem::Error) -> TlsFault {
    if !matches!(error, pem::Error::NoItemsFound) {
        return unreadable("private_key", path, &error);
    }
    let sealed = std::fs::read(path).is_ok_and(|octets| memchr::memmem::find(&octets, b"ENCRYPTED").is_some());
    let text = if sealed {
        "its key has a password; `openssl pkey -in KEY -out OPEN` takes it off"
    } else {
        "there is no key in it; one begins with -----BEGIN PRIVATE KEY-----"
    };
    fault("private_key", format!("{}: {text}", path.display()))
}

fn unreadable(key: &'static str, path: &Path, error: &pem::Error) -> TlsFault {
    match error {
        pem::Error::Io(error) => TlsFault {
            is_forbidden: error.kind() == io::ErrorKind::PermissionDenied,
            ..fault(key, format!("cannot read {}: {error}", path.display()))
        },
        pem::Error::MissingSectionEnd { .. } => {
            fault(key, format!("{}: it is cut off: a section has no line -----END …-----", path.display()))
        }
        pem::Error::IllegalSectionStart { .. } => {
            fault(key, format!("{}: a line -----BEGIN …----- is damaged", path.display()))
        }
        error => fault(key, format!("{}: {error}", path.display())),
    }
}

fn fault(key: &'static str, message: String) -> TlsFault {
    TlsFault { key, message, is_forbidden: false }
}

/// The certificate in use, with all else that a handshake needs.
#[derive(Debug)]
pub struct Certificates {
    settings: TlsSettings,
    current: RwLock<Arc<ServerConfig>>,
}

impl Certificates {
    /// Reads what the settings name; `None` if they name no certificate.
    ///
    /// # Errors
    /// A file that cannot be used.
    pub fn open(settings: &TlsSettings) -> Result<Option<Arc<Self>>, TlsFault> {
        if !settings.is_given() {
            return Ok(None);
        }
        let current = RwLock::new(settings.server()?);
        Ok(Some(Arc::new(Self { settings: settings.clone(), current })))
    }

    /// Reads the files again; when one cannot be used all stays as it is.
    ///
    /// # Errors
    /// A file that cannot be used.
    pub fn reload(&self) -> Result<(), TlsFault> {
        let new = self.settings.server()?;
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = new;
        Ok(())
    }

    /// The handshake with a client: what lies within, and the version, such as `TLSv1.3`.
    pub(super) async fn accept(&self, stream: Wire) -> io::Result<(Wire, &'static str)> {
        let current = Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner));
        let stream = TlsAcceptor::from(current).accept(stream).await?;
        let version = match stream.get_ref().1.protocol_version() {
            Some(rustls::ProtocolVersion::TLSv1_3) => "TLSv1.3",
            _ => "TLSv1.2",
        };
        Ok((Box::new(stream), version))
    }
}
