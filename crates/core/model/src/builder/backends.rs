//! What is known of a backend when it is built.

use std::sync::Arc;

use super::Builder;
use crate::key::{BackendId, ObjectKey};
use crate::live::BackendRecord;
use crate::passes::backend::{Purpose, Users};
use crate::passes::{backend, choice};
use crate::problem::Problem;
use crate::rule::Origin;

impl Builder {
    /// A backend that rules refer to, `first` before all others.
    pub(super) fn used_backend(&self, id: &BackendId, first: &Origin) -> (BackendRecord, Vec<Problem>) {
        let state = &self.state;
        let rules = |origin: &Origin| state.built.rules.get(origin.key()).map(|rules| &**rules);
        let policy = |origin| rules(origin).map(|rules| &*rules.policy);
        let sticky = state.sticky.values(id).next().and_then(policy).zip(state.sticky.last(id).and_then(policy));
        let mut candidates = state.choices.claimants.values(id);
        let used = candidates.next();
        let users = Users { first: policy(first), sticky, choice: used.map(|used| &*used.choice) };
        let (record, mut problems) = self.backend(id, &users);
        if !state.snapshot.services.contains_key(&id.service) {
            problems = state.backends.values(id).filter_map(rules).flat_map(|user| backend::missing(id, user)).collect();
        }
        if let Some(used) = used {
            problems.extend(choice::ignored(id, used, candidates));
        }
        (record, problems)
    }

    pub(super) fn backend(&self, id: &BackendId, users: &Users<'_>) -> (BackendRecord, Vec<Problem>) {
        let slices: Vec<ObjectKey> = self.state.slices.values(&id.service).cloned().collect();
        backend::build(id, users, &self.backend_input(&slices, Purpose::Requests))
    }

    pub(super) fn backend_input<'a>(&'a self, slices: &'a [ObjectKey], purpose: Purpose) -> backend::Input<'a> {
        backend::Input { snapshot: &self.state.snapshot, options: &self.options, config: &self.state.config, slices, purpose }
    }

    /// The name to resolve for a Service, if it is an ExternalName that may be.
    pub(super) fn external_name(&self, service: &ObjectKey) -> Option<Arc<str>> {
        let name = backend::external_name(self.state.snapshot.services.get(service)?)?;
        let literal = name.parse::<std::net::IpAddr>().is_ok();
        let allowed = self.options.local.allowed || !ngx_value::is_local_name(name);
        (!self.options.disable_external_name && !literal && allowed && backend::refused_name(name).is_none()).then(|| name.into())
    }
}
