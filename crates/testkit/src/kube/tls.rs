//! Certificates for tests.

use std::collections::BTreeMap;

use anyhow::Context;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use rcgen::{CertificateParams, DnType, KeyPair};

/// A self-signed certificate and its key.
#[derive(Clone)]
pub struct Certificate {
    /// In PEM.
    pub certificate_pem: String,
    /// In DER: what a peer shows in the handshake.
    pub der: Vec<u8>,
    /// PKCS #8 in PEM.
    pub key_pem: String,
}

impl std::fmt::Debug for Certificate {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Certificate").field("certificate_pem", &self.certificate_pem).finish_non_exhaustive()
    }
}

/// A new certificate for these names, the first of which is its common name. Each call makes another one.
///
/// # Errors
/// A name is neither a DNS name nor an address.
pub fn mk_certificate(names: &[&str]) -> anyhow::Result<Certificate> {
    let what = || format!("certificate for {names:?}");
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let mut params = CertificateParams::new(names.clone()).with_context(what)?;
    params.distinguished_name.push(DnType::CommonName, names.first().map_or("test", String::as_str));
    let key = KeyPair::generate().with_context(what)?;
    let certificate = params.self_signed(&key).with_context(what)?;
    Ok(Certificate { certificate_pem: certificate.pem(), der: certificate.der().to_vec(), key_pem: key.serialize_pem() })
}

/// A Secret of type `kubernetes.io/tls`.
pub fn mk_tls_secret(name: &str, certificate: &Certificate) -> Secret {
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    Secret {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        type_: Some("kubernetes.io/tls".to_owned()),
        data: Some(BTreeMap::from([
            ("tls.crt".to_owned(), bytes(&certificate.certificate_pem)),
            ("tls.key".to_owned(), bytes(&certificate.key_pem)),
        ])),
        ..Secret::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_certificate_is_another_one_and_its_key_stays_out_of_messages() {
        let (one, two) = (mk_certificate(&["*.example.com"]).unwrap(), mk_certificate(&["*.example.com"]).unwrap());
        assert_ne!(one.der, two.der);
        assert!(!format!("{one:?}").contains("PRIVATE"));
        assert_eq!(mk_tls_secret("a", &one).data.unwrap().len(), 2);
    }
}
