//! Certificates.

use std::sync::Arc;

use model::{CertificateFacts, ObjectRef};
use serde::{Deserialize, Serialize};

use crate::Problem;
use crate::list::{List, Query};
use crate::state::State;

/// A certificate in use.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// Content address of the key pair.
    pub digest: String,
    /// `namespace/name` of its Secret. Absent: it was generated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Names that it is for.
    #[serde(default)]
    pub names: Vec<String>,
    /// Common name of its issuer, else the organisation.
    #[serde(default)]
    pub issuer: String,
    /// Serial number, decimal.
    #[serde(default)]
    pub serial: String,
    /// From when on it is valid.
    pub not_before: f64,
    /// Until when it is valid.
    pub not_after: f64,
    /// Days until then; negative after it.
    pub days_left: f64,
    /// Kind and bits of its key: `ECDSA 256`.
    #[serde(default)]
    pub key: String,
    /// Hosts whose clients get it, the first 20.
    #[serde(default)]
    pub hosts: Vec<String>,
    /// Number of such hosts.
    #[serde(default)]
    pub hosts_total: usize,
    /// Whether an OCSP response is stapled to it.
    #[serde(default)]
    pub stapled: bool,
    /// Findings about its Secret.
    #[serde(default)]
    pub problems: Vec<Problem>,
}

/// Hosts of a certificate that are named.
const NAMED: usize = 20;
const DAY: f64 = 86_400.0;

/// The certificates in use, those that end first at the beginning. Cost: their number, and once for a build that of the names that have one.
pub fn certificates(state: &State<'_>, query: &Query) -> List<Certificate> {
    let named = state.named();
    let matches = |(digest, facts): &(&Arc<str>, &Arc<CertificateFacts>)| {
        let secret = facts.secret.as_ref().map(ToString::to_string).unwrap_or_default();
        let hosts = named.get(*digest).into_iter().flatten().map(|host| &**host);
        let names = facts.names.iter().map(String::as_str).chain(hosts).chain([&*secret, &***digest]);
        query.has_namespace(facts.secret.iter().map(|secret| &secret.namespace)) && query.has_name(&names.collect::<Vec<_>>())
    };
    let mut matching: Vec<_> = state.built.certificates.iter().filter(matches).collect();
    matching.sort_by_key(|(digest, facts)| (facts.not_after, *digest));
    query.page(matching, |(digest, facts)| Certificate::new(state, digest, facts))
}

/// One certificate, by its content address.
pub(crate) fn certificate(state: &State<'_>, digest: &str) -> Option<Certificate> {
    let facts = state.built.certificates.get(digest)?;
    Some(Certificate::new(state, digest, facts))
}

impl Certificate {
    fn new(state: &State<'_>, digest: &str, facts: &CertificateFacts) -> Self {
        let hosts = state.named().get(digest).map_or(&[][..], Vec::as_slice);
        let secret = facts.secret.as_ref();
        let problems =
            secret.map(|secret| ObjectRef::namespaced("Secret", secret)).map(|object| state.findings().about(&object)).unwrap_or_default();
        let issuer = if facts.issuer_common_name.is_empty() { &facts.issuer_organization } else { &facts.issuer_common_name };
        Self {
            digest: digest.to_owned(),
            secret: secret.map(ToString::to_string),
            names: facts.names.clone(),
            issuer: issuer.clone(),
            serial: facts.serial_number.clone(),
            not_before: facts.not_before as f64,
            not_after: facts.not_after as f64,
            days_left: (facts.not_after as f64 - state.time) / DAY,
            key: format!("{} {}", facts.public_key_algorithm, facts.key_bits),
            hosts: hosts.iter().take(NAMED).map(ToString::to_string).collect(),
            hosts_total: hosts.len(),
            stapled: state.built.model.live.staples.contains_key(digest),
            problems: problems.iter().map(|found| Problem::new(state, found)).collect(),
        }
    }
}
