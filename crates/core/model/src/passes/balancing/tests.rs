//! From annotations to what Lua reads about a backend.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule, IngressServiceBackend, IngressSpec, ServiceBackendPort,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use serde_json::{Value, json};

use crate::{BuildOptions, Builder, Built, ObjectKey, ProblemKind, Snapshot};

/// An Ingress of the namespace `ns` in the making.
struct Made {
    name: &'static str,
    annotations: BTreeMap<String, String>,
    spec: IngressSpec,
}

fn backend(service: &str) -> IngressBackend {
    let port = ServiceBackendPort { name: None, number: Some(80) };
    IngressBackend { service: Some(IngressServiceBackend { name: service.into(), port: Some(port) }), resource: None }
}

fn ingress(name: &'static str, annotations: &[(&str, &str)]) -> Made {
    let annotations = annotations.iter().map(|(key, value)| (format!("nginx.ingress.kubernetes.io/{key}"), (*value).to_owned()));
    Made { name, annotations: annotations.collect(), spec: IngressSpec::default() }
}

impl Made {
    fn rule(mut self, host: &str, path: &str, path_type: &str, service: &str) -> Self {
        let path = HTTPIngressPath { path: Some(path.into()), path_type: path_type.into(), backend: backend(service) };
        let http = Some(HTTPIngressRuleValue { paths: vec![path] });
        self.spec.rules.get_or_insert_default().push(IngressRule { host: Some(host.into()), http });
        self
    }

    fn default_backend(mut self, service: &str) -> Self {
        self.spec.default_backend = Some(backend(service));
        self
    }
}

/// A model of these Ingresses, the oldest first.
fn build(ingresses: Vec<Made>) -> Built {
    let mut snapshot = Snapshot::default();
    for (age, made) in ingresses.into_iter().enumerate() {
        let created = k8s_openapi::jiff::Timestamp::from_second(1_700_000_000 + age as i64).unwrap();
        let metadata = ObjectMeta {
            namespace: Some("ns".into()),
            name: Some(made.name.into()),
            annotations: Some(made.annotations),
            creation_timestamp: Some(Time(created)),
            ..ObjectMeta::default()
        };
        let ingress = Ingress { metadata, spec: Some(made.spec), status: None };
        snapshot.ingresses.insert(ObjectKey::new("ns", made.name), Arc::new(ingress.into()));
    }
    Builder::new(BuildOptions { watch_ingress_without_class: true, ..BuildOptions::default() }).build(&snapshot)
}

/// A field of the record of a Service's port 80, as it is on the wire.
fn field(built: &Built, service: &str, field: &str) -> Value {
    let record = &built.model.live.backends[&*format!("ns/{service}:80")];
    serde_json::to_value(&**record).unwrap()[field].take()
}

/// The same for one Ingress with these annotations.
fn of_one(annotations: &[(&str, &str)], name: &str) -> Value {
    field(&build(vec![ingress("main", annotations).rule("a.test", "/", "Prefix", "main")]), "main", name)
}

/// The alternative of `main` that a canary with these annotations, beside `canary: "true"`, makes.
fn alternative(annotations: &[(&str, &str)]) -> Value {
    let annotations = [&[("canary", "true")], annotations].concat();
    let main = ingress("main", &[]).rule("a.test", "/", "Prefix", "main");
    field(&build(vec![main, ingress("new", &annotations).rule("a.test", "/", "Prefix", "new")]), "main", "alternative")
}

/// What is said about an Ingress, of kind Surprise.
fn surprises(built: &Built, name: &str) -> Vec<String> {
    let found = built.problems().into_iter().filter(|problem| problem.kind == ProblemKind::Surprise && *problem.object.name == *name);
    found.map(|problem| format!("{}: {}", problem.field, problem.detail)).collect()
}

#[test]
fn upstream_hash_by_is_a_rule_of_the_backend() {
    assert_eq!(of_one(&[("upstream-hash-by", "$request_uri")], "hash"), json!({"upstream_hash_by": "$request_uri"}));
    assert_eq!(of_one(&[], "hash"), Value::Null);
}

