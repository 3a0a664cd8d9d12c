//! TLS for a client that knows none: a thread between it and the server.

use std::{
    io,
    net::{Ipv4Addr, TcpListener, TcpStream},
    path::Path,
    sync::{Arc, mpsc},
    thread,
};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, IpAddr, ServerName, pem::PemObject},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Does the handshake on a connection to 127.0.0.1, whose certificate has to be of that authority; gives a connection on
/// which clear text goes into TLS and out of it.
pub fn within_tls(server: TcpStream, ca_file: &Path) -> io::Result<TcpStream> {
    let config = trusting(ca_file);
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let client = TcpStream::connect(listener.local_addr()?)?;
    let (clear, _) = listener.accept()?;
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        runtime.block_on(async {
            match shake(server, config).await {
                Ok(mut secured) => {
                    let _ = tell.send(Ok(()));
                    let mut clear = tokio_stream(clear).expect("a connection of one's own");
                    let _ = tokio::io::copy_bidirectional(&mut secured, &mut clear).await;
                }
                Err(error) => drop(tell.send(Err(error))),
            }
        });
    });
    told.recv().expect("the thread tells")?;
    client.set_nodelay(true)?;
    Ok(client)
}

fn trusting(ca_file: &Path) -> Arc<ClientConfig> {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(ca_file).expect("openssl wrote it")).expect("an authority");
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().expect("the provider's own versions");
    Arc::new(builder.with_root_certificates(roots).with_no_client_auth())
}

async fn shake(server: TcpStream, config: Arc<ClientConfig>) -> io::Result<TlsStream<tokio::net::TcpStream>> {
    let name = ServerName::IpAddress(IpAddr::from(std::net::IpAddr::from(Ipv4Addr::LOCALHOST)));
    TlsConnector::from(config).connect(name, tokio_stream(server)?).await
}

fn tokio_stream(stream: TcpStream) -> io::Result<tokio::net::TcpStream> {
    stream.set_nonblocking(true)?;
    tokio::net::TcpStream::from_std(stream)
}
