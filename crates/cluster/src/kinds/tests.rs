//! What is kept of real-looking objects.

use serde_json::{Value, json};

use super::*;

fn slim<K: Watched>(value: Value) -> (K, Vec<Address>) {
    K::slim(serde_json::from_value(value).unwrap())
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
    serde_json::from_value(json!({
        "name": "shop", "namespace": "default", "uid": "u", "resourceVersion": "5", "generation": 2, "creationTimestamp": "2026-01-01T00:00:00Z"
    }))
    .unwrap()
}

#[test]
fn an_ingress_keeps_its_spec_and_annotations_and_gives_its_addresses_apart() {
    let (ingress, addresses) = slim::<Ingress>(json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": noisy_meta(),
        "spec": {"ingressClassName": "nginx", "rules": [{"host": "a.example", "http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}}]}}]},
        "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1", "ports": []}, {"hostname": "lb.example"}]}}
    }));
    let annotations = Some([("example.com/kept".to_owned(), "yes".to_owned())].into());
    assert_eq!(ingress.metadata, ObjectMeta { annotations, ..bare_meta() });
    assert_eq!(ingress.status, None);
    let rules = ingress.spec.unwrap().rules.unwrap();
    assert_eq!((rules.len(), rules.capacity()), (1, 1));
    assert_eq!(rules[0].http.as_ref().unwrap().paths.capacity(), 1);
    assert_eq!(addresses, [Address::ip("192.0.2.1"), Address::hostname("lb.example")]);
}

#[test]
fn a_service_loses_its_selector_and_its_status() {
    let (service, _) = slim::<Service>(json!({
        "metadata": noisy_meta(),
        "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "selector": {"app": "shop"}, "ports": [{"port": 80}], "sessionAffinity": "None"},
        "status": {"loadBalancer": {}}
    }));
    let spec = service.spec.unwrap();
    assert_eq!((spec.type_.as_deref(), spec.cluster_ip.as_deref(), spec.selector), (Some("ClusterIP"), Some("10.0.0.1"), None));
    assert_eq!(spec.ports.unwrap().len(), 1);
    assert_eq!(service.status, None);
}

#[test]
fn an_endpoint_slice_keeps_the_label_of_its_service_and_the_addresses() {
    let (slice, _) = slim::<EndpointSlice>(json!({
        "metadata": noisy_meta(), "addressType": "IPv4", "ports": [{"port": 8080}],
        "endpoints": [{"addresses": ["10.1.0.1"], "conditions": {"ready": true}, "nodeName": "n", "zone": "z",
            "targetRef": {"kind": "Pod", "name": "p"}}]
    }));
    assert_eq!(slice.metadata.labels, Some([(SERVICE_NAME.to_owned(), "shop".to_owned())].into()));
    assert_eq!(slice.metadata.annotations, None);
    let endpoint = &slice.endpoints[0];
    assert_eq!((endpoint.addresses.as_slice(), endpoint.zone.as_deref()), (["10.1.0.1".to_owned()].as_slice(), Some("z")));
    assert_eq!((&endpoint.target_ref, &endpoint.node_name), (&None, &None));
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