#[test]
fn upstream_hash_by_subset_has_three_endpoints_or_upstream_hash_by_subset_size() {
    let subset = [("upstream-hash-by", "$host"), ("upstream-hash-by-subset", "true")];
    assert_eq!(of_one(&subset, "hash"), json!({"upstream_hash_by": "$host", "upstream_hash_by_subset_size": 3}));
    let sized = [&subset[..], &[("upstream-hash-by-subset-size", "2")]].concat();
    assert_eq!(of_one(&sized, "hash"), json!({"upstream_hash_by": "$host", "upstream_hash_by_subset_size": 2}));
}

#[test]
fn load_balance_and_service_upstream_are_those_of_the_oldest_ingress() {
    let old = ingress("old", &[("load-balance", "ewma"), ("upstream-hash-by", "$host")]).rule("a.test", "/", "Prefix", "main");
    let young = ingress("young", &[("upstream-hash-by", "$uri")]).rule("b.test", "/", "Prefix", "main");
    let built = build(vec![old, young]);
    assert_eq!(
        (field(&built, "main", "load_balance"), field(&built, "main", "hash")),
        (json!("ewma"), json!({"upstream_hash_by": "$host"}))
    );
}

#[test]
fn affinity_is_a_cookie_that_only_its_own_routes_set() {
    let sticky = ingress("sticky", &[("affinity", "cookie")]).rule("a.test", "/in", "Prefix", "main");
    let plain = ingress("plain", &[]).rule("a.test", "/out", "Prefix", "main");
    let built = build(vec![sticky, plain]);
    assert_eq!(field(&built, "main", "affinity"), json!({"session_cookie_name": "INGRESSCOOKIE"}));
    let routes = &built.model.live.hosts["a.test"].routes;
    let issuing: Vec<_> = routes.iter().map(|route| (&*route.path, route.issues_cookie)).collect();
    assert_eq!(issuing, [("/", false), ("/in", true), ("/out", false)]);
}

#[test]
fn affinity_mode_is_that_of_the_oldest_and_the_session_cookie_name_that_of_the_youngest() {
    let of = |name, annotations: &[(&str, &str)], host| {
        ingress(name, &[&[("affinity", "cookie")], annotations].concat()).rule(host, "/", "Prefix", "main")
    };
    let oldest = of("oldest", &[("affinity-mode", "persistent"), ("session-cookie-name", "one")], "a.test");
    let youngest = of("youngest", &[("session-cookie-name", "two"), ("session-cookie-max-age", "5")], "b.test");
    let plain = ingress("plain", &[]).rule("c.test", "/", "Prefix", "main");
    let built = build(vec![oldest, youngest, plain]);
    assert_eq!(field(&built, "main", "affinity"), json!({"session_cookie_name": "two", "persistent": true, "session_cookie_max_age": 5}));
}

#[track_caller]
fn check_cookie(annotation: (&str, &str), expected: (&str, Value)) {
    let sticky = of_one(&[("affinity", "cookie"), annotation], "affinity");
    assert_eq!(sticky[expected.0], expected.1, "{annotation:?}: {sticky}");
}

#[test]
fn session_cookie_expires_and_session_cookie_max_age_are_seconds() {
    check_cookie(("session-cookie-expires", "172800"), ("session_cookie_expires", json!(172_800)));
    check_cookie(("session-cookie-max-age", "-1"), ("session_cookie_max_age", json!(-1)));
}

#[test]
fn session_cookie_path_and_session_cookie_domain_are_texts() {
    check_cookie(("session-cookie-path", "/foo/bar"), ("session_cookie_path", json!("/foo/bar")));
    check_cookie(("session-cookie-domain", "foo.bar"), ("session_cookie_domain", json!("foo.bar")));
}

#[test]
fn session_cookie_secure_and_session_cookie_change_on_failure_are_left_out_when_false() {
    check_cookie(("session-cookie-secure", "true"), ("session_cookie_secure", json!(true)));
    check_cookie(("session-cookie-secure", "false"), ("session_cookie_secure", Value::Null));
    check_cookie(("session-cookie-change-on-failure", "true"), ("session_cookie_change_on_failure", json!(true)));
    check_cookie(("session-cookie-change-on-failure", "false"), ("session_cookie_change_on_failure", Value::Null));
}

