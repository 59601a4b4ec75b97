//! What a build has to do again.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::key::{BackendId, ObjectKey};
use crate::passes::ingress::Entry;

/// What must be built again.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    pub(super) everything: bool,
    pub(super) hosts: BTreeSet<Arc<str>>,
    pub(super) backends: BTreeSet<BackendId>,
    pub(super) services: BTreeSet<ObjectKey>,
    /// Those that changed, or that an Ingress began or ceased to name.
    pub(super) secrets: BTreeSet<ObjectKey>,
    pub(super) default_backend: bool,
    pub(super) default_certificate: bool,
}

impl Dirty {
    pub(super) fn touch(&mut self, entry: &Entry) {
        self.hosts.extend(entry.hosts());
        self.backends.extend(entry.backends());
        self.secrets.extend(entry.secrets());
        self.secrets.extend(entry.resolved.users.iter().map(|users| users.secret.clone()));
    }
}
