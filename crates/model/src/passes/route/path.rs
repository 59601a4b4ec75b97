//! The rewrite.

use super::Location;
use crate::live::Route;

pub(super) fn apply(location: &Location<'_>, route: &mut Route) {
    let Some(target) = location.rewrite.as_deref() else { return };
    route.rewrite = Some((location.path.clone(), target.into()));
    route.forwarded_prefix = location.entry.spec.path.forwarded_prefix.as_ref().map(|prefix| prefix.as_str().into());
}
