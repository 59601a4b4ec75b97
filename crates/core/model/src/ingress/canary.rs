//! A canary: an Ingress whose backends are choices beside those of other Ingresses.

use std::sync::Arc;

use settings::Spec;
use settings::groups::{Canary, CanaryBehavior, HeaderRule};

use crate::key::BackendId;
use crate::rule::{Backends, Choice, Condition, HeaderCondition, HeaderMeaning};

/// What each backend of an Ingress with these annotations is for its rule.
pub(super) fn backends(spec: &Spec) -> impl Fn(BackendId) -> Backends + use<> {
    let condition = spec.canary.enabled.then(|| Arc::new(condition(spec)));
    move |backend| match condition.clone() {
        Some(condition) => Backends { primary: None, choice: Some(Arc::new(Choice { backend, condition })) },
        None => Backends { primary: Some(backend), choice: None },
    }
}

fn condition(spec: &Spec) -> Condition {
    let Canary { enabled: _, weight, weight_total: _, header, cookie } = &*spec.canary;
    let header = header.as_ref().map(|header| HeaderCondition {
        name: header.name.as_str().into(),
        meaning: match &header.rule {
            HeaderRule::Words => HeaderMeaning::Words,
            HeaderRule::Value(value) => HeaderMeaning::Value(value.as_str().into()),
            HeaderRule::Pattern(pattern) => HeaderMeaning::Pattern(pattern.as_str().into()),
            HeaderRule::Primary => HeaderMeaning::Primary,
        },
    });
    Condition {
        weight: *weight,
        total: spec.canary.total(),
        header,
        cookie: cookie.as_ref().map(|cookie| cookie.as_str().into()),
        keeps_affinity: spec.affinity.canary_behavior == CanaryBehavior::Sticky,
    }
}
