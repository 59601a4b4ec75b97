//! Hosts whose TLS connections go on undecrypted, and their endpoints.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::state::set;
use super::{Builder, Dirty};
use crate::live::{BackendRecord, stream};

impl Builder {
    /// Updates the passthrough map for the hosts and backends that were rebuilt.
    pub(super) fn set_passthrough_map(&mut self, dirty: &Dirty) {
        let state = &mut self.state;
        let of_backends = dirty.backends.iter().flat_map(|backend| state.passthrough.claimants.values(backend));
        let hosts: BTreeSet<Arc<str>> = dirty.hosts.iter().chain(of_backends).cloned().collect();
        let live = &mut state.built.model.live;
        for host in hosts {
            let backend = state.passthrough.items(&host).first().map(|id| live.backends.get(&*id.wire()));
            let text = backend.map(|backend| text(backend.map(|backend| &**backend)));
            if live.passthrough_map.get(&host) != text.as_ref() {
                set(&mut live.passthrough_map, &host, text);
            }
        }
    }
}

/// The text for a backend.
fn text(backend: Option<&BackendRecord>) -> Arc<str> {
    let endpoints = backend.iter().flat_map(|backend| &backend.endpoints);
    stream::encode(endpoints.map(|endpoint| (endpoint.address, endpoint.port)))
}
