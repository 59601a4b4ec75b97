//! Server blocks of single hosts: what is in them, and the hosts that have to be named beside them.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use model::plan::reasons;
use model::{BuildOptions, Builder, Fixed, HostServer, ObjectKey, Snapshot};
use serde_json::{Value, json};

const PREFIX: &str = "nginx.ingress.kubernetes.io";

fn object<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn put(snapshot: &mut Snapshot, name: &str, host: &str, annotations: Value) {
    let backend = json!({"service": {"name": "shop", "port": {"number": 80}}});
    let rules = json!([{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]);
    let metadata = json!({"namespace": "ns", "name": name, "annotations": annotations});
    let ingress = json!({"metadata": metadata, "spec": {"ingressClassName": "nginx", "rules": rules}});
    snapshot.ingresses.insert(ObjectKey::new("ns", name), Arc::new(object::<Ingress>(ingress).into()));
}

fn world() -> (Builder, Snapshot) {
    let options = ObjectKey::new("ns", "settings");
    let mut snapshot = Snapshot::default();
    let class = object::<IngressClass>(json!({"metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}));
    snapshot.ingress_classes.get_or_insert_default().insert("nginx".into(), Arc::new(class));
    let data = json!({"annotations-risk-level": "Critical", "allow-snippet-annotations": "true"});
    snapshot.config_maps.insert(options.clone(), Arc::new(object::<ConfigMap>(json!({ "data": data }))));
    (Builder::new(BuildOptions { configmap: Some(options), ..BuildOptions::default() }), snapshot)
}

fn pinned_names(fixed: &Fixed) -> Vec<&str> {
    fixed.pinned_names.iter().map(|name| &**name).collect()
}

#[test]
fn hosts_are_named_while_a_pattern_with_a_block_would_catch_them() {
    let (mut builder, mut snapshot) = world();
    let with_block = json!({format!("{PREFIX}/server-snippet"): "# text"});
    for host in ["a.wild.com", "a.b.wild.com", "wild.com", "x.other.com"] {
        put(&mut snapshot, host, host, json!({}));
    }
    put(&mut snapshot, "own", "own.wild.com", with_block.clone());
    put(&mut snapshot, "wild", "*.wild.com", json!({}));
    let before = builder.build(&snapshot).model.fixed;
    assert_eq!(pinned_names(&before), Vec::<&str>::new(), "without a block Lua finds the host");

    put(&mut snapshot, "wild", "*.wild.com", with_block.clone());
    let after = builder.build(&snapshot).model.fixed;
    assert_eq!(pinned_names(&after), ["a.wild.com"], "one label, and no host that has a block itself");
    assert!(reasons(&before, &after).iter().any(|reason| reason.label() == "pinned_name"));

    put(&mut snapshot, "late", "late.wild.com", json!({}));
    snapshot.ingresses.remove(&ObjectKey::new("ns", "a.wild.com"));
    let late = builder.build(&snapshot).model.fixed;
    assert_eq!(pinned_names(&late), ["late.wild.com"]);
    let why: Vec<String> = reasons(&after, &late).iter().map(ToString::to_string).collect();
    assert_eq!(why, ["host late.wild.com begins or ceases to lie below a pattern with a server block of its own"]);

    put(&mut snapshot, "wild", "*.wild.com", json!({}));
    assert_eq!(pinned_names(&builder.build(&snapshot).model.fixed), Vec::<&str>::new());
}

#[test]
fn aliases_that_are_patterns_catch_hosts_too() {
    let (mut builder, mut snapshot) = world();
    let aliases = "*.many.com,~^v[0-9]+\\.example\\.com$,plain.com";
    let annotations = json!({format!("{PREFIX}/server-snippet"): "# text", format!("{PREFIX}/server-alias"): aliases});
    put(&mut snapshot, "main", "main.com", annotations);
    for host in ["a.b.many.com", "many.com", "v1.example.com", "va.example.com", "other.com"] {
        put(&mut snapshot, host, host, json!({}));
    }
    let fixed = builder.build(&snapshot).model.fixed;
    assert_eq!(pinned_names(&fixed), ["a.b.many.com", "v1.example.com"]);
}

#[test]
fn a_server_block_has_the_profiles_of_its_own_routes_and_one_that_is_no_longer_used_is_no_reason() {
    let (mut builder, mut snapshot) = world();
    let own = |size: &str| json!({format!("{PREFIX}/server-snippet"): "# text", format!("{PREFIX}/proxy-buffer-size"): size});
    put(&mut snapshot, "own", "own.com", own("17k"));
    put(&mut snapshot, "other", "other.com", json!({format!("{PREFIX}/proxy-buffer-size"): "19k"}));
    let before = builder.build(&snapshot);
    let profiles = |fixed: &Fixed| fixed.host_servers["own.com"].profiles.clone();
    let routes = &before.model.live.hosts["own.com"].routes;
    assert_eq!(profiles(&before.model.fixed), routes.iter().map(|route| route.profile.clone()).collect());

    let labels = |old: &Fixed, new: &Fixed| reasons(old, new).iter().map(model::plan::Reason::label).collect::<Vec<_>>();
    put(&mut snapshot, "own", "own.com", own("19k"));
    let shared = builder.build(&snapshot).model.fixed;
    assert_eq!(labels(&before.model.fixed, &shared), ["host_server"], "the profile is there, but not in this block");

    let mut both = shared.clone();
    let union = profiles(&shared).into_iter().chain(profiles(&before.model.fixed)).collect();
    both.host_servers.insert("own.com".into(), Arc::new(HostServer { profiles: union, ..(*shared.host_servers["own.com"]).clone() }));
    assert_eq!(labels(&both, &shared), [""; 0]);
}

#[test]
fn wildcards_are_named_while_a_regular_expression_with_a_block_might_catch_them() {
    let (mut builder, mut snapshot) = world();
    let text = |aliases: &str| json!({format!("{PREFIX}/server-snippet"): "# text", format!("{PREFIX}/server-alias"): aliases});
    put(&mut snapshot, "wild", "*.wild.com", json!({}));
    put(&mut snapshot, "own", "*.own.com", text(""));
    put(&mut snapshot, "main", "main.com", text("*.many.com"));
    assert_eq!(pinned_names(&builder.build(&snapshot).model.fixed), Vec::<&str>::new());
    put(&mut snapshot, "main", "main.com", text("~x"));
    assert_eq!(pinned_names(&builder.build(&snapshot).model.fixed), ["*.wild.com"]);
}

#[test]
fn an_alias_that_another_host_has_is_no_name_of_a_block() {
    let (mut builder, mut snapshot) = world();
    let text = |aliases: &str| json!({format!("{PREFIX}/server-snippet"): "# text", format!("{PREFIX}/server-alias"): aliases});
    put(&mut snapshot, "a", "a.com", text("shop.com,*.wild.com,own.com,both.com"));
    put(&mut snapshot, "b", "b.com", text("both.com"));
    let aliases = |fixed: &Fixed, host: &str| fixed.host_servers[host].aliases.iter().map(ToString::to_string).collect::<Vec<_>>();
    let before = builder.build(&snapshot).model.fixed;
    assert_eq!(aliases(&before, "a.com"), ["*.wild.com", "both.com", "own.com", "shop.com"]);
    assert_eq!(aliases(&before, "b.com"), [""; 0]);

    put(&mut snapshot, "shop", "shop.com", json!({}));
    put(&mut snapshot, "wild", "*.wild.com", json!({}));
    put(&mut snapshot, "own", "own.com", text(""));
    let after = builder.build(&snapshot).model.fixed;
    assert_eq!(aliases(&after, "a.com"), ["both.com"]);
    assert!(after.host_servers.contains_key("own.com") && !after.host_servers.contains_key("shop.com"));

    for name in ["a", "shop"] {
        snapshot.ingresses.remove(&ObjectKey::new("ns", name));
    }
    assert_eq!(aliases(&builder.build(&snapshot).model.fixed, "b.com"), ["both.com"]);
}

#[test]
fn rules_without_a_host_have_no_server_block_and_are_closed_where_its_text_is_missing() {
    let (mut builder, mut snapshot) = world();
    put(&mut snapshot, "text", "", json!({format!("{PREFIX}/server-snippet"): "deny all;"}));
    let built = builder.build(&snapshot);
    assert!(built.model.fixed.host_servers.is_empty());
    assert!(built.model.live.hosts["_"].routes.iter().all(|route| route.denied));
    let expected = "server-snippet: expected rules with a host, as what has none shares its server block with the hosts of others; its paths of no host answer 503";
    assert!(built.problems().iter().any(|problem| problem.detail == expected));

    put(&mut snapshot, "text", "", json!({format!("{PREFIX}/ssl-ciphers"): "HIGH"}));
    let built = builder.build(&snapshot);
    assert!(built.model.fixed.host_servers.is_empty());
    assert!(built.model.live.hosts["_"].routes.iter().all(|route| !route.denied));
    assert!(built.problems().iter().any(|problem| problem.detail.starts_with("ssl-ciphers: expected rules with a host")));
}