#[test]
fn session_cookie_samesite_is_a_word_and_session_cookie_conditional_samesite_none_a_condition() {
    check_cookie(("session-cookie-samesite", "Strict"), ("session_cookie_samesite", json!("Strict")));
    check_cookie(("session-cookie-samesite", "strict"), ("session_cookie_samesite", Value::Null));
    check_cookie(("session-cookie-conditional-samesite-none", "true"), ("session_cookie_conditional_samesite_none", json!(true)));
}

#[test]
fn canary_weight_and_canary_weight_total_are_numbers() {
    assert_eq!(alternative(&[("canary-weight", "20")]), json!({"backend": "ns/new:80", "canary_weight": 20}));
    let total = [("canary-weight", "20"), ("canary-weight-total", "1000")];
    assert_eq!(alternative(&total), json!({"backend": "ns/new:80", "canary_weight": 20, "canary_weight_total": 1000}));
}

#[test]
fn canary_by_header_has_words_or_a_canary_by_header_value_or_a_canary_by_header_pattern() {
    let header = ("canary-by-header", "X-Go");
    assert_eq!(alternative(&[header]), json!({"backend": "ns/new:80", "canary_by_header": "X-Go"}));
    assert_eq!(alternative(&[header, ("canary-by-header-value", "now")])["canary_by_header_value"], "now");
    let pattern = alternative(&[header, ("canary-by-header-pattern", "^be")]);
    assert_eq!((&pattern["canary_by_header_pattern"], &pattern["header_means_primary"]), (&json!("^be"), &Value::Null));
    let unusable = alternative(&[header, ("canary-by-header-pattern", "[")]);
    assert_eq!((&unusable["canary_by_header_pattern"], &unusable["header_means_primary"]), (&Value::Null, &json!(true)));
}

#[test]
fn canary_by_cookie_is_a_name() {
    assert_eq!(alternative(&[("canary-by-cookie", "go")]), json!({"backend": "ns/new:80", "canary_by_cookie": "go"}));
}

#[test]
fn affinity_canary_behavior_decides_whether_the_canary_is_sticky() {
    let sticky = |main: &[(&str, &str)], behavior| {
        let annotations = [("canary", "true"), ("canary-weight", "1"), ("affinity-canary-behavior", behavior)];
        let main = ingress("main", main).rule("a.test", "/", "Prefix", "main");
        let canary = ingress("new", &annotations).rule("a.test", "/", "Prefix", "new");
        field(&build(vec![main, canary]), "main", "alternative")["sticky"].take()
    };
    assert_eq!(sticky(&[("affinity", "cookie")], "sticky"), json!(true));
    assert_eq!(sticky(&[("affinity", "cookie")], "legacy"), Value::Null);
    assert_eq!(sticky(&[], "sticky"), Value::Null);
}

const CANARY: [(&str, &str); 2] = [("canary", "true"), ("canary-weight", "1")];

#[test]
fn a_canary_makes_no_location_and_belongs_to_one_of_the_same_path_and_type() {
    let main = || ingress("main", &[]).rule("a.test", "/x", "Prefix", "main");
    for (host, path, path_type) in [("a.test", "/x", "Exact"), ("a.test", "/y", "Prefix"), ("b.test", "/x", "Prefix")] {
        let built = build(vec![main(), ingress("new", &CANARY).rule(host, path, path_type, "new")]);
        assert_eq!(field(&built, "main", "alternative"), Value::Null);
        assert_eq!(built.model.live.hosts.keys().map(|host| &**host).collect::<Vec<_>>(), ["_", "a.test"]);
        let expected = format!("spec.rules[0].http.paths[0].backend: no other Ingress has a Service for path {path:?} of host {host:?}");
        let found = surprises(&built, "new");
        assert!(found.len() == 1 && found[0].starts_with(&expected), "{found:?}");
    }
    let built = build(vec![ingress("new", &CANARY).rule("a.test", "/x", "ImplementationSpecific", "new"), main()]);
    assert_eq!((field(&built, "main", "alternative")["backend"].take(), surprises(&built, "new")), (json!("ns/new:80"), Vec::new()));
}

