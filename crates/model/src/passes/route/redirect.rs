//! Redirects other than the one to HTTPS.

use std::sync::Arc;

use super::{Location, differing};
use crate::live::{Policy, Redirects};

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy) {
    if !location.redirects {
        return;
    }
    let spec = &location.entry.spec;
    let redirects = Redirects {
        answer: spec.redirect.answer().map(|answer| (answer.code, answer.url.as_str().into())),
        relative_redirects: spec.redirect.relative && !location.config.relative_redirects,
        use_port_in_redirects: differing(spec.https.use_port_in_redirects, location.config.use_port_in_redirects),
    };
    policy.redirects = (redirects != Redirects::default()).then(|| Arc::new(redirects));
}
