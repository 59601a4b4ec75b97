//! The kinds that a directory can hold, and how one object of them is read.

pub(crate) mod lines;
mod names;
mod read;
mod validate;

use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::networking::v1::IngressClass;
use model::{EndpointSlice, Ingress, ObjectKey, ObjectRef, Service, Snapshot};

pub(crate) use read::{identify, read};

/// The class of a document by its `apiVersion` and `kind`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// One that matters here.
    Known(Kind),
    /// One that matters, in a version that the API no longer serves, or with a mistake in `apiVersion`.
    WrongVersion(Kind),
    /// A list; of one kind when its own kind says so.
    List(Option<Kind>),
    /// Everything else, which is none of our business.
    Other,
}

macro_rules! kinds {
    ($($kind:ident { group: $group:literal, api_version: $api:literal, $scope:ident, $field:ident })*) => {
        /// Kinds that matter here.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub(crate) enum Kind { $($kind,)* }

        /// An object as the snapshot holds it.
        #[derive(Debug, Clone)]
        pub(crate) enum Object { $($kind(Arc<$kind>),)* }

        impl Kind {
            const ALL: &'static [Self] = &[$(Self::$kind,)*];

            /// `Ingress`.
            pub(crate) const fn name(self) -> &'static str {
                match self { $(Self::$kind => stringify!($kind),)* }
            }

            /// `networking.k8s.io/v1`.
            pub(crate) const fn api_version(self) -> &'static str {
                match self { $(Self::$kind => $api,)* }
            }

            const fn group(self) -> &'static str {
                match self { $(Self::$kind => $group,)* }
            }
        }

        impl Object {
            /// `true` if both are the same, by value.
            pub(crate) fn same(&self, other: &Self) -> bool {
                match (self, other) {
                    $((Self::$kind(a), Self::$kind(b)) => Arc::ptr_eq(a, b) || a == b,)*
                    _ => false,
                }
            }

            /// Puts the object into the snapshot's map of its kind.
            pub(crate) fn insert(&self, object: &ObjectRef, snapshot: &mut Snapshot) {
                match self { $(Self::$kind(value) => { kinds!(@map $scope, $field, snapshot).insert(kinds!(@key $scope, object), value.clone()); })* }
            }

            /// Takes it out again.
            pub(crate) fn remove(object: &ObjectRef, snapshot: &mut Snapshot) {
                match object.kind {
                    $(stringify!($kind) => { kinds!(@map $scope, $field, snapshot).remove(&kinds!(@key $scope, object)); })*
                    _ => {}
                }
            }

            /// The object of this name in the snapshot.
            pub(crate) fn find(object: &ObjectRef, snapshot: &Snapshot) -> Option<Self> {
                match object.kind {
                    $(stringify!($kind) => kinds!(@get $scope, $field, snapshot)?.get(&kinds!(@key $scope, object)).cloned().map(Self::$kind),)*
                    _ => None,
                }
            }
        }
    };
    (@key namespaced, $object:expr) => { ObjectKey { namespace: $object.namespace.clone().unwrap_or_default(), name: $object.name.clone() } };
    (@key cluster, $object:expr) => { $object.name.clone() };
    (@key optional, $object:expr) => { $object.name.clone() };
    (@map optional, $field:ident, $snapshot:expr) => { $snapshot.$field.get_or_insert_default() };
    (@map $scope:ident, $field:ident, $snapshot:expr) => { $snapshot.$field };
    (@get optional, $field:ident, $snapshot:expr) => { $snapshot.$field.as_ref() };
    (@get $scope:ident, $field:ident, $snapshot:expr) => { Some(&$snapshot.$field) };
}

kinds! {
    Ingress { group: "networking.k8s.io", api_version: "networking.k8s.io/v1", namespaced, ingresses }
    IngressClass { group: "networking.k8s.io", api_version: "networking.k8s.io/v1", optional, ingress_classes }
    Service { group: "", api_version: "v1", namespaced, services }
    EndpointSlice { group: "discovery.k8s.io", api_version: "discovery.k8s.io/v1", namespaced, endpoint_slices }
    Secret { group: "", api_version: "v1", namespaced, secrets }
    ConfigMap { group: "", api_version: "v1", namespaced, config_maps }
    Namespace { group: "", api_version: "v1", cluster, namespaces }
}

impl Kind {
    /// `true` if objects of this kind live in a namespace.
    pub(crate) const fn namespaced(self) -> bool {
        !matches!(self, Self::IngressClass | Self::Namespace)
    }
}

/// Says what an `apiVersion` (where there is one) and a `kind` stand for.
///
/// Other people's groups use our kinds' names too (a Knative `Service`); those are left alone. A group of Kubernetes itself, and one without a dot, is not other people's.
pub(crate) fn classify(api_version: Option<&str>, kind: &str) -> Class {
    let api_version = api_version.unwrap_or_default();
    let group = api_version.rsplit_once('/').map_or("", |(group, _)| group);
    if kind == "List" && group.is_empty() {
        return Class::List(None);
    }
    let named = |name: &str| Kind::ALL.iter().copied().find(|known| known.name() == name);
    if let Some(known) = named(kind) {
        let ours = group == known.group() || !group.contains('.') || group.ends_with(".k8s.io");
        return match () {
            () if api_version == known.api_version() => Class::Known(known),
            () if ours => Class::WrongVersion(known),
            () => Class::Other,
        };
    }
    match kind.strip_suffix("List").and_then(named) {
        Some(known) if api_version == known.api_version() => Class::List(Some(known)),
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_their_group_and_version() {
        for (api_version, kind, expected) in [
            (Some("networking.k8s.io/v1"), "Ingress", Class::Known(Kind::Ingress)),
            (Some("v1"), "Service", Class::Known(Kind::Service)),
            (Some("discovery.k8s.io/v1"), "EndpointSlice", Class::Known(Kind::EndpointSlice)),
            (Some("extensions/v1beta1"), "Ingress", Class::WrongVersion(Kind::Ingress)),
            (Some("networking.k8s.io/v1beta1"), "Ingress", Class::WrongVersion(Kind::Ingress)),
            (Some("v1"), "Ingress", Class::WrongVersion(Kind::Ingress)),
            (None, "Secret", Class::WrongVersion(Kind::Secret)),
            (Some("core/v1"), "Secret", Class::WrongVersion(Kind::Secret)),
            (Some("serving.knative.dev/v1"), "Service", Class::Other),
            (Some("apps/v1"), "Deployment", Class::Other),
            (Some("v1"), "List", Class::List(None)),
            (Some("networking.k8s.io/v1"), "IngressList", Class::List(Some(Kind::Ingress))),
            (Some("v1"), "PodList", Class::Other),
        ] {
            assert_eq!(classify(api_version, kind), expected, "{api_version:?} {kind}");
        }
    }
}
