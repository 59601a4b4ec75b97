//! Answers about a small cluster.

use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use model::{BuildOptions, Builder, Built, HostRecord, ObjectKey, Snapshot};
use serde_json::json;

use super::*;

const PREFIX: &str = "nginx.ingress.kubernetes.io";

struct Cluster {
    snapshot: Snapshot,
    built: Built,
    map: ObjectKey,
}

/// Ingresses of namespace `shop`: name, class, annotations (without prefix), host and its paths. Each path leads to a Service like the Ingress.
type Given<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str, &'a [&'a str]);

fn cluster(ingresses: &[Given<'_>], settings: &[(&str, &str)]) -> Cluster {
    let mut snapshot = Snapshot { ingress_classes: Some(Default::default()), ..Snapshot::default() };
    for (name, class, annotations, host, paths) in ingresses {
        let annotations: serde_json::Map<_, _> =
            annotations.iter().map(|(name, value)| (format!("{PREFIX}/{name}"), json!(value))).collect();
        let backend = json!({ "service": { "name": name, "port": { "number": 80 } } });
        let paths: Vec<_> = paths.iter().map(|path| json!({ "path": path, "pathType": "Prefix", "backend": backend })).collect();
        let object = json!({
            "metadata": { "namespace": "shop", "name": name, "annotations": annotations, "creationTimestamp": "2026-01-01T00:00:00Z" },
            "spec": {
                "ingressClassName": class,
                "rules": [{ "host": host, "http": { "paths": paths } }],
                "tls": [{ "hosts": [host], "secretName": "cert" }],
            },
        });
        let object: k8s_openapi::api::networking::v1::Ingress = serde_json::from_value(object).unwrap();
        snapshot.ingresses.insert(ObjectKey::new("shop", *name), Arc::new(object.into()));
        service(&mut snapshot, name);
    }
    let map = ObjectKey::new("n", "settings");
    let data = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    snapshot.config_maps.insert(map.clone(), Arc::new(ConfigMap { data: Some(data), ..ConfigMap::default() }));
    let secret = Secret { data: Some([("tls.crt".to_owned(), ByteString(b"none".to_vec()))].into()), ..Secret::default() };
    snapshot.secrets.insert(ObjectKey::new("shop", "cert"), Arc::new(secret));
    let options = BuildOptions { implied_class: true, configmap: Some(map.clone()), ..BuildOptions::default() };
    Cluster { built: Builder::new(options).build(&snapshot), snapshot, map }
}

/// A Service with two endpoints, the one named `empty` with none.
fn service(snapshot: &mut Snapshot, name: &str) {
    let key = ObjectKey::new("shop", name);
    let object = json!({ "metadata": { "namespace": "shop", "name": name }, "spec": { "ports": [{ "port": 80, "targetPort": 8080 }] } });
    let service: k8s_openapi::api::core::v1::Service = serde_json::from_value(object).unwrap();
    snapshot.services.insert(key.clone(), Arc::new(service.into()));
    let addresses: &[&str] = if name == "empty" { &[] } else { &["10.0.0.1", "10.0.0.2"] };
    let slice = json!({
        "metadata": { "namespace": "shop", "name": name, "labels": { "kubernetes.io/service-name": name } },
        "addressType": "IPv4",
        "endpoints": addresses.iter().map(|address| json!({ "addresses": [address] })).collect::<Vec<_>>(),
        "ports": [{ "port": 8080 }],
    });
    let slice: k8s_openapi::api::discovery::v1::EndpointSlice = serde_json::from_value(slice).unwrap();
    snapshot.endpoint_slices.insert(key, Arc::new(slice.into()));
}

fn usual() -> Cluster {
    let canary = [("canary", "true"), ("canary-weight", "25"), ("canary-by-header", "X-New"), ("canary-by-header-value", "yes")];
    cluster(
        &[
            ("web", "nginx", &[("proxy-read-timeout", "30"), ("proxy-send-timeout", "soon")], "a.example", &["/", "/cart"]),
            ("next", "nginx", &canary, "a.example", &["/"]),
            ("empty", "nginx", &[("load-balance", "ewma")], "b.example", &["/"]),
            ("bad", "nginx", &[("server-snippet", "return 200;")], "c.example", &["/"]),
            ("other", "another", &[], "d.example", &["/"]),
        ],
        &[("proxy-connect-timeout", "7"), ("proxy-buffers-number", "none")],
    )
}

/// Calls with the state of a cluster.
fn with<T>(cluster: &Cluster, ask: impl FnOnce(&State<'_>) -> T) -> T {
    let held = |host: &str, _: &HostRecord| host == "b.example";
    let state = State {
        built: &cluster.built,
        snapshot: &cluster.snapshot,
        index: &Index::default(),
        running: None,
        is_held: &held,
        since: &|_| Some(5.0),
        traffic: None,
        prefix: PREFIX,
        configmap: Some(&cluster.map),
        time: 0.0,
    };
    ask(&state)
}

fn part(part: &str) -> Query {
    Query { part: part.to_owned(), ..Query::default() }
}

#[test]
fn each_ingress_has_the_state_that_it_is_in_and_why() {
    let list = with(&usual(), |state| ingresses(state, &Query::default()));
    let states: Vec<_> = list.items.iter().map(|of| (&*of.name, of.state)).collect();
    let expected = [
        ("bad", IngressState::Refused),
        ("empty", IngressState::Served),
        ("next", IngressState::Served),
        ("other", IngressState::NotOurs),
        ("web", IngressState::Served),
    ];
    assert_eq!(states, expected);
    let (bad, web) = (&list.items[0], &list.items[4]);
    assert!(bad.reason.as_deref().is_some_and(|reason| reason.contains("annotations-risk-level")), "{bad:?}");
    assert_eq!(
        (web.class.as_deref(), web.created, &*web.hosts, web.paths),
        (Some("nginx"), Some(1_767_225_600.0), &["a.example".to_owned()][..], 2)
    );
    assert_eq!((web.reason.as_deref(), web.problems > 0, &*web.tls), (None, true, &["cert".to_owned()][..]));
    let found = |query: &Query| with(&usual(), |state| ingresses(state, query)).items.into_iter().map(|of| of.name).collect::<Vec<_>>();
    assert_eq!(found(&part("a.exam")), ["next", "web"]);
    assert_eq!(found(&Query { namespace: Some("n".into()), ..Query::default() }), [""; 0]);
    assert_eq!(found(&Query { state: Some(IngressState::NotOurs), ..Query::default() }), ["other"]);
}

#[test]
fn a_host_has_its_paths_in_the_order_in_which_they_are_tried() {
    let cluster = usual();
    let list = with(&cluster, |state| hosts(state, &Query::default()));
    let seen: Vec<_> = list.items.iter().map(|of| (&*of.host, of.paths, of.held)).collect();
    assert_eq!(seen, [("_", 1, false), ("a.example", 2, false), ("b.example", 1, true)]);
    let detail = with(&cluster, |state| host(state, "a.example")).unwrap();
    let paths: Vec<_> = detail.paths.iter().map(|of| (&*of.path, of.matches, of.backend.as_deref())).collect();
    assert_eq!(paths, [("/cart", PathMatch::Prefix, Some("shop/web:80")), ("/", PathMatch::Prefix, Some("shop/web:80"))]);
    assert_eq!(detail.paths[0].ingress.as_deref(), Some("shop/web"));
    let canary = Choice { backend: "shop/next:80".into(), weight: 0.25, header: Some("X-New: yes".into()), cookie: None };
    assert_eq!(detail.paths[1].canary, [canary]);
    assert_eq!((detail.server, detail.paths_total, detail.passthrough), (HostServerKind::Shared, 2, false));
    assert_eq!(with(&cluster, |state| host(state, "unknown.example")), None);
}

#[test]
fn settings_of_an_ingress_say_where_they_come_from() {
    let detail = with(&usual(), |state| host(state, "a.example")).unwrap();
    let of = |name: &str| detail.settings["shop/web"].iter().find(|setting| setting.name == name).cloned().unwrap();
    let setting = |name: &str, value: &str, from, object: Option<&str>| EffectiveSetting {
        name: name.into(),
        value: value.into(),
        from,
        object: object.map(str::to_owned),
    };
    assert_eq!(of("proxy-read-timeout"), setting("proxy-read-timeout", "30", Origin::Annotation, Some("Ingress shop/web")));
    assert_eq!(of("proxy-connect-timeout"), setting("proxy-connect-timeout", "7", Origin::Configmap, Some("ConfigMap n/settings")));
    // What is not usable is not in effect.
    assert_eq!(of("proxy-send-timeout"), setting("proxy-send-timeout", "60", Origin::Default, None));
}

#[test]
fn a_finding_has_the_value_what_was_expected_and_what_to_do() {
    let cluster = usual();
    let all = with(&cluster, |state| problems(state, &Query::default(), None)).items;
    assert!(all.is_sorted_by_key(|of| of.severity), "{all:?}");
    let errors = with(&cluster, |state| problems(state, &Query { severity: Some(Severity::Error), ..Query::default() }, None));
    assert_eq!(errors.total, all.iter().filter(|of| of.severity == Severity::Error).count());
    let found = with(&cluster, |state| problems(state, &part("proxy-send-timeout"), Some("InvalidValue"))).items;
    let [timeout] = &*found else { panic!("{found:?}") };
    assert_eq!((&*timeout.object, timeout.namespace.as_deref(), &*timeout.name), ("Ingress shop/web", Some("shop"), "web"));
    assert_eq!((timeout.value.as_deref(), timeout.severity, timeout.since), (Some("soon"), Severity::Warning, Some(5.0)));
    assert!(timeout.expected.as_deref().is_some_and(|expected| !expected.contains('`')), "{timeout:?}");
    let of_map = with(&cluster, |state| problems(state, &part("proxy-buffers-number"), None)).items;
    assert_eq!(of_map.first().and_then(|of| of.value.as_deref()), Some("none"), "{of_map:?}");
    assert_eq!(timeout.fix, facts(model::ProblemKind::InvalidValue).fix);
}

#[test]
fn a_backend_has_its_users_and_the_shares_of_its_endpoints() {
    let cluster = usual();
    let list = with(&cluster, |state| backends(state, &part("shop/")));
    let seen: Vec<_> = list.items.iter().map(|of| (&*of.name, of.endpoints, of.used_by_paths, &*of.balancing)).collect();
    let expected = [("shop/empty:80", 0, 1, "ewma"), ("shop/next:80", 2, 0, "round_robin"), ("shop/web:80", 2, 2, "round_robin")];
    assert_eq!(seen, expected);
    let detail = with(&cluster, |state| backend(state, "shop/web:80")).unwrap();
    assert_eq!((&*detail.backend.service, &*detail.backend.port, &*detail.backend.ingresses), ("web", "80", &["shop/web".to_owned()][..]));
    let shares: Vec<_> = detail.endpoints.iter().map(|of| (&*of.address, of.port, of.share)).collect();
    assert_eq!(shares, [("10.0.0.1", 8080, Some(0.5)), ("10.0.0.2", 8080, Some(0.5))]);
    assert_eq!(detail.choices.len(), 1);
    assert_eq!(with(&cluster, |state| backend(state, "shop/none:80")), None);
}

#[test]
fn settings_count_the_ingresses_that_say_otherwise() {
    let cluster = usual();
    let flag = Setting {
        name: "--http-port".into(),
        value: "8080".into(),
        default: "80".into(),
        from: Origin::Flag,
        scope: SettingScope::Start,
        annotations: 0,
        problem: None,
    };
    let of = |part_of: &str, changed| with(&cluster, |state| settings(state, std::slice::from_ref(&flag), &part(part_of), changed)).items;
    let read = &of("proxy-read-timeout", true)[0];
    assert_eq!((&*read.value, read.from, read.annotations), ("60", Origin::Default, 1));
    let connect = &of("proxy-connect-timeout", true)[0];
    assert_eq!((&*connect.value, &*connect.default, connect.from), ("7", "5", Origin::Configmap));
    assert!(of("proxy-buffers-number", true)[0].problem.is_some());
    assert_eq!(of("--http-port", true), std::slice::from_ref(&flag));
    assert_eq!(of("server-tokens", true), []);
    assert_eq!(of("server-tokens", false).len(), 1);
}

#[test]
fn a_key_of_session_tickets_is_in_no_answer() {
    let (good, bad) = ("A".repeat(64), "c2VjcmV0".to_owned());
    for value in [&good, &bad] {
        let cluster = cluster(&[], &[("ssl-session-ticket-key", value)]);
        let setting = with(&cluster, |state| settings(state, &[], &part("ssl-session-ticket-key"), false)).items.remove(0);
        assert_eq!((&*setting.value, setting.problem.is_some()), (if value == &good { "(hidden)" } else { "" }, value == &bad));
        let problems = with(&cluster, |state| problems(state, &Query::default(), None));
        let all = serde_json::to_string(&(setting, problems)).unwrap();
        assert!(!all.contains(&**value), "{all}");
    }
}

#[test]
fn what_is_finite_is_given_by_namespace() {
    let cluster = usual();
    let name: Arc<str> = "shop".into();
    let namespaces = [(&name, model::Weight([100, 0, 0, 0, 0, 0]))].into();
    let list = with(&cluster, |state| budgets(state, &namespaces, &Query::default()));
    assert_eq!(list.total, model::Resource::ALL.len());
    let state = &list.items[0];
    assert_eq!((&*state.resource, state.capacity > 0, state.namespaces.len()), ("state", true, 1));
    assert_eq!((&*state.namespaces[0].namespace, state.namespaces[0].used), ("shop", 100));
    assert!(list.items[1].namespaces.is_empty());
}

#[test]
fn numbers_are_those_of_the_lists() {
    let cluster = usual();
    let counts = Counts::of(&cluster.built, 3);
    let total = |count| Query { limit: Some(count), ..Query::default() };
    assert_eq!(counts.hosts, with(&cluster, |state| hosts(state, &total(0))).total);
    assert_eq!(counts.backends, with(&cluster, |state| backends(state, &total(0))).total);
    assert_eq!((counts.ingresses, counts.paths, counts.endpoints, counts.problems), (3, 4, 4, 3));
    assert_eq!(with(&cluster, |state| certificates(state, &Query::default())).total, cluster.built.certificates.len());
}

#[test]
fn what_is_written_is_read_again() {
    let detail = with(&usual(), |state| host(state, "a.example")).unwrap();
    let text = serde_json::to_string(&detail).unwrap();
    assert_eq!(serde_json::from_str::<HostDetail>(&text).unwrap(), detail);
    assert!(
        text.contains(r#""server":"shared""#) && text.contains(r#""type":"Prefix""#) && text.contains(r#""from":"annotation""#),
        "{text}"
    );
    let row = TrafficRow { key: "a".into(), namespace: None, traffic: Traffic { requests: 1, ..Traffic::default() } };
    let text = serde_json::to_string(&row).unwrap();
    assert_eq!(serde_json::from_str::<TrafficRow>(&text).unwrap(), row);
    assert!(text.contains(r#""requests":1"#) && !text.contains("p50"), "{text}");
}
