//! The Service that answers errors (`default-backend`).

use super::{Lookup, Resolution};
use crate::key::{BackendId, BackendPort, ObjectKey};
use crate::problem::ProblemKind;

/// Its first port. None where the Service does not exist.
pub(super) fn resolve(lookup: &Lookup<'_>, outcome: &mut Resolution<'_>) -> Option<BackendId> {
    let name = lookup.spec.errors.default_backend.as_ref()?;
    let service = ObjectKey::new(lookup.ingress.namespace.clone(), name.as_str());
    if !lookup.snapshot.services.contains_key(&service) {
        let detail = format!("the Service {service} does not exist; errors are left to the global default backend");
        outcome.problem("default-backend", ProblemKind::ServiceMissing, detail);
        return None;
    }
    Some(BackendId { service, port: BackendPort::First })
}
