//! The API server's checks, as far as they concern what the model reads.
//!
//! Two are left out on purpose: endpoints may be loopback addresses (there is no cluster whose node could be reached through them),
//! and `spec.ingressClassName` may stand beside the old annotation, as it can in a cluster after an update.

mod core;
mod endpoints;
mod ingress;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::ObjectRef;

use super::names::{is_label, is_qualified_name, is_subdomain};

/// Fields that the API server would refuse, with the reason.
#[derive(Debug, Default)]
pub(super) struct Refusals(Vec<(String, String)>);

impl Refusals {
    /// Refuses a field.
    pub(super) fn add(&mut self, field: impl Into<String>, detail: impl Into<String>) {
        self.0.push((field.into(), detail.into()));
    }

    /// Refuses a field unless it holds.
    pub(super) fn require(&mut self, holds: bool, field: impl FnOnce() -> String, detail: impl FnOnce() -> String) {
        if !holds {
            self.add(field(), detail());
        }
    }

    pub(super) fn into_vec(self) -> Vec<(String, String)> {
        self.0
    }
}

/// The checks of a kind, and the fields that it drops.
pub(super) trait Check {
    /// Looks at everything but `metadata`.
    fn check(&self, refusals: &mut Refusals);

    /// Drops fields without a reader, and settles what the API server settles when it stores the object.
    fn trim(&mut self) {}
}

/// Checks the name, the namespace, and the keys of labels and annotations.
pub(super) fn metadata(metadata: &ObjectMeta, reference: &ObjectRef, refusals: &mut Refusals) {
    let name = &*reference.name;
    let (good, rule) = match reference.kind {
        "Service" => (is_label(name) && !name.starts_with(|first: char| first.is_ascii_digit()), "a DNS label that begins with a letter"),
        "Namespace" => (is_label(name), "a DNS label (a-z, 0-9 and -, at most 63)"),
        _ => (is_subdomain(name), "a DNS name in lower case"),
    };
    refusals.require(good, || "metadata.name".into(), || format!("{name:?} is not {rule}"));
    let namespace = reference.namespace.as_deref().unwrap_or("default");
    refusals.require(
        is_label(namespace),
        || "metadata.namespace".into(),
        || format!("{namespace:?} is not a DNS label (a-z, 0-9 and -, at most 63)"),
    );
    for (map, keys) in [("annotations", &metadata.annotations), ("labels", &metadata.labels)] {
        for key in keys.iter().flat_map(|map| map.keys()) {
            let good = is_qualified_name(key) || map == "annotations" && is_qualified_name(&key.to_ascii_lowercase());
            refusals.require(
                good,
                || format!("metadata.{map}[{key:?}]"),
                || format!("{key:?} is not a key: expected NAME or PREFIX/NAME with at most 63 letters, digits, -, _ and . in NAME"),
            );
        }
    }
}

/// A number that is a port.
fn is_port(number: i32) -> bool {
    (1..=65535).contains(&number)
}
