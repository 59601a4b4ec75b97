//! The part of the model that is data: one record per key in NGINX's shared dictionaries, and how it goes over the wire.
//!
//! `docs/live-protocol.md` is the contract with `lua/narthex`. A record is one line of JSON; the digest of a set of
//! records is the sum of the CRC-32 of `<table>\t<key>\t<json>` over all of them, so that it does not depend on order
//! and changes with one record at the cost of that record.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use self::wire::{Declaration, Record, Shape, Value, record};
use crate::options::PemPair;
use crate::profile::ProfileId;
use crate::shares::record_bytes;

mod balancing;
mod route;
pub mod stream;
mod tables;
mod turns;
mod users;
pub mod wire;

pub use balancing::{Alternative, HashRule, Stickiness};
pub(crate) use route::Owned;
pub use route::{
    AddressLists, AuthCache, Cors, Errors, ExternalCheck, Header, Limits, Mirror, PasswordCheck, Policy, Redirects, Replacements, Route,
    Tracing,
};
pub use tables::{Live, Medium, Row, Table, declarations};
pub use turns::{by_namespace, owners};
pub use users::UsersRecord;

/// Stands for no certificate at all: that of the wildcard above does not count for the name.
pub const NO_CERTIFICATE: &str = "-";

record! {
    /// The routes of one host. Exact paths, then longest prefix, then regexes in order; the first hit decides.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct HostRecord {
        /// Exact normalised path to a zero-based index in `locations` (plain mode; empty in regex mode).
        pub exact: BTreeMap<Arc<str>, u32>,
        /// Prefix (always ending in `/`) to a zero-based index in `locations`; longest wins (plain mode).
        pub prefix: BTreeMap<Arc<str>, u32>,
        /// Start-anchored, case-insensitive regular expressions with a zero-based index in `locations`, in the order they are tried (regex mode).
        pub regex: Vec<(Arc<str>, u32)>,
        /// Where `/` is redirected to before anything else; `$name` is a variable.
        pub app_root: Option<Arc<str>>,
        /// Another host, to which everything is redirected (`from-to-www-redirect`). Such a record has no locations.
        pub redirect_to: Option<Arc<str>>,
        /// Where clients go whose certificate is missing or bad: a URL, a path, or `@` and a location of a `server-snippet`. Absent: they get 400.
        pub auth_tls_error_page: Option<Arc<str>>,
        /// The host, where its record is that of other names too (`server-alias`).
        pub name: Option<Arc<str>>,
        /// Names of hosts that are patterns. The record that has them, `~`, has nothing else.
        pub patterns: Option<NamePatterns>,
        /// What the matches lead to.
        pub routes: Vec<Arc<Route>> = flat,
    }
}

record! {
    /// Names that stand for others, each with the host that it is another name of.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct NamePatterns {
        /// What a name ends in, with the dot, whatever is before it; the longest wins, and it wins over `*.example.com` as a host.
        pub suffixes: BTreeMap<Arc<str>, Arc<str>>,
        /// Unanchored, case-insensitive regular expressions; the first that matches wins, after every other name.
        pub regexes: Vec<(Arc<str>, Arc<str>)>,
    }
}

record! {
    /// One backend.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct BackendRecord {
        /// Name for logs: `namespace-service-port`.
        pub name: Arc<str> = required,
        /// `ewma`. Absent: `round_robin`.
        pub load_balance: settings::LoadBalance,
        /// Consistent hashing; comes before `load_balance`.
        pub hash: Option<HashRule>,
        /// Cookie affinity; comes before `hash`.
        pub affinity: Option<Arc<Stickiness>>,
        /// The canary.
        pub alternative: Option<Arc<Alternative>>,
        /// Addresses (IPv6 without brackets), ports and weights (1 is left out), in order of address, without duplicates. Empty: requests get 503 (404
        /// for the default backend).
        pub endpoints: Vec<Endpoint> = required,
    }
}

record! {
    /// A key pair, or two of different kinds. Its key in the table is the content address of all parts.
    #[derive(Clone)]
    struct KeyPair {
        /// Certificates, PEM: leaf first, then intermediates.
        cert: String = required,
        /// The private key, PEM.
        key: String = required,
        /// The same of a pair with another kind of key (RSA, ECDSA): the handshake takes what the client can use.
        other: Option<(String, String)>,
    }
}

record! {
    /// Users with their passwords. Its key in the table is the content address.
    #[derive(Clone)]
    struct Users {
        /// Name to hash; for digest authentication `name:realm` to HA1.
        users: BTreeMap<Arc<str>, String> = required,
    }
}

/// Address (IPv6 without brackets), port, and weight: on the wire `["10.0.0.1",8080]`, with a third element where the weight is not 1.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Endpoint {
    /// IP address.
    pub address: std::net::IpAddr,
    /// TCP port.
    pub port: u16,
    /// Relative share of round robin, at least 1.
    pub weight: u32,
}

