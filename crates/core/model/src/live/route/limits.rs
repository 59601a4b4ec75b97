//! Limits of requests and connections.

use std::sync::Arc;

use super::super::wire::record;

record! {
    /// Limits of a client at the locations of one Ingress, counted by client address over all of them. At least one limit is set.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Limits {
        /// Concurrent requests, from 1.
        pub limit_connections: Option<u32> = (limits),
        /// Requests in a second, from 1.
        pub limit_rps: Option<u32> = (limits),
        /// Requests in a minute, from 1.
        pub limit_rpm: Option<u32> = (limits),
        /// Times the rate is how many more may come at once.
        pub limit_burst_multiplier: u32 = 5,
        /// Clients that are not counted: addresses and networks.
        pub limit_allowlist: Vec<Arc<str>>,
    }
}
