//! Keys and certificates of one control plane.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose};

/// Files in PEM.
#[derive(Debug, Clone)]
pub(super) struct Pki {
    pub(super) ca: PathBuf,
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
    /// Signs service account tokens.
    pub(super) account_key: PathBuf,
    /// Verifies them.
    pub(super) account_public_key: PathBuf,
}

impl Pki {
    /// Generates everything for an API server at `address` and writes it to `dir`.
    ///
    /// # Errors
    /// Generating or writing fails.
    pub(super) fn generate(dir: &Path, address: Ipv4Addr) -> anyhow::Result<Self> {
        std::fs::create_dir_all(dir).with_context(|| format!("directory {}", dir.display()))?;
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "narthex test bed");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign, KeyUsagePurpose::DigitalSignature];
        let ca = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;

        let names = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local", "localhost"];
        let names = names.into_iter().map(str::to_owned).chain([address.to_string(), "127.0.0.1".to_owned(), "10.96.0.1".to_owned()]);
        let mut params = CertificateParams::new(names.collect::<Vec<_>>())?;
        params.distinguished_name.push(DnType::CommonName, "kube-apiserver");
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &ca)?;
        let account = KeyPair::generate()?;

        let write = |name: &str, text: String| {
            let path = dir.join(name);
            std::fs::write(&path, text).with_context(|| format!("file {}", path.display()))?;
            anyhow::Ok(path)
        };
        Ok(Self {
            ca: write("ca.crt", ca.pem())?,
            certificate: write("apiserver.crt", certificate.pem())?,
            key: write("apiserver.key", key.serialize_pem())?,
            account_key: write("account.key", account.serialize_pem())?,
            account_public_key: write("account.pub", account.public_key_pem())?,
        })
    }
}
