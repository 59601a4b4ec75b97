//! A canary: an Ingress whose backends are choices beside those of other Ingresses.

use std::sync::Arc;

use settings::Spec;
use settings::groups::{Canary, CanaryBehavior, HeaderRule};

use crate::key::BackendId;
use crate::rule::{Backends, Choice, Condition, HeaderCondition, HeaderMeaning};

/// What each backend of an Ingress with these annotations is for its rule.
pub(super) fn backends(spec: &Spec) -> impl Fn(BackendId) -> Backends + use<> {
    let condition = spec.canary.canary.then(|| Arc::new(condition(spec)));
    move |backend| match condition.clone() {
        Some(condition) => Backends { primary: None, choice: Some(Arc::new(Choice { backend, condition })) },
        None => Backends { primary: Some(backend), choice: None },
    }
}

fn condition(spec: &Spec) -> Condition {
    let Canary { canary: _, canary_weight, canary_weight_total: _, canary_by_header, canary_by_cookie } = &*spec.canary;
    let header = canary_by_header.as_ref().map(|header| HeaderCondition {
        name: header.name.as_str().into(),
        meaning: match &header.rule {
            HeaderRule::Words => HeaderMeaning::Words,
            HeaderRule::Value(value) => HeaderMeaning::Value(value.as_str().into()),
            HeaderRule::Pattern(pattern) => HeaderMeaning::Pattern(pattern.as_str().into()),
            HeaderRule::Primary => HeaderMeaning::Primary,
        },
    });
    Condition {
        weight: *canary_weight,
        total: spec.canary.total(),
        header,
        cookie: canary_by_cookie.as_ref().map(|cookie| cookie.as_str().into()),
        keeps_affinity: spec.affinity.affinity_canary_behavior == CanaryBehavior::Sticky,
    }
}
