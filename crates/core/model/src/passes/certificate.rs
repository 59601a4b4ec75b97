//! Secrets of type TLS, and which certificate a host gets.

mod chain;
mod facts;
mod key;

use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use sha2::{Digest, Sha256};
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::key::ObjectKey;
use crate::last_readable::INSTEAD;
use crate::live::CertificateRecord;
use crate::options::PemPair;
use crate::problem::{Problem, ProblemKind};
use crate::rule::{Field, RuleSet};

pub use chain::IncompleteChain;
pub(crate) use facts::Chain;
pub use facts::{CertificateFacts, issuer_url};

/// A usable key pair.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Certificate {
    /// Content address: a changed pair has another one.
    pub(crate) id: Arc<str>,
    pub(crate) record: Arc<CertificateRecord>,
    pub(crate) facts: Arc<CertificateFacts>,
}

impl Certificate {
    /// Stands in where no fallback was given: no handshake can use it.
    pub(crate) fn empty() -> Self {
        Self { id: "none".into(), record: Arc::new(CertificateRecord { pair: PemPair::default(), other: None }), facts: Arc::default() }
    }

    /// Reads a TLS Secret. The error says what is wrong with it.
    pub(crate) fn from_secret(secret: &Secret) -> Result<Self, String> {
        let text = |key: &str| -> Result<String, String> {
            let data = secret.data.as_ref().and_then(|data| data.get(key)).ok_or_else(|| format!("it has no {key}"))?;
            String::from_utf8(data.0.clone()).map_err(|_| format!("its {key} is not PEM text"))
        };
        Self::from_pem(PemPair { chain: text("tls.crt")?, key: text("tls.key")? })
    }

    /// Reads a PEM pair: the chain's first certificate must belong to the key.
    pub(crate) fn from_pem(pair: PemPair) -> Result<Self, String> {
        let chain: Vec<CertificateDer<'_>> = CertificateDer::pem_slice_iter(pair.chain.as_bytes())
            .collect::<Result<_, _>>()
            .map_err(|error| format!("its tls.crt is not a PEM certificate ({error})"))?;
        let leaf = chain.first().ok_or("its tls.crt holds no certificate")?;
        let (_, parsed) = X509Certificate::from_der(leaf).map_err(|error| format!("its tls.crt is not an X.509 certificate ({error})"))?;
        let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes())
            .map_err(|error| format!("its tls.key is not a PEM private key ({error})"))?;
        if !key::belongs(&key, &parsed.tbs_certificate.subject_pki)? {
            return Err("its tls.key does not belong to its tls.crt".into());
        }
        let facts = Arc::new(CertificateFacts::of(&parsed, &chain[1..]));
        let id = address(&[pair.chain.as_bytes(), pair.key.as_bytes()]);
        Ok(Self { id, record: Arc::new(CertificateRecord { pair, other: None }), facts })
    }

    /// The same, from this Secret.
    pub(crate) fn of(self, secret: &ObjectKey) -> Self {
        Self { facts: Arc::new(CertificateFacts { secret: Some(secret.clone()), ..(*self.facts).clone() }), ..self }
    }

    /// The same with another one for clients that can't use its key. No response of a responder is stapled to two.
    fn beside(self, other: &Self) -> Self {
        let record = CertificateRecord { pair: self.record.pair.clone(), other: Some(other.record.pair.clone()) };
        let facts = CertificateFacts { status_url: None, ..(*self.facts).clone() };
        Self { id: address(&[self.id.as_bytes(), other.id.as_bytes()]), record: Arc::new(record), facts: Arc::new(facts) }
    }

    /// Whether it is valid for a host (exact, or by a wildcard for one label; a wildcard host by the equal wildcard).
    pub(crate) fn covers(&self, host: &str) -> bool {
        let parent = host.split_once('.').map(|(_, parent)| parent);
        self.facts.names.iter().any(|name| name == host || (name.strip_prefix("*.").is_some() && name.strip_prefix("*.") == parent))
    }
}

/// The content address of these parts.
fn address(parts: &[&[u8]]) -> Arc<str> {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update(part.len().to_le_bytes());
        hasher.update(part);
    }
    const_hex::encode(&hasher.finalize()[..16]).into()
}

fn names(certificate: &X509Certificate<'_>) -> Vec<String> {
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let mut names: Vec<String> = alternative
        .iter()
        .flat_map(|extension| &extension.value.general_names)
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            _ => None,
        })
        .collect();
    if alternative.is_none() {
        let common = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
        names.extend(common.map(str::to_ascii_lowercase));
    }
    names
}

/// What a host's TLS section leads to.
#[derive(Debug, PartialEq)]
pub(crate) enum TlsChoice {
    /// No TLS section at all: no entry of its own, no redirect to HTTPS.
    None,
    /// TLS is on, with the default certificate. The problem, if it was meant to be another.
    Default(Option<Problem>),
    /// TLS with this certificate. The problem, if it is that of an earlier version of the Secret.
    Own(Certificate, Option<Problem>),
}

/// What there is in a Secret, with what is wrong with its present version if it comes from the one before; or what is wrong.
pub(crate) type Found = Result<(Certificate, Option<String>), String>;

/// Which certificate a host gets from the object that decides about its TLS.
pub(crate) fn choose(host: &str, rules: &RuleSet, read: impl Fn(&ObjectKey) -> Option<Found>) -> TlsChoice {
    if rules.tls.is_empty() {
        return TlsChoice::None;
    }
    let named = rules.tls.iter().enumerate().find(|(_, tls)| tls.hosts.iter().any(|listed| **listed == *host));
    let Some((i, tls)) = named else {
        let certificates = rules.tls.iter().filter_map(|tls| read(tls.secret.as_ref()?)?.ok());
        let covering = certificates.map(|(certificate, _)| certificate).find(|certificate| certificate.covers(host));
        return covering.map_or(TlsChoice::Default(None), |certificate| TlsChoice::Own(certificate, None));
    };
    let Some(secret) = &tls.secret else { return TlsChoice::Default(None) };
    let say = |what: String| rules.origin.problem(Field::Secret(i as u32), ProblemKind::Certificate, format!("Secret {secret}: {what}"));
    let problem = |what: String| TlsChoice::Default(Some(say(format!("{what}; {host} gets the default certificate"))));
    match read(secret) {
        None => problem("it does not exist".into()),
        Some(Err(what)) => problem(what),
        Some(Ok((certificate, _))) if !certificate.covers(host) => problem(format!("its certificate is not valid for {host:?}")),
        Some(Ok((certificate, fault))) => {
            // A further entry for the host with another kind of key adds to the first.
            let further = rules.tls[i + 1..].iter().filter(|tls| tls.hosts.iter().any(|listed| **listed == *host));
            let mut others = further.filter_map(|tls| read(tls.secret.as_ref()?)?.ok()).map(|(other, _)| other);
            let kind = certificate.facts.public_key_algorithm;
            let other = others.find(|other| other.facts.public_key_algorithm != kind && other.covers(host));
            let certificate = other.map_or(certificate.clone(), |other| certificate.beside(&other));
            TlsChoice::Own(certificate, fault.map(|fault| say(format!("{fault}; {INSTEAD}"))))
        }
    }
}
