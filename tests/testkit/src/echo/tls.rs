//! TLS of an echo server. What the handshake says goes into the answer as headers of the request that no client sent.

use std::sync::Arc;

use anyhow::Context;
pub use const_hex::encode as hex;
use hyper::HeaderMap;
use hyper::header::{HeaderName, HeaderValue};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
pub use rustls::version::{TLS12, TLS13};
use rustls::{ServerConfig, ServerConnection, SupportedProtocolVersion};
use tokio_rustls::TlsAcceptor;

use crate::kube::Certificate;
use crate::trust::AcceptAny;

/// The name that the client sent (SNI).
pub const SERVER_NAME: &str = "echo-tls-server-name";
/// The client's certificate as hexadecimal digits of its DER.
pub const CLIENT: &str = "echo-tls-client";
/// The version, such as `TLSv1_3`.
pub const VERSION: &str = "echo-tls-version";

/// Takes connections with this certificate and asks for one, which may be any or none.
///
/// # Errors
/// Certificate and key don't belong together.
pub fn acceptor(certificate: &Certificate, versions: &[&'static SupportedProtocolVersion], alpn: &[&[u8]]) -> anyhow::Result<TlsAcceptor> {
    let provider = Arc::new(ring::default_provider());
    let chain = vec![CertificateDer::from(certificate.der.clone())];
    let key = PrivateKeyDer::from_pem_slice(certificate.key_pem.as_bytes()).context("a private key in PEM")?;
    let mut config = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .context("ring supports these TLS versions")?
        .with_client_cert_verifier(Arc::new(AcceptAny(provider)))
        .with_single_cert(chain, key)?;
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    Ok(TlsAcceptor::from(Arc::new(config)))
}

/// The content of a handshake, as headers.
pub(super) fn headers(session: &ServerConnection) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut add = |name: &'static str, value: String| {
        headers.insert(HeaderName::from_static(name), HeaderValue::try_from(value).expect("names and digits"));
    };
    if let Some(name) = session.server_name() {
        add(SERVER_NAME, name.to_owned());
    }
    if let Some(leaf) = session.peer_certificates().and_then(|chain| chain.first()) {
        add(CLIENT, hex(leaf));
    }
    if let Some(version) = session.protocol_version() {
        add(VERSION, format!("{version:?}"));
    }
    headers
}
