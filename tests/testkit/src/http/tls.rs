//! TLS that trusts any certificate and remembers it.

use std::sync::Arc;

use anyhow::Context;
use rustls::ClientConfig;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use crate::trust::AcceptAny;

/// Handshakes as `server_name`; an empty one sends no SNI. `alpn`: protocols that are offered. `identity`: a certificate and a key in PEM.
pub(crate) async fn connect(
    stream: TcpStream,
    server_name: &str,
    alpn: &[&[u8]],
    identity: Option<&(String, String)>,
) -> anyhow::Result<TlsStream<TcpStream>> {
    let mut config = config(identity)?;
    config.alpn_protocols = alpn.iter().map(|protocol| protocol.to_vec()).collect();
    config.enable_sni = !server_name.is_empty();
    let name = if server_name.is_empty() { "no-sni.invalid" } else { server_name };
    let name = ServerName::try_from(name.to_owned()).with_context(|| format!("server name {server_name:?} is not a DNS name"))?;
    TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .with_context(|| format!("TLS handshake with server name {server_name:?}"))
}

/// A client that takes any certificate. `identity`: a certificate and a key in PEM.
pub(crate) fn config(identity: Option<&(String, String)>) -> anyhow::Result<ClientConfig> {
    let provider = Arc::new(ring::default_provider());
    let config = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .context("ring supports the default TLS versions")?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAny(provider)));
    let Some((certificate, key)) = identity else { return Ok(config.with_no_client_auth()) };
    let chain = CertificateDer::pem_slice_iter(certificate.as_bytes()).collect::<Result<Vec<_>, _>>().context("certificate")?;
    let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).context("private key")?;
    config.with_client_auth_cert(chain, key).context("certificate and key")
}
