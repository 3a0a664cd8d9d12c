//! A certificate authority of one test, made with the `openssl` command, and a server's certificate of it.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::Arc,
};

use rustls::{
    ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
};
use tempfile::TempDir;

use super::fed;

/// An authority with the certificate of one server.
pub struct Authority {
    folder: TempDir,
}

impl Authority {
    /// One whose server is known by these names, as in `DNS:localhost,IP:127.0.0.1`.
    ///
    /// # Panics
    /// When openssl is not installed.
    pub fn new(names: &str) -> Self {
        Self::with_key(names, "ec -pkeyopt ec_paramgen_curve:prime256v1")
    }

    /// The same with keys of another kind, as `openssl req -newkey` is told it: `rsa:2048`.
    ///
    /// # Panics
    /// When openssl is not installed.
    pub fn with_key(names: &str, kind: &str) -> Self {
        let folder = tempfile::tempdir().expect("/tmp is writable");
        let run = |arguments: &str| openssl(folder.path(), arguments);
        let key = format!("-newkey {kind} -nodes");
        run(&format!("req -x509 {key} -keyout ca.key -out ca.pem -days 2 -subj /CN=Test-CA"));
        run(&format!("req {key} -keyout server.key -out server.csr -subj /CN=server"));
        let extensions = format!("subjectAltName={names}\nbasicConstraints=CA:FALSE\n");
        fs::write(folder.path().join("extensions"), extensions).expect("one's own folder is writable");
        run(
            "x509 -req -in server.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile extensions -out server.pem",
        );
        Self { folder }
    }

    /// The authority's certificate, in PEM.
    pub fn ca_file(&self) -> PathBuf {
        self.folder.path().join("ca.pem")
    }

    /// The server's certificate, in PEM.
    pub fn certificate(&self) -> PathBuf {
        self.folder.path().join("server.pem")
    }

    /// The server's key, in PEM.
    pub fn key(&self) -> PathBuf {
        self.folder.path().join("server.key")
    }

    /// What openssl's client gives out and says when it speaks these lines within TLS to 127.0.0.1:`port`, whose
    /// certificate it checks; further arguments are as in `-starttls smtp`.
    ///
    /// # Panics
    /// When openssl is not installed.
    pub fn client(&self, port: u16, arguments: &str, lines: &str) -> Output {
        let mut command = Command::new("openssl");
        command.args(["s_client", "-connect", &format!("127.0.0.1:{port}"), "-quiet", "-verify_ip", "127.0.0.1"]);
        command.args(["-verify_return_error", "-CAfile", "ca.pem"]).args(arguments.split_whitespace());
        fed(command.current_dir(self.folder.path()), lines.as_bytes())
    }

    /// What a server of rustls needs.
    pub fn server(&self) -> Arc<ServerConfig> {
        let certificate = CertificateDer::from_pem_file(self.certificate()).expect("openssl wrote it");
        let key = PrivateKeyDer::from_pem_file(self.key()).expect("openssl wrote it");
        let builder = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
        let builder = builder.with_safe_default_protocol_versions().expect("the provider's own versions");
        let config = builder.with_no_client_auth().with_single_cert(vec![certificate], key);
        Arc::new(config.expect("a certificate and its key"))
    }
}

fn openssl(folder: &Path, arguments: &str) {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).current_dir(folder).stdin(Stdio::null());
    let output = command.output().unwrap_or_else(|error| {
        panic!("{command:?} does not start: {error}; `scripts/install test` installs what tests need")
    });
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}
