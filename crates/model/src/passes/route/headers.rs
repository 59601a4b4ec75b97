//! Headers of the answer.

use super::Location;
use crate::live::Route;

pub(super) fn apply(location: &Location<'_>, route: &mut Route) {
    route.headers = location.entry.resolved.headers.clone();
}
