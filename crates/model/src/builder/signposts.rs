//! Hosts whose TLS connections go on undecrypted, and their endpoints.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::state::set;
use super::{Builder, Dirty};
use crate::signposts;

impl Builder {
    /// Brings the signposts of hosts and backends that were built anew up to date.
    pub(super) fn put_up_signposts(&mut self, dirty: &Dirty) {
        let state = &mut self.state;
        let of_backends = dirty.backends.iter().flat_map(|backend| state.passthrough.claimants.values(backend));
        let hosts: BTreeSet<Arc<str>> = dirty.hosts.iter().chain(of_backends).cloned().collect();
        let model = &mut state.built.model;
        for host in hosts {
            let backend = state.passthrough.items(&host).first().map(|id| model.live.backends.get(&*id.wire()));
            let text = backend.map(|backend| signposts::text(backend.map(|backend| &**backend)));
            if model.signposts.get(&host) != text.as_ref() {
                set(&mut model.signposts, &host, text);
            }
        }
    }
}
