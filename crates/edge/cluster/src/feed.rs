//! Feeds to watch: kinds, and the parts of the cluster that they are watched in.

use std::sync::Arc;

use model::{BuildOptions, ObjectKey, references};

use crate::kinds::{Kind, SERVICE_NAME};

/// The part of the cluster that one feed covers. The scopes of the feeds of one kind are disjoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Everything.
    All,
    /// One namespace.
    Namespace(Arc<str>),
    /// One object.
    Object(ObjectKey),
    /// The EndpointSlices of one Service, whose namespace no other feed of that kind covers.
    SlicesOf(ObjectKey),
}

impl Scope {
    /// `true` if the feed delivers this object.
    pub(crate) fn covers(&self, key: &ObjectKey) -> bool {
        match self {
            Self::All => true,
            Self::Namespace(namespace) => *namespace == key.namespace,
            Self::Object(object) => object == key,
            Self::SlicesOf(service) => service.namespace == key.namespace,
        }
    }

    /// The namespace to ask in; `None` for all.
    pub(crate) fn namespace(&self) -> Option<&str> {
        match self {
            Self::All => None,
            Self::Namespace(namespace) => Some(namespace),
            Self::Object(key) | Self::SlicesOf(key) => Some(&key.namespace),
        }
    }

    /// For people: `everywhere`, `in shop`, `default/web only`.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::All => "everywhere".to_owned(),
            Self::Namespace(namespace) => format!("in {namespace}"),
            Self::Object(key) => format!("{key} only"),
            Self::SlicesOf(key) => format!("of Service {key} only"),
        }
    }
}

/// One list and watch.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Feed {
    /// The kind that is watched.
    pub(crate) kind: Kind,
    /// The scope in which it is watched.
    pub(crate) scope: Scope,
}

impl Feed {
    /// The field selector: what the server leaves out.
    pub(crate) fn fields(&self) -> Option<String> {
        if let Scope::Object(key) = &self.scope {
            return Some(format!("metadata.name={}", key.name));
        }
        match self.kind {
            // Helm's release records are large and many, and can't be referred to.
            Kind::Secret => Some("type!=helm.sh/release.v1".to_owned()),
            // One in every namespace.
            Kind::ConfigMap => Some("metadata.name!=kube-root-ca.crt".to_owned()),
            _ => None,
        }
    }

    /// The label selector.
    pub(crate) fn labels(&self) -> Option<String> {
        match (self.kind, &self.scope) {
            (_, Scope::SlicesOf(service)) => Some(format!("{SERVICE_NAME}={}", service.name)),
            (Kind::EndpointSlice, _) => Some(SERVICE_NAME.to_owned()),
            _ => None,
        }
    }

    /// Objects per page of a list. Secrets and ConfigMaps may be up to a megabyte each.
    pub(crate) fn page(&self) -> u32 {
        if self.kind.by_reference() { 100 } else { 500 }
    }
}

/// The feeds that the settings ask for. What flags name outside `--watch-namespace` is watched there, and only that.
pub(crate) fn feeds(settings: &BuildOptions) -> Vec<Feed> {
    let everywhere = match &settings.watch_namespace {
        Some(namespace) => Scope::Namespace(namespace.as_str().into()),
        None => Scope::All,
    };
    let feed = |kind, scope: &Scope| Feed { kind, scope: scope.clone() };
    let mut feeds: Vec<Feed> = [Kind::Ingress, Kind::Service, Kind::EndpointSlice, Kind::Secret, Kind::ConfigMap]
        .into_iter()
        .map(|kind| feed(kind, &everywhere))
        .collect();
    feeds.push(feed(Kind::IngressClass, &Scope::All));
    if !settings.namespace_selector.is_empty() {
        feeds.push(feed(Kind::Namespace, &Scope::All));
    }
    let mut narrow = |kind, key: ObjectKey, scope: Scope| {
        if !everywhere.covers(&key) && !feeds.iter().any(|feed| feed.kind == kind && feed.scope == scope) {
            feeds.push(Feed { kind, scope });
        }
    };
    for key in references::secrets_of_settings(settings) {
        narrow(Kind::Secret, key.clone(), Scope::Object(key));
    }
    for key in references::config_maps_of_settings(settings) {
        narrow(Kind::ConfigMap, key.clone(), Scope::Object(key));
    }
    if let Some(key) = &settings.default_backend_service {
        narrow(Kind::Service, key.clone(), Scope::Object(key.clone()));
        narrow(Kind::EndpointSlice, key.clone(), Scope::SlicesOf(key.clone()));
    }
    feeds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(settings: &BuildOptions) -> Vec<String> {
        feeds(settings).iter().map(|feed| format!("{} {}", feed.kind, feed.scope.describe())).collect()
    }

    #[test]
    fn everything_is_watched_everywhere_by_default() {
        let settings = BuildOptions { configmap: ObjectKey::parse("ingress/main"), ..BuildOptions::default() };
        assert_eq!(
            described(&settings),
            [
                "Ingress everywhere",
                "Service everywhere",
                "EndpointSlice everywhere",
                "Secret everywhere",
                "ConfigMap everywhere",
                "IngressClass everywhere"
            ]
        );
    }

    #[test]
    fn what_flags_name_outside_the_watched_namespace_is_watched_there() {
        let settings = BuildOptions {
            watch_namespace: Some("shop".into()),
            configmap: ObjectKey::parse("ingress/main"),
            default_ssl_certificate: ObjectKey::parse("ingress/cert"),
            default_backend_service: ObjectKey::parse("ingress/fallback"),
            ..BuildOptions::default()
        };
        assert_eq!(
            described(&settings)[5..],
            [
                "IngressClass everywhere",
                "Secret ingress/cert only",
                "ConfigMap ingress/main only",
                "Service ingress/fallback only",
                "EndpointSlice of Service ingress/fallback only"
            ]
        );
        let inside =
            BuildOptions { configmap: ObjectKey::parse("shop/main"), watch_namespace: Some("shop".into()), ..BuildOptions::default() };
        assert_eq!(described(&inside).len(), 6);
    }

    #[test]
    fn namespaces_are_watched_for_a_selector_only() {
        let selector = vec![model::options::SelectorTerm::Exists("team".into())];
        let settings = BuildOptions { namespace_selector: selector, ..BuildOptions::default() };
        assert_eq!(described(&settings).last().map(String::as_str), Some("Namespace everywhere"));
    }

    #[test]
    fn selectors_leave_out_what_can_not_be_referred_to() {
        let feed = |kind, scope| Feed { kind, scope };
        assert_eq!(feed(Kind::Secret, Scope::All).fields().as_deref(), Some("type!=helm.sh/release.v1"));
        let one = Scope::Object(ObjectKey::new("a", "b"));
        assert_eq!(feed(Kind::Secret, one).fields().as_deref(), Some("metadata.name=b"));
        let slices = Scope::SlicesOf(ObjectKey::new("a", "b"));
        assert_eq!(feed(Kind::EndpointSlice, slices).labels().as_deref(), Some("kubernetes.io/service-name=b"));
    }
}
