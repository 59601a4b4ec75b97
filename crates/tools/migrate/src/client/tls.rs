//! TLS that takes any certificate, because what is shown is compared and not trusted.

use std::sync::Arc;

use rustls::client::Resumption;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use sha2::{Digest, Sha256};
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use crate::answer::{FailureKind, Shown};

/// Common names of the certificates that controllers make for themselves.
const GENERATED: &[&str] = &["Kubernetes Ingress Controller Fake Certificate"];

#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

/// The configuration of all handshakes: every one is a whole one, so that its certificate is the present one.
pub(super) fn configuration() -> Result<Arc<ClientConfig>, rustls::Error> {
    let provider = Arc::new(ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(AcceptAny(provider)))
        .with_no_client_auth();
    config.resumption = Resumption::disabled();
    Ok(Arc::new(config))
}

/// The cause of a failed handshake: bytes that are no TLS at all mean another protocol on this port.
pub(super) fn kind(error: &std::io::Error) -> FailureKind {
    match error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>()) {
        Some(rustls::Error::InvalidMessage(_)) => FailureKind::NoTls,
        _ => FailureKind::Handshake,
    }
}

/// The text about a leaf certificate.
pub(super) fn shown(der: &[u8]) -> Shown {
    let (common, names) = names(der);
    let generated = GENERATED.contains(&common.as_str());
    let all: Vec<String> = std::iter::once(common).chain(names).filter(|name| !name.is_empty()).collect();
    let mut unique: Vec<String> = Vec::new();
    for name in all {
        if !unique.contains(&name) {
            unique.push(name);
        }
    }
    let names = if unique.is_empty() { "a certificate without names".to_owned() } else { unique.join(", ") };
    Shown { fingerprint: const_hex::encode(Sha256::digest(der)), names, generated }
}

fn names(der: &[u8]) -> (String, Vec<String>) {
    let Ok((_, certificate)) = X509Certificate::from_der(der) else { return Default::default() };
    let common = certificate.subject().iter_common_name().next().and_then(|name| name.as_str().ok()).unwrap_or_default().to_owned();
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let names = alternative.iter().flat_map(|extension| &extension.value.general_names).filter_map(|name| match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        _ => None,
    });
    (common, names.collect())
}
