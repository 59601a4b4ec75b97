//! The generated certificate for hosts that have none: made once, kept in the work directory until it is about to expire,
//! so that a restarted controller renders the same text.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;

use anyhow::Context;
use jiff::{SignedDuration, Timestamp};
use model::options::PemPair;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};

const DAYS: i64 = 365;
const RENEW_BEFORE_DAYS: i64 = 30;

/// Reads it from `<work-dir>/certs`, or makes and stores it.
pub(crate) fn load_or_generate(work_dir: &Path) -> anyhow::Result<PemPair> {
    let dir = work_dir.join("certs");
    let (chain_path, key_path) = (dir.join("fallback.crt"), dir.join("fallback.key"));
    if let (Ok(chain), Ok(key)) = (fs::read_to_string(&chain_path), fs::read_to_string(&key_path))
        && usable(&chain, &key)
    {
        return Ok(PemPair { chain, key });
    }
    let pair = generate()?;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(&dir).with_context(|| format!("can't make {}", dir.display()))?;
    for (path, text) in [(&chain_path, &pair.chain), (&key_path, &pair.key)] {
        ngx_proc::files::write(path, 0o600, text.as_bytes()).with_context(|| format!("can't write {}", path.display()))?;
    }
    Ok(pair)
}

/// Makes one without storing it.
pub(crate) fn generate() -> anyhow::Result<PemPair> {
    let mut name = DistinguishedName::new();
    name.push(DnType::OrganizationName, "Acme Co");
    name.push(DnType::CommonName, "Kubernetes Ingress Controller Fake Certificate");
    let mut params = CertificateParams::new(vec!["ingress.local".to_owned()])?;
    params.distinguished_name = name;
    let now = Timestamp::now();
    params.not_before = std::time::SystemTime::from(now - SignedDuration::from_hours(1)).into();
    params.not_after = std::time::SystemTime::from(now + SignedDuration::from_hours(24 * DAYS)).into();
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    Ok(PemPair { chain: certificate.pem(), key: key.serialize_pem() })
}

/// Whether a stored pair is sound and lasts.
fn usable(chain: &str, key: &str) -> bool {
    let Ok((_, pem)) = x509_parser::pem::parse_x509_pem(chain.as_bytes()) else { return false };
    let Ok(certificate) = pem.parse_x509() else { return false };
    let lasts =
        certificate.validity().not_after.timestamp() > (Timestamp::now() + SignedDuration::from_hours(24 * RENEW_BEFORE_DAYS)).as_second();
    lasts && KeyPair::from_pem(key).is_ok()
}
