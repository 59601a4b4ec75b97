//! Access by address, as Lua reads it.

use std::sync::Arc;

use super::super::wire::record;

record! {
    /// Lists of addresses of a route. Both are empty where the route is open although the global lists are not.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct AddressLists {
        /// These are refused. Addresses and networks as text, sorted.
        pub denylist_source_range: Vec<Arc<str>>,
        /// Of the others only these are allowed. Empty: all.
        pub allowlist_source_range: Vec<Arc<str>>,
    }
}
