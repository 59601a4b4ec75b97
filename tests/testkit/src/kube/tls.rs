//! Certificates for tests.

use std::collections::BTreeMap;

use anyhow::Context;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

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
    let (params, key) = leaf(names).with_context(what)?;
    let certificate = params.self_signed(&key).with_context(what)?;
    Ok(Certificate { certificate_pem: certificate.pem(), der: certificate.der().to_vec(), key_pem: key.serialize_pem() })
}

/// The same that ended with the year 2020.
///
/// # Errors
/// As [`mk_certificate`].
pub fn mk_ended_certificate(names: &[&str]) -> anyhow::Result<Certificate> {
    let (mut params, key) = leaf(names)?;
    (params.not_before, params.not_after) = (rcgen::date_time_ymd(2020, 1, 1), rcgen::date_time_ymd(2021, 1, 1));
    let certificate = params.self_signed(&key)?;
    Ok(Certificate { certificate_pem: certificate.pem(), der: certificate.der().to_vec(), key_pem: key.serialize_pem() })
}

/// The same with an RSA key of so many bits, made by `openssl`.
///
/// # Errors
/// `openssl` is missing or fails.
pub fn mk_rsa_certificate(names: &[&str], bits: u32) -> anyhow::Result<Certificate> {
    mk_openssl_certificate(names, &["-newkey", &format!("rsa:{bits}")])
}

/// The same with the key that these arguments of `openssl req` ask for.
///
/// # Errors
/// `openssl` is missing or fails.
pub fn mk_openssl_certificate(names: &[&str], arguments: &[&str]) -> anyhow::Result<Certificate> {
    let directory = tempfile::tempdir()?;
    let path = |name: &str| directory.path().join(name);
    let alternative: Vec<String> = names.iter().map(|name| format!("DNS:{name}")).collect();
    let mut command = std::process::Command::new("openssl");
    command.args(["req", "-x509", "-nodes", "-days", "30", "-subj", &format!("/CN={}", names.first().unwrap_or(&"test"))]);
    command.args(["-addext", &format!("subjectAltName={}", alternative.join(","))]).args(arguments);
    let output = command.arg("-keyout").arg(path("key")).arg("-out").arg(path("crt")).output().context("openssl is missing")?;
    anyhow::ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let certificate_pem = std::fs::read_to_string(path("crt"))?;
    let der = CertificateDer::from_pem_slice(certificate_pem.as_bytes()).context("a certificate")?.to_vec();
    Ok(Certificate { certificate_pem, der, key_pem: std::fs::read_to_string(path("key"))? })
}

/// A CA of its own.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    /// Its certificate in PEM.
    pub certificate_pem: String,
}

/// A new CA with this common name.
///
/// # Errors
/// The name can't stand in a certificate.
pub fn mk_authority(name: &str) -> anyhow::Result<Authority> {
    let mut params = CertificateParams::new(Vec::new()).context("a CA has no names")?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().context("a key for a CA")?;
    let certificate_pem = params.self_signed(&key).context("a CA signs itself")?.pem();
    Ok(Authority { issuer: Issuer::new(params, key), certificate_pem })
}

impl Authority {
    /// A certificate for these names, the first of which is its common name.
    ///
    /// # Errors
    /// A name is neither a DNS name nor an address.
    pub fn sign(&self, names: &[&str]) -> anyhow::Result<Certificate> {
        let what = || format!("certificate for {names:?}");
        let (mut params, key) = leaf(names).with_context(what)?;
        params.use_authority_key_identifier_extension = true;
        let certificate = params.signed_by(&key, &self.issuer).with_context(what)?;
        Ok(Certificate { certificate_pem: certificate.pem(), der: certificate.der().to_vec(), key_pem: key.serialize_pem() })
    }
}

fn leaf(names: &[&str]) -> Result<(CertificateParams, KeyPair), rcgen::Error> {
    let mut params = CertificateParams::new(names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>())?;
    params.distinguished_name.push(DnType::CommonName, names.first().copied().unwrap_or("test"));
    Ok((params, KeyPair::generate()?))
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
