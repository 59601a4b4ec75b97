//! The annotations by group, one file each: a struct (a field of [`crate::Spec`]), the entries of the table, the parse functions.
//!
//! A group's struct holds what was set: `None` means not set, so the ConfigMap's setting holds. Every text in it is a type of `ngx-value`.

mod access;
mod affinity;
mod backend_tls;
mod basic_auth;
mod canary;
mod client_tls;
mod common;
mod cors;
mod errors;
mod external_auth;
mod fastcgi;
mod firewall;
mod hashing;
mod headers;
mod https;
mod limits;
mod mirror;
mod names;
mod observability;
mod path;
mod protocol;
mod proxy;
mod redirect;
mod snippets;
mod upstream;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use crate::table::{Entry, Group};

pub use access::{Access, AccessDefaults, Satisfy};
pub use affinity::{Affinity, AffinityCookie, AffinityMode, CanaryBehavior, SameSite};
pub use backend_tls::BackendTls;
pub use basic_auth::{AuthScheme, BasicAuth, SecretLayout};
pub use canary::{Canary, CanaryHeader, HeaderRule};
pub use client_tls::{ClientCa, ClientTls, TlsErrorPage, VerifyClient};
pub use cors::{AllowedOrigins, Cors};
pub use errors::{ErrorDefaults, Errors};
pub use external_auth::{ExternalAuth, ExternalAuthDefaults, Keepalive};
pub use fastcgi::Fastcgi;
pub use firewall::{Firewall, FirewallDefaults};
pub use hashing::Hashing;
pub use headers::Headers;
pub use https::{Https, HttpsDefaults};
pub use limits::{Limits, LimitsDefaults};
pub use mirror::Mirror;
pub use names::Names;
pub use observability::{LogPreset, Observability, ObservabilityDefaults, Ratio, Sampler};
pub(crate) use observability::{unsendable_logs, withdraw_unknown};
pub use path::Path;
pub use protocol::{BackendProtocol, ConnectionHeader, Protocol};
pub(crate) use proxy::misfits;
pub use proxy::{Buffers, LocationRewrite, Proxy, ProxyDefaults};
pub use redirect::{Redirect, RedirectAnswer};
pub use snippets::Snippets;
pub use upstream::{LoadBalance, Upstream, UpstreamDefaults};

/// Every group, in the order of the reference.
pub static GROUPS: &[&Group] = &[
    &canary::GROUP,
    &affinity::GROUP,
    &path::GROUP,
    &upstream::GROUP,
    &hashing::GROUP,
    &protocol::GROUP,
    &proxy::GROUP,
    &backend_tls::GROUP,
    &fastcgi::GROUP,
    &https::GROUP,
    &redirect::GROUP,
    &client_tls::GROUP,
    &basic_auth::GROUP,
    &external_auth::GROUP,
    &access::GROUP,
    &cors::GROUP,
    &limits::GROUP,
    &errors::GROUP,
    &headers::GROUP,
    &mirror::GROUP,
    &observability::GROUP,
    &firewall::GROUP,
    &names::GROUP,
    &snippets::GROUP,
];

/// Every annotation of all groups, ordered by name.
pub static ANNOTATIONS: LazyLock<Vec<&'static Entry>> = LazyLock::new(|| {
    let mut entries: Vec<&Entry> = GROUPS.iter().flat_map(|group| group.entries).collect();
    entries.sort_by_key(|entry| entry.name);
    entries
});

/// The same by name and alias, with the group.
static BY_NAME: LazyLock<BTreeMap<&'static str, (&'static Entry, &'static Group)>> = LazyLock::new(|| {
    let entries = GROUPS.iter().flat_map(|group| group.entries.iter().map(|entry| (entry, *group)));
    let named = entries.map(|(entry, group)| ([entry.name].into_iter().chain(entry.aliases.iter().copied()), (entry, group)));
    named.flat_map(|(names, found)| names.map(move |name| (name, found))).collect()
});

/// The annotation of this name, older names included, and its group.
pub fn annotation(name: &str) -> Option<(&'static Entry, &'static Group)> {
    BY_NAME.get(name).copied()
}

/// Every name of an annotation, older ones included, in order.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    BY_NAME.keys().copied()
}

#[cfg(test)]
mod testing;
