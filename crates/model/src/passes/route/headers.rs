//! Headers of the answer.

use super::Location;
use crate::live::Policy;

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy) {
    policy.custom_headers = location.entry.resolved.headers.clone();
}
