//! Redirects other than the one to HTTPS.

use std::sync::Arc;

use super::{Location, differing};
use crate::live::{Redirects, Route};

pub(super) fn apply(location: &Location<'_>, route: &mut Route) {
    if !location.redirects {
        return;
    }
    let spec = &location.entry.spec;
    let redirects = Redirects {
        answer: spec.redirect.answer().map(|answer| (answer.code, answer.url.as_str().into())),
        relative: spec.redirect.relative && !location.config.relative_redirects,
        with_port: differing(spec.https.use_port_in_redirects, location.config.use_port_in_redirects),
    };
    route.redirects = (redirects != Redirects::default()).then(|| Arc::new(redirects));
}
