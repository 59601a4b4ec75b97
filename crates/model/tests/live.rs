//! What the table of annotations says about reloads is so.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

use std::sync::Arc;

use annotations::Applies;
use k8s_openapi::api::networking::v1::Ingress;
use model::{Builder, Built, ObjectKey, Settings, Snapshot};
use serde_json::json;

/// Two Ingresses of the host `h`: one without annotations, one below the path `/b` with these.
fn build(annotations: &[(&str, &str)]) -> Built {
    let mut snapshot = Snapshot::default();
    // There are no classes, so that of the Ingress is taken for granted.
    snapshot.ingress_classes.get_or_insert_default();
    for (name, path, annotations) in [("a", "/", &[][..]), ("b", "/b", annotations)] {
        let annotations: serde_json::Map<String, serde_json::Value> =
            annotations.iter().map(|(key, value)| (format!("nginx.ingress.kubernetes.io/{key}"), (*value).into())).collect();
        let path = json!({"path": path, "pathType": "Prefix", "backend": {"service": {"name": "shop", "port": {"number": 80}}}});
        let ingress: Ingress = serde_json::from_value(json!({
            "metadata": {"annotations": annotations, "uid": name},
            "spec": {"ingressClassName": "nginx", "rules": [{"host": "h", "http": {"paths": [path]}}]},
        }))
        .unwrap();
        snapshot.ingresses.insert(ObjectKey::new("ns", name), Arc::new(ingress.into()));
    }
    Builder::new(Settings { implied_class: true, ..Settings::default() }).build(&snapshot)
}

#[test]
fn what_is_called_live_asks_for_no_other_text() {
    for entry in annotations::descriptions().iter().filter(|entry| entry.live) {
        let (_, companions) = entry.example.split_last().unwrap();
        let (without, with) = (build(companions).model, build(&entry.example).model);
        assert!(without.fixed == with.fixed, "{}: {:?} needs a reload", entry.name, entry.example);
    }
}

#[test]
fn what_has_a_profile_that_is_always_there_asks_for_no_other_text() {
    let none = build(&[]).model;
    let ready: Vec<_> = annotations::descriptions().into_iter().filter(|entry| entry.applies == Applies::Ready.to_string()).collect();
    assert!(!ready.is_empty());
    for entry in ready {
        let with = build(&entry.example).model;
        assert!(none.fixed == with.fixed, "{}: {:?} needs a reload", entry.name, entry.example);
        assert_ne!(none.live, with.live, "{}: {:?} changes nothing", entry.name, entry.example);
    }
}

#[test]
fn every_protocol_and_switch_has_its_profile() {
    let none = build(&[]).model.fixed;
    let protocols = ["HTTPS", "AUTO_HTTP", "GRPC", "GRPCS", "FCGI"].map(|value| [("backend-protocol", value)]);
    let switches = [[("proxy-buffering", "on")], [("proxy-request-buffering", "off")], [("proxy-http-version", "1.0")]];
    for annotation in protocols.into_iter().chain(switches) {
        assert!(build(&annotation).model.fixed == none, "{annotation:?} needs a reload");
    }
}
