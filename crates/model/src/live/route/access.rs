//! Who may pass, as Lua reads it.

use std::sync::Arc;

use serde::Serialize;

/// The lists of addresses that hold for a route (`acl`). Both are empty where the route is open although the global lists are not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct AddressLists {
    /// These may not pass. Addresses and networks as text, sorted. Empty: nobody is listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny: Vec<Arc<str>>,
    /// Of the others only these may pass. Empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<Arc<str>>,
}
