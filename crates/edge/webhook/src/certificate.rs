//! The certificate of the server: exchanged while connections are served, each handshake takes the newest.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::RwLock;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tracing::{info, warn};

/// The time between two looks at the files. Mounted Secrets change within a minute or so.
const LOOK: Duration = Duration::from_secs(5);

/// The newest certificate; none until there is one, and handshakes fail until then.
#[derive(Default)]
pub struct Certificates(RwLock<Option<Arc<CertifiedKey>>>);

impl fmt::Debug for Certificates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Certificates(..)")
    }
}

impl ResolvesServerCert for Certificates {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0.read().clone()
    }
}

impl Certificates {
    /// Takes a chain and its key, both as PEM.
    ///
    /// # Errors
    /// They are not usable, or do not belong together: the one before stays.
    pub fn set(&self, chain: &[u8], key: &[u8]) -> Result<(), String> {
        let certified = certified(chain, key)?;
        *self.0.write() = Some(Arc::new(certified));
        Ok(())
    }
}

fn certified(chain: &[u8], key: &[u8]) -> Result<CertifiedKey, String> {
    let chain: Vec<CertificateDer<'static>> =
        CertificateDer::pem_slice_iter(chain).collect::<Result<_, _>>().map_err(|error| format!("no PEM certificate ({error})"))?;
    if chain.is_empty() {
        return Err("there is no certificate in it".to_owned());
    }
    let key = PrivateKeyDer::from_pem_slice(key).map_err(|error| format!("no PEM private key ({error})"))?;
    let key = rustls::crypto::ring::sign::any_supported_type(&key).map_err(|_| "no usable RSA, ECDSA or Ed25519 key")?;
    let certified = CertifiedKey::new(chain, key);
    match certified.keys_match() {
        Err(rustls::Error::InconsistentKeys(rustls::InconsistentKeys::KeyMismatch)) => {
            Err("the key does not belong to the certificate".to_owned())
        }
        _ => Ok(certified),
    }
}

/// Follows the files of a certificate and its key for ever. What can't be used is logged once, and the last good pair stays.
pub async fn follow_files(certificate: PathBuf, key: PathBuf, certificates: Arc<Certificates>) -> &'static str {
    let (mut known, mut fault) = (None, None);
    loop {
        let read = async {
            let chain = tokio::fs::read(&certificate).await.map_err(|error| format!("{}: {error}", certificate.display()))?;
            let key = tokio::fs::read(&key).await.map_err(|error| format!("{}: {error}", key.display()))?;
            Ok::<_, String>((chain, key))
        };
        let taken = read.await.and_then(|pair| {
            if known.as_ref() == Some(&pair) {
                return Ok(());
            }
            certificates.set(&pair.0, &pair.1)?;
            info!(file = %certificate.display(), "the certificate of the webhook was read");
            known = Some(pair);
            Ok(())
        });
        let now = taken.err();
        if let Some(error) = now.as_ref().filter(|_| now != fault) {
            warn!(error, "the certificate of the webhook can't be used; the last good one stays");
        }
        fault = now;
        tokio::time::sleep(LOOK).await;
    }
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};

    use super::*;

    fn pair() -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["a.example".to_owned()]).unwrap().self_signed(&key).unwrap();
        (certificate.pem(), key.serialize_pem())
    }

    fn shown(certificates: &Certificates) -> Option<Vec<u8>> {
        certificates.0.read().as_ref().map(|certified| certified.cert[0].to_vec())
    }

    #[test]
    fn what_can_not_be_used_leaves_the_one_before() {
        let certificates = Certificates::default();
        let ((chain, key), (_, other)) = (pair(), pair());
        assert!(certificates.set(b"", b"").is_err() && shown(&certificates).is_none());
        certificates.set(chain.as_bytes(), key.as_bytes()).unwrap();
        let first = shown(&certificates);
        assert!(first.is_some());
        assert_eq!(certificates.set(chain.as_bytes(), other.as_bytes()).unwrap_err(), "the key does not belong to the certificate");
        assert!(certificates.set(b"garbage", key.as_bytes()).is_err());
        assert_eq!(shown(&certificates), first);
    }

    #[tokio::test(start_paused = true)]
    async fn files_are_followed() {
        let dir = std::env::temp_dir().join(format!("narthex-webhook-{}", std::process::id()));
        std::fs::create_dir_all(&dir).unwrap();
        let (chain, key) = (dir.join("cert"), dir.join("key"));
        let write = |(certificate, private): &(String, String)| {
            std::fs::write(&chain, certificate).unwrap();
            std::fs::write(&key, private).unwrap();
        };
        let certificates = Arc::new(Certificates::default());
        let following = tokio::spawn(follow_files(chain.clone(), key.clone(), certificates.clone()));
        let mut before = None;
        for pair in [pair(), pair()] {
            write(&pair);
            while shown(&certificates) == before {
                tokio::time::sleep(LOOK).await;
            }
            before = shown(&certificates);
        }
        following.abort();
        std::fs::remove_dir_all(&dir).unwrap();
    }
}
