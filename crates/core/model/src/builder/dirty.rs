//! What a build has to do again.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::key::{BackendId, ObjectKey};
use crate::rule::RuleSet;

/// What must be built again.
#[derive(Debug, Default)]
pub(super) struct Dirty {
    pub(super) everything: bool,
    pub(super) hosts: BTreeSet<Arc<str>>,
    pub(super) backends: BTreeSet<BackendId>,
    pub(super) services: BTreeSet<ObjectKey>,
    /// Those that changed, or that an object began or ceased to name.
    pub(super) secrets: BTreeSet<ObjectKey>,
    pub(super) default_backend: bool,
    pub(super) default_certificate: bool,
}

impl Dirty {
    pub(super) fn touch(&mut self, rules: &RuleSet) {
        self.hosts.extend(rules.hosts());
        self.backends.extend(rules.backends());
        self.secrets.extend(rules.secrets());
        self.secrets.extend(rules.users().map(|users| users.secret.clone()));
    }
}
