//! Certificates for tests.

use std::collections::BTreeMap;

use anyhow::Context;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::ObjectMeta;
use rcgen::{BasicConstraints, CertificateParams, CustomExtension, DnType, IsCa, Issuer, KeyPair};
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
    /// The same in DER.
    pub der: Vec<u8>,
}

/// `id-pe-authorityInfoAccess`.
const ACCESS: [u64; 9] = [1, 3, 6, 1, 5, 5, 7, 1, 1];
/// `id-ad-caIssuers`, as an element of DER.
const CA_ISSUERS: [u8; 10] = [0x06, 0x08, 0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x30, 0x02];

/// Says in a certificate where that of its issuer is (RFC 5280, 4.2.2.1).
fn issuer_at(url: &str) -> CustomExtension {
    // Each is shorter than 128 bytes.
    let element = |tag: u8, content: &[u8]| [&[tag, content.len() as u8], content].concat();
    let description = element(0x30, &[&CA_ISSUERS[..], &element(0x86, url.as_bytes())].concat());
    CustomExtension::from_oid_content(&ACCESS, element(0x30, &description))
}

/// A new CA with this common name.
///
/// # Errors
/// The name can't stand in a certificate.
pub fn mk_authority(name: &str) -> anyhow::Result<Authority> {
    let (params, key) = authority(name)?;
    let certificate = params.self_signed(&key).context("a CA signs itself")?;
    Ok(Authority::of(&certificate, Issuer::new(params, key)))
}

fn authority(name: &str) -> anyhow::Result<(CertificateParams, KeyPair)> {
    let mut params = CertificateParams::new(Vec::new()).context("a CA has no names")?;
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    Ok((params, KeyPair::generate().context("a key for a CA")?))
}

impl Authority {
    fn of(certificate: &rcgen::Certificate, issuer: Issuer<'static, KeyPair>) -> Self {
        Self { issuer, certificate_pem: certificate.pem(), der: certificate.der().to_vec() }
    }

    /// A CA below it with this common name. `url`: where its own certificate is.
    ///
    /// # Errors
    /// The name can't stand in a certificate.
    pub fn certify(&self, name: &str, url: &str) -> anyhow::Result<Self> {
        let (mut params, key) = authority(name)?;
        params.custom_extensions.push(issuer_at(url));
        let certificate = params.signed_by(&key, &self.issuer).context("a CA is certified")?;
        Ok(Self::of(&certificate, Issuer::new(params, key)))
    }

    /// A certificate for these names, the first of which is its common name.
    ///
    /// # Errors
    /// A name is neither a DNS name nor an address.
    pub fn sign(&self, names: &[&str]) -> anyhow::Result<Certificate> {
        self.sign_with(names, Vec::new())
    }

    /// The same, which says where the CA's own certificate is.
    ///
    /// # Errors
    /// As [`Self::sign`].
    pub fn sign_at(&self, names: &[&str], url: &str) -> anyhow::Result<Certificate> {
        self.sign_with(names, vec![issuer_at(url)])
    }

    fn sign_with(&self, names: &[&str], extensions: Vec<CustomExtension>) -> anyhow::Result<Certificate> {
        let what = || format!("certificate for {names:?}");
        let (mut params, key) = leaf(names).with_context(what)?;
        params.custom_extensions = extensions;
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
