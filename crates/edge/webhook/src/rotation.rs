//! The certificate that the controller makes itself, kept in a Secret that all replicas share.
//!
//! Each certificate has an authority of its own, whose key is forgotten as soon as it has signed. So what an API server has to trust is a
//! list of authorities, and a rotation goes in steps:
//!
//! 1. When a third of the time is left, the next certificate is made and stored beside the present one; both authorities are announced.
//! 2. Every API server learns of the list. When it had time to, the next certificate becomes the present one.
//! 3. The authority of the one before stays in the list until the next rotation: a replica that is late is trusted as well.
//!
//! Every replica does the same steps. A write names the version that it was decided for, so of two replicas one is refused and reads again:
//! this needs no leader, and works where none is elected. What is announced is compared at each turn, so that a registration which was
//! applied again without its authorities is repaired.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose};
use tracing::{info, warn};

use crate::Certificates;

/// The data of the Secret. The first three are those of the predecessor's job.
pub type Data = BTreeMap<String, Vec<u8>>;

const CA: &str = "ca";
const CERT: &str = "cert";
const KEY: &str = "key";
const NEXT_CERT: &str = "next-cert";
const NEXT_KEY: &str = "next-key";
/// The time at which the next one was stored, in seconds since 1970.
const NEXT_SINCE: &str = "next-since";

/// The longest time between two looks.
const LOOK: Duration = Duration::from_secs(10);
/// The time that API servers have to learn of an authority.
const LEARN: Duration = Duration::from_secs(120);

/// A stored Secret.
#[derive(Debug, Clone, Default)]
pub struct Stored {
    /// Its data.
    pub data: Data,
    /// Its `resourceVersion`.
    pub version: String,
}

/// The Secret and the registration of the webhook in a cluster.
pub trait Registration: Send + Sync + 'static {
    /// Reads the Secret. `None`: there is none.
    fn read(&self) -> impl Future<Output = Result<Option<Stored>, String>> + Send;
    /// Replaces the data of exactly this version. False: another replica was faster.
    fn write(&self, version: &str, data: &Data) -> impl Future<Output = Result<bool, String>> + Send;
    /// Sees to it that these authorities (PEM) are those of every webhook of the registration.
    fn announce(&self, authorities: &[u8]) -> impl Future<Output = Result<(), String>> + Send;
}

/// The certificates to make.
#[derive(Debug, Clone)]
pub struct Rotation {
    /// DNS names and addresses by which API servers call.
    pub names: Vec<String>,
    /// The life of a certificate.
    pub lifetime: Duration,
}

/// The next step.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// Nothing is usable: a first certificate.
    First,
    /// The next one is made and announced.
    Prepare,
    /// The next one becomes the present one.
    Exchange,
    /// All is as it should be.
    Rest,
}

impl Rotation {
    fn step(&self, data: &Data, now: i64) -> Step {
        let (Some(end), true) = (expiry(data.get(CERT)), is_pair(data, CERT, KEY) && data.contains_key(CA)) else { return Step::First };
        let left = end.saturating_sub(now);
        if left <= 0 {
            return Step::First;
        }
        if is_pair(data, NEXT_CERT, NEXT_KEY) {
            let since = data.get(NEXT_SINCE).and_then(|text| std::str::from_utf8(text).ok()?.parse().ok()).unwrap_or(now);
            return if now.saturating_sub(since) >= self.learning().as_secs().cast_signed() { Step::Exchange } else { Step::Rest };
        }
        if left < (self.lifetime / 3).as_secs().cast_signed() { Step::Prepare } else { Step::Rest }
    }

    /// Short lives are for tests.
    fn learning(&self) -> Duration {
        LEARN.min(self.lifetime / 12)
    }

    fn pause(&self) -> Duration {
        LOOK.min(self.lifetime / 60).max(Duration::from_millis(100))
    }

