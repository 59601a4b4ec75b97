//! Certificates.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::{CertificateFacts, ObjectRef};
use serde::{Deserialize, Serialize};

use crate::Problem;
use crate::list::{List, Query};
use crate::state::{Findings, State};

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

/// The certificates in use, those that end first at the beginning. Cost: their number and that of the names that have one.
pub fn certificates(state: &State<'_>, query: &Query) -> List<Certificate> {
    let users = users(state);
    let matches = |(digest, facts): &(&Arc<str>, &Arc<CertificateFacts>)| {
        let secret = facts.secret.as_ref().map(ToString::to_string).unwrap_or_default();
        let hosts = users.get(&***digest).into_iter().flatten().copied();
        let names = facts.names.iter().map(String::as_str).chain(hosts).chain([&*secret, &***digest]);
        query.has_namespace(facts.secret.iter().map(|secret| &secret.namespace)) && query.has_name(&names.collect::<Vec<_>>())
    };
    let mut matching: Vec<_> = state.built.certificates.iter().filter(matches).collect();
    matching.sort_by_key(|(digest, facts)| (facts.not_after, *digest));
    let findings = state.findings();
    query.page(matching, |(digest, facts)| {
        let hosts = users.get(&**digest).map_or(&[][..], Vec::as_slice);
        Certificate::new(state, &findings, digest, facts, hosts)
    })
}

/// One certificate, by its content address.
pub(crate) fn certificate(state: &State<'_>, digest: &str) -> Option<Certificate> {
    let facts = state.built.certificates.get(digest)?;
    let users = users(state);
    Some(Certificate::new(state, &state.findings(), digest, facts, users.get(digest).map_or(&[][..], Vec::as_slice)))
}

/// The names that have a certificate, by its content address.
fn users<'a>(state: &State<'a>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut users: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (host, digest) in &state.built.model.live.servers {
        users.entry(digest).or_default().push(host);
    }
    users
}

impl Certificate {
    fn new(state: &State<'_>, findings: &Findings, digest: &str, facts: &CertificateFacts, hosts: &[&str]) -> Self {
        let secret = facts.secret.as_ref();
        let problems = secret.map(|secret| ObjectRef::namespaced("Secret", secret)).map(|object| findings.of(&object)).unwrap_or_default();
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
            hosts: hosts.iter().take(NAMED).map(|host| (*host).to_owned()).collect(),
            hosts_total: hosts.len(),
            stapled: state.built.model.live.staples.contains_key(digest),
            problems: problems.iter().map(|found| Problem::new(state, found)).collect(),
        }
    }
}