#[test]
fn a_canary_is_no_alternative_of_itself() {
    let main = ingress("main", &[]).rule("a.test", "/", "Prefix", "main");
    let built = build(vec![main, ingress("new", &CANARY).rule("a.test", "/", "Prefix", "main")]);
    assert_eq!(field(&built, "main", "alternative"), Value::Null);
    assert!(surprises(&built, "new")[0].contains("has this backend already"), "{:?}", surprises(&built, "new"));
    assert_eq!(built.model.live.hosts["a.test"].routes.len(), 1);
}

#[test]
fn only_the_oldest_canary_of_a_backend_is_used() {
    let main = ingress("main", &[]).rule("a.test", "/", "Prefix", "main").rule("b.test", "/", "Prefix", "main");
    let one = ingress("one", &CANARY).rule("b.test", "/", "Prefix", "one");
    let two = ingress("two", &CANARY).rule("a.test", "/", "Prefix", "two");
    let built = build(vec![main, one, two]);
    assert_eq!(field(&built, "main", "alternative")["backend"], "ns/one:80");
    assert_eq!((surprises(&built, "one"), surprises(&built, "two").len()), (Vec::new(), 1));
    assert!(surprises(&built, "two")[0].contains("of the older Ingress ns/one"), "{:?}", surprises(&built, "two"));
}

#[test]
fn two_canaries_that_share_a_service_do_not_share_their_rules() {
    let first = ingress("first", &[]).rule("a.test", "/", "Prefix", "first");
    let second = ingress("second", &[]).rule("b.test", "/", "Prefix", "second");
    let one = ingress("one", &[("canary", "true"), ("canary-weight", "10")]).rule("a.test", "/", "Prefix", "new");
    let two = ingress("two", &[("canary", "true"), ("canary-weight", "20")]).rule("b.test", "/", "Prefix", "new");
    let built = build(vec![first, second, one, two]);
    assert_eq!(
        (field(&built, "first", "alternative")["canary_weight"].take(), field(&built, "second", "alternative")["canary_weight"].take()),
        (json!(10), json!(20))
    );
}

#[test]
fn a_service_of_a_canary_can_have_locations_of_its_own() {
    let main = ingress("main", &[]).rule("a.test", "/", "Prefix", "main");
    let canary = ingress("canary", &CANARY).rule("a.test", "/", "Prefix", "new");
    let built = build(vec![canary, main, ingress("new", &[]).rule("new.test", "/", "Prefix", "new")]);
    assert_eq!(&*built.model.live.hosts["new.test"].routes[0].backend, "ns/new:80");
    assert_eq!(field(&built, "main", "alternative")["backend"], "ns/new:80");
}

#[test]
fn a_canary_with_a_default_backend_adds_to_all_of_the_catch_all() {
    let main = ingress("main", &[]).default_backend("main");
    let other = ingress("other", &[]).rule("", "/x", "Prefix", "other");
    let built = build(vec![main, other, ingress("new", &CANARY).default_backend("new")]);
    assert_eq!(
        (field(&built, "main", "alternative")["backend"].take(), field(&built, "other", "alternative")["backend"].take()),
        (json!("ns/new:80"), json!("ns/new:80"))
    );
    assert_eq!(&*built.model.live.hosts["_"].routes[0].backend, "ns/main:80");
}

#[test]
fn a_canary_that_alone_protects_a_path_is_told_what_serves_its_service_without_that() {
    let main = ingress("main", &[]).rule("a.test", "/", "Prefix", "main");
    let guard = [CANARY[0], CANARY[1], ("auth-url", "http://a/")];
    let said = |annotations: &[(&str, &str)]| {
        let canary = ingress("new", annotations).rule("a.test", "/admin", "Prefix", "main");
        surprises(&build(vec![ingress("main", &[]).rule("a.test", "/", "Prefix", "main"), canary]), "new").join("\n")
    };
    let open = "the rule for \"/\" serves the same Service without what protects it here";
    assert!(said(&guard).contains(open) && said(&guard).contains("a canary protects nothing"), "{}", said(&guard));
    assert!(!said(&CANARY).contains(open), "{}", said(&CANARY));
    // Of a Service that nothing else serves there is nothing to say.
    let built = build(vec![main, ingress("new", &guard).rule("a.test", "/admin", "Prefix", "new")]);
    assert!(!surprises(&built, "new").join("\n").contains(open));
}
