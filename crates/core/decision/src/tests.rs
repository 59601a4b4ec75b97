//! Decisions about small clusters. What NGINX does is compared in `tests/equivalence`.

use std::sync::Arc;

use k8s_openapi::api::networking::v1::Ingress;
use model::{BuildOptions, Builder, Built, ObjectKey, Snapshot};
use serde_json::json;

use crate::{Decision, Outcome, Request, decide};

/// An Ingress of class `nginx`: name, annotations (without prefix), host, paths.
type Given<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, &'a [&'a str]);

fn cluster(ingresses: &[Given<'_>]) -> (Snapshot, Built) {
    let mut snapshot = Snapshot { ingress_classes: Some(Default::default()), ..Snapshot::default() };
    for (name, annotations, host, paths) in ingresses {
        let annotations: serde_json::Map<_, _> =
            annotations.iter().map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), json!(value))).collect();
        let paths: Vec<_> = paths
            .iter()
            .map(|path| json!({ "path": path, "pathType": "Prefix", "backend": { "service": { "name": name, "port": { "number": 80 } } } }))
            .collect();
        let object = json!({
            "metadata": { "namespace": "shop", "name": name, "annotations": annotations },
            "spec": { "ingressClassName": "nginx", "rules": [{ "host": host, "http": { "paths": paths } }] },
        });
        let ingress: Ingress = serde_json::from_value(object).unwrap();
        snapshot.ingresses.insert(ObjectKey::new("shop", *name), Arc::new(ingress.into()));
        let address = if *name == "empty" { None } else { Some("10.0.0.1:8080".parse().unwrap()) };
        snapshot.services.insert(ObjectKey::new("shop", *name), Arc::new(testkit::kube::mk_service(name, 80, 8080, None).into()));
        let slice = testkit::kube::mk_slice(name, name, address.as_slice());
        snapshot.endpoint_slices.insert(ObjectKey::new("shop", *name), Arc::new(slice.into()));
    }
    let built = Builder::new(BuildOptions { implied_class: true, ..BuildOptions::default() }).build(&snapshot);
    (snapshot, built)
}

fn decided((snapshot, built): &(Snapshot, Built), request: &Request) -> Decision {
    decide(built, &snapshot.ingresses, request).unwrap()
}

#[test]
fn other_rules_that_match_are_named_with_the_reason() {
    let cluster = cluster(&[
        ("wide", &[], "shop.example.com", &["/"]),
        ("cart", &[], "shop.example.com", &["/cart"]),
        ("cart-b", &[], "shop.example.com", &["/cart"]),
        ("any", &[], "*.example.com", &["/cart"]),
        ("bad", &[("server-snippet", "return 200;")], "shop.example.com", &["/cart"]),
    ]);
    let decision = decided(&cluster, &Request::get("http://shop.example.com/cart/5").unwrap());
    assert_eq!(decision.location.as_ref().unwrap().ingress.as_deref(), Some("shop/cart-b"), "the greater name of the same age");
    let because = |name: &str| decision.others.iter().find(|other| other.ingress == name).map(|other| other.because.clone()).unwrap();
    assert!(because("shop/cart").contains("shop/cart-b has the same path"), "{}", because("shop/cart"));
    assert_eq!(because("shop/wide"), "\"/cart/\" of shop/cart-b is longer");
    assert_eq!(because("shop/any"), "\"shop.example.com\" is more specific than its host");
    assert!(because("shop/bad").starts_with("it is not served: "), "{}", because("shop/bad"));
    assert_eq!(decision.others.len(), 4);
    assert!(decision.is_served());
}

#[test]
fn what_is_not_known_of_the_client_is_a_condition() {
    let lists = [("whitelist-source-range", "10.0.0.0/8"), ("limit-rps", "5")];
    let cluster = cluster(&[("admin", &lists, "admin.example.com", &["/"])]);
    let request = Request::get("http://admin.example.com/").unwrap();
    let when = |request: &Request| decided(&cluster, request).conditions.into_iter().map(|condition| condition.when).collect::<Vec<_>>();
    let limit = "the client sends more than 5 requests in a second, and 25 at once";
    assert_eq!(when(&request), [limit, "the client's address is not in 10.0.0.0/8"]);
    let known = |client: &str| Request { client: Some(client.parse().unwrap()), ..request.clone() };
    assert_eq!(when(&known("10.1.2.3")), [limit]);
    let refused = decided(&cluster, &known("192.0.2.1"));
    assert!(matches!(refused.outcome, Outcome::Answer { status: 403, .. }), "{refused}");
}

#[test]
fn a_request_that_no_rule_or_no_endpoint_has_is_not_served() {
    let cluster = cluster(&[("shop", &[], "shop.example.com", &["/cart"]), ("empty", &[], "empty.example.com", &["/"])]);
    let decision = decided(&cluster, &Request::get("http://unknown.example.com/").unwrap());
    assert!(matches!(decision.outcome, Outcome::Answer { status: 404, .. }) && !decision.is_served(), "{decision}");
    // What is left out as it is empty is read as empty again.
    let again: Decision = serde_json::from_str(&serde_json::to_string(&decision).unwrap()).unwrap();
    assert_eq!(again, decision);
    let decision = decided(&cluster, &Request::get("http://shop.example.com/elsewhere").unwrap());
    assert!(matches!(decision.outcome, Outcome::Answer { status: 404, .. }) && !decision.is_served(), "{decision}");
    let decision = decided(&cluster, &Request::get("http://empty.example.com/").unwrap());
    assert!(matches!(decision.outcome, Outcome::Answer { status: 503, .. }) && !decision.is_served(), "{decision}");
}

#[test]
fn a_canary_takes_its_share_and_nothing_moves_the_cursor() {
    let canary = [("canary", "true"), ("canary-weight", "25"), ("canary-by-header", "X-Canary")];
    let cluster = cluster(&[("main", &[], "shop.example.com", &["/"]), ("next", &canary, "shop.example.com", &["/"])]);
    let request = Request::get("http://shop.example.com/").unwrap();
    let shares = |request: &Request| match decided(&cluster, request).outcome {
        Outcome::Proxy { backends, .. } => backends.iter().map(|share| (share.backend.to_string(), share.percent)).collect::<Vec<_>>(),
        answer @ Outcome::Answer { .. } => panic!("{answer}"),
    };
    assert_eq!(shares(&request), [("shop/main:80".to_owned(), 75.0), ("shop/next:80".to_owned(), 25.0)]);
    assert_eq!(shares(&request.clone().with_header("X-Canary: always").unwrap()), [("shop/next:80".to_owned(), 100.0)]);
    assert_eq!(shares(&request.clone().with_header("X-Canary: never").unwrap()), [("shop/main:80".to_owned(), 100.0)]);
    let decision = decided(&cluster, &Request { target: "/a%1b[2J".into(), ..request });
    let text = decision.to_string();
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()) && text.contains("Gets         /a%1b[2J"), "{text}");
    let again: Decision = serde_json::from_str(&serde_json::to_string(&decision).unwrap()).unwrap();
    assert_eq!(again, decision);
}
