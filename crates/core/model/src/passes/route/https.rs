//! The redirect to HTTPS.

use settings::Effective;

use super::Location;
use crate::live::Policy;

/// What is made of `spec.defaultBackend` is not redirected.
pub(super) fn apply(location: &Location<'_>, policy: &mut Policy) {
    if !location.redirects {
        let (off, global) = (Some(false), &location.config.https);
        policy.ssl_redirect = Effective::new(&off, &global.ssl_redirect).differing().copied();
        policy.force_ssl_redirect = Effective::new(&off, &global.force_ssl_redirect).differing().copied();
        policy.preserve_trailing_slash = None;
    }
}
