//! An Ingress that is changed into something that is refused is served as it was.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::Ingress;
use model::{Builder, Built, ObjectKey, ProblemKind, Settings, Snapshot};
use serde_json::json;

/// A cluster whose versions follow one another.
struct World {
    builder: Builder,
    snapshot: Snapshot,
}

impl World {
    fn new() -> Self {
        let settings =
            Settings { watch_ingress_without_class: true, configmap: Some(ObjectKey::new("n", "settings")), ..Settings::default() };
        let mut world =
            Self { builder: Builder::new(settings), snapshot: Snapshot { ingress_classes: Some(<_>::default()), ..Snapshot::default() } };
        world.settings(json!({}));
        world
    }

    fn settings(&mut self, data: serde_json::Value) -> Built {
        let map: ConfigMap = serde_json::from_value(json!({ "data": data })).unwrap();
        self.snapshot.config_maps.insert(ObjectKey::new("n", "settings"), Arc::new(map));
        self.builder.build(&self.snapshot)
    }

    /// The Ingress `n/i` of `foo.com` as it is from now on.
    fn ingress(&mut self, path: &str, annotations: &[(&str, &str)]) -> Built {
        let annotations: serde_json::Map<_, _> =
            annotations.iter().map(|(key, value)| (format!("nginx.ingress.kubernetes.io/{key}"), (*value).into())).collect();
        let backend = json!({"service": {"name": "s", "port": {"number": 80}}});
        let paths = json!([{"path": path, "pathType": "Prefix", "backend": backend}]);
        let spec = json!({"rules": [{"host": "foo.com", "http": {"paths": paths}}]});
        let ingress: Ingress = serde_json::from_value(json!({"metadata": {"annotations": annotations}, "spec": spec})).unwrap();
        self.snapshot.ingresses.insert(ObjectKey::new("n", "i"), Arc::new(ingress.into()));
        self.builder.build(&self.snapshot)
    }
}

fn paths(built: &Built) -> Vec<String> {
    let host = built.model.live.hosts.get("foo.com");
    host.iter().flat_map(|host| host.routes.iter()).filter(|route| !route.service.is_empty()).map(|route| route.path.to_string()).collect()
}

fn says_so(built: &Built) -> bool {
    built.problems().iter().any(|problem| problem.kind == ProblemKind::Refused && problem.detail.contains("last accepted version"))
}

const BAD: [(&str, &str); 1] = [("limit-rps", "nonsense")];

#[test]
fn a_new_ingress_that_is_refused_is_not_served() {
    let built = World::new().ingress("/one", &BAD);
    assert_eq!(paths(&built), [""; 0]);
    assert!(!says_so(&built));
}

#[test]
fn the_last_accepted_version_is_served_until_one_is_accepted_again() {
    let mut world = World::new();
    assert_eq!(paths(&world.ingress("/one", &[("limit-rps", "5")])), ["/one"]);
    for path in ["/two", "/three"] {
        let built = world.ingress(path, &BAD);
        assert_eq!(paths(&built), ["/one"]);
        assert!(says_so(&built));
    }
    let built = world.ingress("/four", &[]);
    assert_eq!(paths(&built), ["/four"]);
    assert!(!says_so(&built));
}

#[test]
fn what_is_deleted_is_not_kept() {
    let mut world = World::new();
    world.ingress("/one", &[]);
    world.ingress("/two", &BAD);
    world.snapshot.ingresses.clear();
    assert_eq!(paths(&world.builder.build(&world.snapshot)), [""; 0]);
    assert_eq!(paths(&world.ingress("/three", &BAD)), [""; 0]);
}

#[test]
fn settings_that_no_longer_allow_a_version_end_it() {
    let snippet = [("configuration-snippet", "gzip off;")];
    let mut world = World::new();
    world.settings(json!({"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"}));
    assert_eq!(paths(&world.ingress("/one", &snippet)), ["/one"]);
    assert_eq!(paths(&world.ingress("/two", &BAD)), ["/one"]);
    let words =
        json!({"allow-snippet-annotations": "true", "annotations-risk-level": "Critical", "annotation-value-word-blocklist": "gzip"});
    assert_eq!(paths(&world.settings(words)), [""; 0]);
}

#[test]
fn an_ingress_that_leaves_the_class_is_not_kept() {
    let mut world = World::new();
    world.ingress("/one", &[]);
    assert_eq!(paths(&world.ingress("/two", &BAD)), ["/one"]);
    let key = ObjectKey::new("n", "i");
    let mut other = (*world.snapshot.ingresses[&key]).clone();
    other.class = Some("other".into());
    world.snapshot.ingresses.insert(key, Arc::new(other));
    let built = world.builder.build(&world.snapshot);
    assert_eq!(paths(&built), [""; 0]);
    assert!(world.builder.kept().is_empty());
}
