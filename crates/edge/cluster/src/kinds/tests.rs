//! The fields that are kept of real-looking objects.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use model::{EndpointSlice, Ingress, Service};
use serde_json::{Value, json};

use super::*;

fn slim<K: Watched>(value: Value) -> (K, Vec<Address>) {
    let Slim { meta, object, addresses } = K::slim(serde_json::from_value(value).unwrap());
    let identity = json!({"name": meta.name, "namespace": meta.namespace, "resourceVersion": meta.resource_version});
    assert_eq!(*meta, serde_json::from_value(identity).unwrap());
    (Arc::unwrap_or_clone(object), addresses)
}

fn noisy_meta() -> Value {
    json!({
        "name": "shop", "namespace": "default", "uid": "u", "resourceVersion": "5", "generation": 2,
        "creationTimestamp": "2026-01-01T00:00:00Z",
        "labels": {"app": "shop", "kubernetes.io/service-name": "shop"},
        "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}", "example.com/kept": "yes"},
        "finalizers": ["f"], "ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"}],
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}]
    })
}

fn bare_meta() -> ObjectMeta {
    serde_json::from_value(json!({"name": "shop", "namespace": "default", "uid": "u"})).unwrap()
}

#[test]
fn an_ingress_keeps_its_spec_and_annotations_and_gives_its_addresses_apart() {
    let (ingress, addresses) = slim::<Ingress>(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": noisy_meta(),
        "spec": {"ingressClassName": "nginx", "rules": [{"host": "a.example", "http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ports": []}, {"hostname": "lb.example"}]}}
    }));
    assert_eq!(ingress.annotations, [("example.com/kept".to_owned(), "yes".to_owned())].into());
    assert_eq!((ingress.uid.as_deref(), ingress.created_seconds), (Some("u"), 1_767_225_600));
    assert_eq!((&*ingress.rules[0].host, ingress.rules[0].paths.len(), ingress.class.as_deref()), ("a.example", 1, Some("nginx")));
    assert_eq!(addresses, [Address::ip("192.0.2.1"), Address::hostname("lb.example")]);
}

#[test]
fn a_service_and_a_slice_become_what_the_model_reads() {
    let (service, _) = slim::<Service>(json!({
        "metadata": noisy_meta(),
        "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "selector": {"app": "shop"}, "ports": [{"port": 80}], "sessionAffinity": "None"},
        "status": {"loadBalancer": {}}
    }));
    assert_eq!((service.uid.as_deref(), service.cluster_ip, service.ports.len()), (Some("u"), "10.0.0.1".parse().ok(), 1));
    let (slice, _) = slim::<EndpointSlice>(json!({
        "metadata": noisy_meta(), "addressType": "IPv4", "ports": [{"port": 8080}],
        "endpoints": [{"addresses": ["10.1.0.1"], "conditions": {"ready": true}, "nodeName": "n", "zone": "z",
            "targetRef": {"kind": "Pod", "name": "p"}}]
    }));
    assert_eq!((slice.uid.as_deref(), slice.service.as_deref()), (Some("u"), Some("shop")));
    assert_eq!((slice.endpoints[0].address.to_string(), slice.endpoints[0].ready), ("10.1.0.1".to_owned(), true));
}

#[test]
fn a_slice_whose_endpoints_are_null_is_empty() {
    let (slice, _) = slim::<EndpointSlice>(json!({"metadata": {"name": "s"}, "addressType": "IPv4", "endpoints": null, "ports": null}));
    assert!(slice.endpoints.is_empty());
}

#[test]
fn secrets_config_maps_and_namespaces_keep_what_they_are_for() {
    let (secret, _) = slim::<Secret>(json!({"metadata": noisy_meta(), "type": "kubernetes.io/tls", "data": {"tls.crt": "YQ=="}}));
    assert_eq!(secret.metadata, bare_meta());
    assert_eq!(secret.data.unwrap()["tls.crt"].0, b"a");
    let (map, _) = slim::<ConfigMap>(json!({"metadata": noisy_meta(), "data": {"k": "v"}}));
    assert_eq!((map.metadata, map.data), (bare_meta(), Some([("k".to_owned(), "v".to_owned())].into())));
    let (namespace, _) = slim::<Namespace>(json!({"metadata": noisy_meta(), "status": {"phase": "Active"}}));
    assert_eq!(namespace.metadata.labels.unwrap().len(), 2);
    assert_eq!(namespace.status, None);
}