    /// The data after a step; `None`: it stays.
    fn after(&self, step: &Step, data: &Data, now: Timestamp) -> Result<Option<Data>, rcgen::Error> {
        let mut data = data.clone();
        match step {
            Step::Rest => return Ok(None),
            Step::First => {
                let made = self.make(now)?;
                // What API servers trusted before is of no use: its key can't be used.
                data.insert(CA.into(), made.authority);
                data.insert(CERT.into(), made.certificate);
                data.insert(KEY.into(), made.key);
                [NEXT_CERT, NEXT_KEY, NEXT_SINCE].iter().for_each(|name| drop(data.remove(*name)));
            }
            Step::Prepare => {
                let made = self.make(now)?;
                // Of earlier ones only the present authority is needed.
                let present = first_certificate(data.get(CA));
                data.insert(CA.into(), [present, made.authority].concat());
                data.insert(NEXT_CERT.into(), made.certificate);
                data.insert(NEXT_KEY.into(), made.key);
                data.insert(NEXT_SINCE.into(), now.as_second().to_string().into_bytes());
            }
            Step::Exchange => {
                for (next, present) in [(NEXT_CERT, CERT), (NEXT_KEY, KEY)] {
                    if let Some(value) = data.remove(next) {
                        data.insert(present.into(), value);
                    }
                }
                data.remove(NEXT_SINCE);
                // The new authority first; the one before stays for late replicas.
                let list = data.get(CA).cloned().unwrap_or_default();
                let present = first_certificate(Some(&list));
                let rest = list.get(present.len()..).unwrap_or_default();
                data.insert(CA.into(), [rest, &present].concat());
            }
        }
        Ok(Some(data))
    }

    fn make(&self, now: Timestamp) -> Result<Made, rcgen::Error> {
        let lifetime = SignedDuration::try_from(self.lifetime).unwrap_or(SignedDuration::from_hours(24 * 90));
        let dated = |mut params: CertificateParams, name: &str| {
            params.distinguished_name.push(DnType::CommonName, name);
            params.not_before = std::time::SystemTime::from(now - SignedDuration::from_mins(5)).into();
            params.not_after = std::time::SystemTime::from(now + lifetime).into();
            params
        };
        let mut authority = dated(CertificateParams::new(Vec::new())?, &format!("narthex admission {}", now.as_second()));
        authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let authority_key = KeyPair::generate()?;
        let authority_pem = authority.self_signed(&authority_key)?.pem();
        let issuer = Issuer::new(authority, authority_key);
        let mut leaf = dated(CertificateParams::new(self.names.clone())?, "narthex-admission");
        leaf.use_authority_key_identifier_extension = true;
        leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = leaf.signed_by(&key, &issuer)?;
        Ok(Made {
            authority: authority_pem.into_bytes(),
            certificate: certificate.pem().into_bytes(),
            key: key.serialize_pem().into_bytes(),
        })
    }
}

struct Made {
    authority: Vec<u8>,
    certificate: Vec<u8>,
    key: Vec<u8>,
}

/// The test that both parts are there, belong together and can be used.
fn is_pair(data: &Data, certificate: &str, key: &str) -> bool {
    let pair = data.get(certificate).zip(data.get(key));
    pair.is_some_and(|(certificate, key)| Certificates::default().set(certificate, key).is_ok())
}

fn expiry(certificate: Option<&Vec<u8>>) -> Option<i64> {
    let (_, pem) = x509_parser::pem::parse_x509_pem(certificate?).ok()?;
    Some(pem.parse_x509().ok()?.validity().not_after.timestamp())
}

/// The first certificate of a list, as it stands there.
fn first_certificate(list: Option<&Vec<u8>>) -> Vec<u8> {
    const END: &[u8] = b"-----END CERTIFICATE-----";
    let list = list.map(Vec::as_slice).unwrap_or_default();
    let Some(at) = list.windows(END.len()).position(|part| part == END) else { return Vec::new() };
    let rest = &list[at + END.len()..];
    let breaks = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    list[..at + END.len() + breaks].to_vec()
}

/// Makes, announces, serves and rotates the certificate for ever. What fails is logged once and tried again.
pub async fn rotate(rotation: Rotation, registration: impl Registration, certificates: Arc<Certificates>) -> &'static str {
    let mut served = None;
    let mut fault = None;
    loop {
        let turn = turn(&rotation, &registration, &certificates, &mut served).await;
        let pause = match &turn {
            Ok(true) => Duration::ZERO,
            _ => rotation.pause(),
        };
        let now = turn.err();
        if let Some(error) = now.as_ref().filter(|_| now != fault) {
            warn!(error, "the certificate of the webhook can't be kept up to date; it is tried again");
        }
        fault = now;
        tokio::time::sleep(pause).await;
    }
}

