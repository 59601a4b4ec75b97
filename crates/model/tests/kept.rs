//! An Ingress that is changed into something that is refused is served as it was.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::networking::v1::Ingress;
use model::{Builder, Built, ObjectKey, ProblemKind, Route, Settings, Snapshot};
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

/// Objects that an Ingress names.
impl World {
    fn config_map(&mut self, name: &str, data: serde_json::Value) -> Built {
        let map: ConfigMap = serde_json::from_value(json!({ "data": data })).unwrap();
        self.snapshot.config_maps.insert(ObjectKey::new("n", name), Arc::new(map));
        self.builder.build(&self.snapshot)
    }

    fn secret(&mut self, name: &str, data: &[(&str, &str)]) -> Built {
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec()))).collect();
        self.snapshot.secrets.insert(ObjectKey::new("n", name), Arc::new(Secret { data: Some(data), ..Secret::default() }));
        self.builder.build(&self.snapshot)
    }
}

fn route(built: &Built) -> &Route {
    &built.model.live.hosts["foo.com"].routes[0]
}

fn uses_the_last(built: &Built) -> bool {
    built.problems().iter().any(|problem| problem.detail.contains("its last accepted version goes on being used"))
}

#[test]
fn headers_that_can_not_be_read_any_more_go_on_as_they_were() {
    let mut world = World::new();
    world.settings(json!({"global-allowed-response-headers": "X-A,X-B"}));
    world.config_map("headers", json!({"X-A": "1"}));
    let built = world.ingress("/one", &[("custom-headers", "n/headers")]);
    assert_eq!(route(&built).headers, [("X-A".into(), "1".into())]);
    for fault in [json!({"X-C": "1"}), json!({"X-A": "\u{7}"})] {
        let built = world.config_map("headers", fault);
        assert_eq!((route(&built).headers.as_slice(), route(&built).denied), ([("X-A".into(), "1".into())].as_slice(), false));
        assert!(uses_the_last(&built) && !world.builder.last().is_empty());
    }
    // Also for who comes later, and under settings that allow it.
    let built = world.ingress("/two", &[("custom-headers", "n/headers")]);
    assert_eq!((paths(&built), route(&built).denied), (vec!["/two".to_owned()], false));
    assert!(route(&world.settings(json!({"global-allowed-response-headers": "X-B"}))).denied);
    assert!(world.builder.last().is_empty());

    let built = world.config_map("headers", json!({"X-B": "2"}));
    assert_eq!(route(&built).headers, [("X-B".into(), "2".into())]);
    assert!(!uses_the_last(&built) && world.builder.last().is_empty());
    world.snapshot.config_maps.remove(&ObjectKey::new("n", "headers"));
    assert!(route(&world.builder.build(&world.snapshot)).denied, "what is deleted is gone");
}

#[test]
fn parameters_of_fastcgi_that_can_not_be_read_any_more_go_on_as_they_were() {
    let annotations = [("backend-protocol", "FCGI"), ("fastcgi-params-configmap", "n/params")];
    let mut world = World::new();
    world.config_map("params", json!({"a name": "x"}));
    assert_eq!(paths(&world.ingress("/one", &annotations)), [""; 0], "a first version that can't be read");
    let good = world.config_map("params", json!({"A": "1"}));
    assert_eq!(paths(&good), ["/one"]);
    let built = world.config_map("params", json!({"a name": "x"}));
    assert_eq!((route(&built), uses_the_last(&built)), (route(&good), true));
}

#[test]
fn certificates_that_can_not_be_read_any_more_go_on_as_they_were() {
    let made = rcgen::generate_simple_self_signed(["foo.com".to_owned()]).unwrap();
    let (chain, key) = (made.cert.pem(), made.signing_key.serialize_pem());
    let pair = [("tls.crt", chain.as_str()), ("tls.key", key.as_str()), ("ca.crt", chain.as_str())];
    let mut world = World::new();
    world.secret("pair", &pair);
    world.ingress("/one", &[("backend-protocol", "HTTPS"), ("proxy-ssl-secret", "n/pair")]);
    let mut object = (*world.snapshot.ingresses[&ObjectKey::new("n", "i")]).clone();
    object.tls = [model::object::IngressTls { hosts: ["foo.com".into()].into(), secret: Some("pair".into()) }].into();
    world.snapshot.ingresses.insert(ObjectKey::new("n", "i"), Arc::new(object));
    let good = world.builder.build(&world.snapshot);
    let certificate = good.model.live.servers["foo.com"].clone();

    let built = world.secret("pair", &[("tls.crt", "nonsense"), ("tls.key", &key), ("ca.crt", "nonsense")]);
    assert_eq!((&built.model.live.servers["foo.com"], route(&built)), (&certificate, route(&good)));
    assert_eq!(built.problems().iter().filter(|problem| problem.detail.contains("last accepted version")).count(), 2);
    assert!(!world.builder.last().is_empty());
    assert_eq!(world.secret("pair", &pair).problems(), good.problems());
    assert!(world.builder.last().is_empty());
}

#[test]
fn who_may_pass_is_never_read_of_an_earlier_version() {
    let mut world = World::new();
    world.secret("users", &[("auth", "bob:{PLAIN}secret")]);
    assert!(!route(&world.ingress("/one", &[("auth-type", "basic"), ("auth-secret", "users")])).denied);
    assert!(route(&world.secret("users", &[("other", "bob:{PLAIN}secret")])).denied);
    assert!(world.builder.last().is_empty());
}
