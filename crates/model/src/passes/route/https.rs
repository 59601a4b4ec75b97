//! The redirect to HTTPS.

use super::{Location, differing};
use crate::live::Policy;

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy) {
    let config = location.config;
    let https = &location.entry.spec.https;
    if location.redirects {
        policy.ssl_redirect = differing(https.ssl_redirect, config.ssl_redirect);
        policy.force_ssl_redirect = differing(https.force_ssl_redirect, config.force_ssl_redirect);
        policy.preserve_trailing_slash = differing(https.preserve_trailing_slash, config.preserve_trailing_slash);
    } else {
        policy.ssl_redirect = differing(Some(false), config.ssl_redirect);
        policy.force_ssl_redirect = differing(Some(false), config.force_ssl_redirect);
    }
}
