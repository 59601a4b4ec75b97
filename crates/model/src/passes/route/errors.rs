//! Errors that another backend answers.

use std::sync::Arc;

use super::Location;
use crate::live::{Errors, Route};
use crate::profile::{ErrorPages, Profile};

pub(super) fn apply(location: &Location<'_>, route: &mut Route, profile: &mut Profile) {
    let errors = &location.entry.spec.errors;
    let statuses: Option<Vec<u16>> = errors.statuses.as_ref().map(|statuses| statuses.iter().map(|status| status.code()).collect());
    profile.watching.errors = statuses.clone().map(|statuses| ErrorPages { statuses, only_own: errors.only_own });
    // What goes to the default backend anyway has no use for another one.
    let backend =
        location.entry.resolved.default_backend.as_ref().filter(|_| location.backend.is_some()).map(|backend| backend.wire().into());
    if statuses.is_some() || backend.is_some() {
        route.errors = Some(Arc::new(Errors { statuses, backend }));
    }
}