/// One turn. True: the next one is due at once.
async fn turn(
    rotation: &Rotation,
    registration: &impl Registration,
    certificates: &Certificates,
    served: &mut Option<Vec<u8>>,
) -> Result<bool, String> {
    let Some(Stored { data, version }) = registration.read().await? else {
        return Err("the Secret of --validating-webhook-secret does not exist".to_owned());
    };
    let now = Timestamp::now();
    let step = rotation.step(&data, now.as_second());
    if step != Step::First {
        if served.as_ref() != data.get(CERT)
            && let Some((chain, key)) = data.get(CERT).zip(data.get(KEY))
        {
            certificates.set(chain, key)?;
            *served = Some(chain.clone());
            info!("the certificate of the webhook is another one");
        }
        // Before an exchange: only what is announced becomes the present one.
        registration.announce(data.get(CA).map(Vec::as_slice).unwrap_or_default()).await?;
    }
    let Some(next) = rotation.after(&step, &data, now).map_err(|error| format!("no certificate can be made: {error}"))? else {
        return Ok(false);
    };
    registration.write(&version, &next).await?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use parking_lot::Mutex;

    use super::*;

    fn rotation() -> Rotation {
        Rotation { names: vec!["hook.ns.svc".into()], lifetime: Duration::from_secs(3600) }
    }

    fn next(data: &Data, at: i64) -> (Step, Data) {
        let step = rotation().step(data, at);
        let after = rotation().after(&step, data, Timestamp::from_second(at).unwrap()).unwrap();
        (step, after.unwrap_or_else(|| data.clone()))
    }

    fn authorities(data: &Data) -> usize {
        String::from_utf8_lossy(&data[CA]).matches("BEGIN CERTIFICATE").count()
    }

    #[test]
    fn a_rotation_announces_before_it_exchanges() {
        let begin = 1_800_000_000;
        let (step, first) = next(&Data::new(), begin);
        assert_eq!((step, authorities(&first)), (Step::First, 1));
        assert_eq!(next(&first, begin + 60).0, Step::Rest);
        let late = begin + 3600 - 1000;
        let (step, prepared) = next(&first, late);
        assert_eq!((step, authorities(&prepared), &prepared[CERT]), (Step::Prepare, 2, &first[CERT]));
        assert!(prepared[CA].starts_with(&first[CA]));
        assert_eq!(next(&prepared, late + 10).0, Step::Rest);
        let (step, exchanged) = next(&prepared, late + 120);
        assert_eq!((step, authorities(&exchanged)), (Step::Exchange, 2));
        assert_eq!((&exchanged[CERT], exchanged[CA].ends_with(&first[CA])), (&prepared[NEXT_CERT], true));
        assert!(!exchanged.contains_key(NEXT_CERT));
        assert_eq!(next(&exchanged, late + 130).0, Step::Rest);
        // The next rotation forgets the oldest authority.
        let (_, again) = next(&exchanged, late + 3600 - 1000);
        assert!(authorities(&again) == 2 && !String::from_utf8_lossy(&again[CA]).contains(&*String::from_utf8_lossy(&first[CA])));
    }

    #[test]
    fn what_is_expired_broken_or_does_not_belong_together_is_made_again() {
        let begin = 1_800_000_000;
        let (_, good) = next(&Data::new(), begin);
        let (_, other) = next(&Data::new(), begin);
        let with = |name: &str, value: &[u8]| Data::from_iter(good.clone().into_iter().chain([(name.to_owned(), value.to_vec())]));
        for data in [with(CERT, b"garbage"), with(KEY, &other[KEY]), with(KEY, b"")] {
            assert_eq!(rotation().step(&data, begin), Step::First);
        }
        assert_eq!(rotation().step(&good, begin + 3601), Step::First);
        assert_eq!(rotation().step(&with("more", b"x"), begin), Step::Rest);
    }

    #[derive(Clone, Default)]
    struct Fake(Arc<Mutex<(Data, u64, Vec<u8>)>>);

    impl Registration for Fake {
        async fn read(&self) -> Result<Option<Stored>, String> {
            let state = self.0.lock();
            Ok(Some(Stored { data: state.0.clone(), version: state.1.to_string() }))
        }

        async fn write(&self, version: &str, data: &Data) -> Result<bool, String> {
            let mut state = self.0.lock();
            if state.1.to_string() != version {
                return Ok(false);
            }
            (state.0, state.1) = (data.clone(), state.1 + 1);
            Ok(true)
        }

        async fn announce(&self, authorities: &[u8]) -> Result<(), String> {
            self.0.lock().2 = authorities.to_vec();
            Ok(())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn two_replicas_agree_on_one_certificate() {
        let fake = Fake::default();
        let certificates = [Arc::new(Certificates::default()), Arc::new(Certificates::default())];
        let tasks: Vec<_> =
            certificates.iter().map(|certificates| tokio::spawn(rotate(rotation(), fake.clone(), certificates.clone()))).collect();
        while fake.0.lock().2.is_empty() {
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        tokio::time::sleep(Duration::from_secs(60)).await;
        let (data, version, announced) = fake.0.lock().clone();
        assert_eq!((version, &announced), (1, &data[CA]));
        // A registration that was applied again without authorities is repaired.
        fake.0.lock().2.clear();
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(fake.0.lock().2, data[CA]);
        tasks.iter().for_each(tokio::task::JoinHandle::abort);
    }
}
