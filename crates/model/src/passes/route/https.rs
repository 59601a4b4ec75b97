//! The redirect to HTTPS.

use super::{Location, differing};
use crate::live::Route;

pub(super) fn apply(location: &Location<'_>, route: &mut Route) {
    let config = location.config;
    let https = &location.entry.spec.https;
    if location.redirects {
        route.ssl_redirect = differing(https.ssl_redirect, config.ssl_redirect);
        route.force_ssl_redirect = differing(https.force_ssl_redirect, config.force_ssl_redirect);
        route.preserve_trailing_slash = differing(https.preserve_trailing_slash, config.preserve_trailing_slash);
    } else {
        route.ssl_redirect = differing(Some(false), config.ssl_redirect);
        route.force_ssl_redirect = differing(Some(false), config.force_ssl_redirect);
    }
}