impl Value for Endpoint {
    const SHAPE: Shape = Shape::Tuple(&[Shape::Text, Shape::Number, Shape::Number], 2);

    fn is_absent(&self) -> bool {
        false
    }
}

impl Serialize for Endpoint {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if self.weight == 1 {
            (self.address, self.port).serialize(serializer)
        } else {
            (self.address, self.port, self.weight).serialize(serializer)
        }
    }
}

/// A key pair, or two of different kinds. Its key in the table is the content address of all parts.
#[derive(Clone, PartialEq, Eq)]
pub struct CertificateRecord {
    /// What clients get.
    pub pair: PemPair,
    /// What clients get that can't use that key.
    pub other: Option<PemPair>,
}

impl std::fmt::Debug for CertificateRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CertificateRecord(..)")
    }
}

/// One change of one record.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    /// Which table.
    pub table: Table,
    /// Which record.
    pub key: Arc<str>,
    /// The new value as one line of JSON or plain text, or `None` to remove it.
    pub value: Option<String>,
    /// Contribution of the old value to the digest, 0 if there was none.
    pub old_crc: u32,
    /// Profiles that the new value needs (hosts only).
    pub needs: Vec<ProfileId>,
}

impl Op {
    /// The line on the wire, without the newline.
    pub fn line(&self) -> String {
        let letter = self.table.letter();
        match &self.value {
            Some(value) => format!("={letter}\t{}\t{value}", self.key),
            None => format!("-{letter}\t{}", self.key),
        }
    }

    /// Contribution of the new value to the digest.
    pub fn new_crc(&self) -> u32 {
        self.value.as_deref().map_or(0, |value| record_crc(self.table, &self.key, value))
    }
}

/// Changes in the order in which they must be applied: additions and replacements from what is referred to towards what refers
/// ([`Table`]), then removals the other way round.
pub type Delta = Vec<Op>;

/// CRC-32 (IEEE, as `ngx.crc32_long`) of a record as the digest counts it.
pub fn record_crc(table: Table, key: &str, value: &str) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[table.letter() as u8, b'\t']);
    hasher.update(key.as_bytes());
    hasher.update(b"\t");
    hasher.update(value.as_bytes());
    hasher.finalize()
}

impl HostRecord {
    /// Profiles that its routes use, without duplicates.
    pub fn profiles(&self) -> Vec<ProfileId> {
        let mut profiles: Vec<ProfileId> = self.routes.iter().map(|route| route.profile.clone()).collect();
        profiles.sort();
        profiles.dedup();
        profiles
    }
}

/// Encodes a record as it stands in the dictionary.
pub(crate) trait Encode {
    /// What it is like; `None`: plain text.
    const JSON: Option<&'static Declaration>;

    fn encode(&self) -> String;
    fn needs(&self) -> Vec<ProfileId> {
        Vec::new()
    }
}

impl<T: Encode + ?Sized> Encode for Arc<T> {
    const JSON: Option<&'static Declaration> = T::JSON;

    fn encode(&self) -> String {
        (**self).encode()
    }
    fn needs(&self) -> Vec<ProfileId> {
        (**self).needs()
    }
}

impl Encode for HostRecord {
    const JSON: Option<&'static Declaration> = Some(&HostRecord::DECLARATION);

    fn encode(&self) -> String {
        serde_json::to_string(self).expect("a host record has string keys only")
    }
    fn needs(&self) -> Vec<ProfileId> {
        self.profiles()
    }
}

impl Encode for BackendRecord {
    const JSON: Option<&'static Declaration> = Some(&BackendRecord::DECLARATION);

    fn encode(&self) -> String {
        serde_json::to_string(self).expect("a backend record is plain data")
    }
}

impl Encode for CertificateRecord {
    const JSON: Option<&'static Declaration> = Some(&KeyPair::DECLARATION);

    fn encode(&self) -> String {
        let texts = |pair: &PemPair| (pair.chain.clone(), pair.key.clone());
        let (cert, key) = texts(&self.pair);
        serde_json::to_string(&KeyPair { cert, key, other: self.other.as_ref().map(texts) }).expect("strings")
    }
}

impl Encode for UsersRecord {
    const JSON: Option<&'static Declaration> = Some(&Users::DECLARATION);

    fn encode(&self) -> String {
        let users = self.by_name().iter().map(|(name, hash)| (name.as_str().into(), hash.clone())).collect();
        serde_json::to_string(&Users { users }).expect("a map of texts")
    }
}

impl Encode for str {
    const JSON: Option<&'static Declaration> = None;

    fn encode(&self) -> String {
        self.to_owned()
    }
}

/// What a record takes of its dictionary.
pub(crate) fn bytes_of(key: &str, record: &impl Encode) -> u64 {
    record_bytes(key.len(), record.encode().len() as u64)
}
