//! The certificate of a handshake.

use std::sync::Arc;

use model::Live;
use model::live::NO_CERTIFICATE;
use serde::{Deserialize, Serialize};

use crate::host;

/// The certificate that clients get for a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Certificate {
    /// The name that it is kept under: the host, the wildcard above it, or `_`, which is the default certificate.
    pub name: Arc<str>,
    /// Content address of the key pair.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<Arc<str>>,
}

/// The certificate of a name.
pub(crate) fn of(live: &Live, host: &str) -> Certificate {
    let own = entry(live, host).filter(|(_, id)| **id != *NO_CERTIFICATE);
    let (name, id) = match own.or_else(|| live.servers.get_key_value(host::CATCH_ALL).map(|(name, id)| (name.clone(), id.clone()))) {
        Some((name, id)) => (name, Some(id)),
        None => (host::CATCH_ALL.into(), None),
    };
    Certificate { name, id }
}

/// The entry of a name: its own, else that of the wildcard above.
fn entry(live: &Live, host: &str) -> Option<(Arc<str>, Arc<str>)> {
    let named = |name: &str| live.servers.get_key_value(name).map(|(name, id)| (name.clone(), id.clone()));
    named(host).or_else(|| named(&format!("*.{}", host.split_once('.')?.1)))
}

/// Whether plain HTTP to a host is redirected where `ssl-redirect` is set.
pub(crate) fn covers(live: &Live, host: &str) -> bool {
    if host == host::CATCH_ALL || host.starts_with('*') {
        return false;
    }
    let id = if host::above(host).is_some() { entry(live, host).map(|(_, id)| id) } else { live.servers.get(host).cloned() };
    id.is_some_and(|id| *id != *NO_CERTIFICATE)
}
