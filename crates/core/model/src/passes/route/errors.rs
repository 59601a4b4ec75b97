//! Errors that another backend answers.

use std::sync::Arc;

use super::Location;
use crate::live::{Errors, Policy};
use crate::profile::{ErrorPages, Profile};

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy, profile: &mut Profile) {
    let errors = &location.given.spec.errors;
    let statuses: Option<Vec<u16>> =
        errors.custom_http_errors.as_ref().map(|statuses| statuses.iter().map(|status| status.code()).collect());
    profile.error_pages = statuses.clone().map(|statuses| ErrorPages { statuses, only_own: errors.disable_proxy_intercept_errors });
    // It takes errors, and the place of a backend without endpoints, which the default backend is not.
    let is_used = statuses.is_some() || location.has_backend;
    let backend = location.given.resolved.default_backend.as_ref().filter(|_| is_used).map(|backend| backend.wire().into());
    if statuses.is_some() || backend.is_some() {
        policy.errors = Some(Arc::new(Errors { custom_http_errors: statuses, default_backend: backend }));
    }
}
