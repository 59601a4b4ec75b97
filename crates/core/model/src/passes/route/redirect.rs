//! Redirects other than the one to HTTPS.

use std::sync::Arc;

use super::Location;
use crate::live::wire::FromSettings;
use crate::live::{Policy, Redirects};

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy) {
    if !location.redirects {
        return;
    }
    let (spec, config) = (&location.given.spec, location.config);
    let redirects = Redirects {
        answer: spec.redirect.answer().map(|answer| (answer.code, answer.url.as_str().into())),
        relative_redirects: spec.redirect.relative_redirects && !config.relative_redirects,
        ..Redirects::of(spec, config)
    };
    policy.redirects = (redirects != Redirects::default()).then(|| Arc::new(redirects));
}
