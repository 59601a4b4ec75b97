//! Builders. Objects carry no namespace: the [`kube::Api`] that creates them gives it.

use std::net::{IpAddr, SocketAddr};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::{Ingress, IngressClass};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Prefix of the controller's annotations.
const ANNOTATION_PREFIX: &str = "nginx.ingress.kubernetes.io/";

/// The comparison of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathType {
    /// The whole path.
    Exact,
    /// By segments.
    Prefix,
    /// As the controller likes.
    ImplementationSpecific,
}

impl PathType {
    fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "Exact",
            Self::Prefix => "Prefix",
            Self::ImplementationSpecific => "ImplementationSpecific",
        }
    }
}

/// An Ingress in the making; see [`mk_ingress`].
#[derive(Debug, Clone)]
pub struct IngressBuilder {
    object: Value,
}

/// Begins an Ingress without class, rules or annotations.
///
/// ```text
/// mk_ingress("shop").host("shop.example.com").path("/", PathType::Prefix, "shop", 80).annotation("proxy-body-size", "1m").build()
/// ```
pub fn mk_ingress(name: &str) -> IngressBuilder {
    IngressBuilder { object: json!({"apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": {"name": name}, "spec": {}}) }
}

impl IngressBuilder {
    /// `spec.ingressClassName`.
    #[must_use]
    pub fn class(mut self, class: &str) -> Self {
        self.object["spec"]["ingressClassName"] = json!(class);
        self
    }

    /// An annotation, without the controller's prefix; a name with a `/` is taken as it is.
    #[must_use]
    pub fn annotation(mut self, name: &str, value: &str) -> Self {
        let name = if name.contains('/') { name.to_owned() } else { format!("{ANNOTATION_PREFIX}{name}") };
        self.object["metadata"]["annotations"][name] = json!(value);
        self
    }

    /// A label.
    #[must_use]
    pub fn label(mut self, name: &str, value: &str) -> Self {
        self.object["metadata"]["labels"][name] = json!(value);
        self
    }

    /// Begins a rule; the paths that follow belong to it. An empty host is a rule without one.
    #[must_use]
    pub fn host(mut self, host: &str) -> Self {
        let rule = if host.is_empty() { json!({"http": {"paths": []}}) } else { json!({"host": host, "http": {"paths": []}}) };
        push(&mut self.object["spec"]["rules"], rule);
        self
    }

    /// A path of the rule begun last (of one without host, if none was), to a numbered or named port of a Service.
    #[must_use]
    pub fn path(self, path: &str, path_type: PathType, service: &str, port: impl Into<Port>) -> Self {
        let mut this = if self.object["spec"]["rules"].is_null() { self.host("") } else { self };
        let rule = this.object["spec"]["rules"].as_array_mut().and_then(|rules| rules.last_mut()).expect("a rule was begun");
        let path = json!({"path": path, "pathType": path_type.as_str(), "backend": backend(service, port.into())});
        push(&mut rule["http"]["paths"], path);
        this
    }

    /// `spec.defaultBackend`.
    #[must_use]
    pub fn default_backend(mut self, service: &str, port: impl Into<Port>) -> Self {
        self.object["spec"]["defaultBackend"] = backend(service, port.into());
        self
    }

    /// A TLS section; an empty Secret name is left out.
    #[must_use]
    pub fn tls(mut self, host: &str, secret: &str) -> Self {
        let mut section = json!({"hosts": [host]});
        if !secret.is_empty() {
            section["secretName"] = json!(secret);
        }
        push(&mut self.object["spec"]["tls"], section);
        self
    }

    /// The object.
    pub fn build(self) -> Ingress {
        typed(self.object)
    }
}

/// Port of a Service, by number or by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Port {
    /// By number.
    Number(u16),
    /// By name.
    Name(String),
}

impl From<u16> for Port {
    fn from(number: u16) -> Self {
        Self::Number(number)
    }
}

impl From<&str> for Port {
    fn from(name: &str) -> Self {
        Self::Name(name.to_owned())
    }
}

fn backend(service: &str, port: Port) -> Value {
    let port = match port {
        Port::Number(number) => json!({"number": number}),
        Port::Name(name) => json!({"name": name}),
    };
    json!({"service": {"name": service, "port": port}})
}

/// An IngressClass.
pub fn mk_ingress_class(name: &str, controller: &str) -> IngressClass {
    typed(
        json!({"apiVersion": "networking.k8s.io/v1", "kind": "IngressClass", "metadata": {"name": name}, "spec": {"controller": controller}}),
    )
}

/// A Service with one port named `http`. With a selector (label `app`) the cluster makes its EndpointSlices, without one [`mk_slice`] does.
pub fn mk_service(name: &str, port: u16, target_port: u16, app: Option<&str>) -> Service {
    let mut object = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"name": "http", "port": port, "targetPort": target_port}]},
    });
    if let Some(app) = app {
        object["spec"]["selector"] = json!({"app": app});
    }
    typed(object)
}

/// A hand-made EndpointSlice of a Service's port named `http`, all ready. `name` must differ from that of its other slices.
///
/// # Panics
/// The addresses differ in port or in family: a slice has one of each.
pub fn mk_slice(name: &str, service: &str, endpoints: &[SocketAddr]) -> EndpointSlice {
    let first = endpoints.first();
    let (port, ipv6) = (first.map(SocketAddr::port), first.is_some_and(SocketAddr::is_ipv6));
    let alike = endpoints.iter().all(|endpoint| Some(endpoint.port()) == port && endpoint.is_ipv6() == ipv6);
    assert!(alike, "slice {name:?}: endpoints {endpoints:?} differ in port or family");
    let addresses = endpoints.iter().map(SocketAddr::ip);
    typed(json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "labels": {"kubernetes.io/service-name": service}},
        "addressType": if ipv6 { "IPv6" } else { "IPv4" },
        "ports": [{"name": "http", "port": port.unwrap_or(80), "protocol": "TCP"}],
        "endpoints": addresses.map(|ip: IpAddr| json!({"addresses": [ip], "conditions": {"ready": true}})).collect::<Vec<_>>(),
    }))
}

/// A Deployment of echo Pods with the label `app`, listening on 8080 (port name `http`).
///
/// A rollout starts a new Pod before it ends an old one. Annotations of [`crate::kubelet`] go to `spec.template.metadata.annotations`.
pub fn mk_deployment(name: &str, replicas: i32) -> Deployment {
    let labels = json!({"app": name});
    typed(json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "strategy": {"rollingUpdate": {"maxUnavailable": 0, "maxSurge": 1}},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{"name": "echo", "image": "echo", "ports": [{"name": "http", "containerPort": 8080}]}]},
            },
        },
    }))
}

/// Appends to an array that may not be there yet.
fn push(array: &mut Value, item: Value) {
    match array {
        Value::Array(items) => items.push(item),
        empty => *empty = json!([item]),
    }
}

fn typed<K: DeserializeOwned>(object: Value) -> K {
    serde_json::from_value(object).expect("builders write objects as the API has them")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ingress_has_its_rules_in_order() {
        let ingress = mk_ingress("shop")
            .class("nginx")
            .annotation("ssl-redirect", "false")
            .annotation("example.com/other", "1")
            .host("a.example.com")
            .path("/", PathType::Prefix, "shop", 80)
            .path("/x", PathType::Exact, "shop", "http")
            .host("")
            .path("/", PathType::ImplementationSpecific, "shop", 80)
            .tls("a.example.com", "a")
            .build();
        let annotations: Vec<_> = ingress.metadata.annotations.unwrap().into_keys().collect();
        assert_eq!(annotations, ["example.com/other", "nginx.ingress.kubernetes.io/ssl-redirect"]);
        let spec = ingress.spec.unwrap();
        let rules = spec.rules.unwrap();
        let paths = |i: usize| rules[i].http.as_ref().unwrap().paths.len();
        assert_eq!((rules[0].host.as_deref(), paths(0), rules[1].host.as_deref(), paths(1)), (Some("a.example.com"), 2, None, 1));
        assert_eq!(spec.tls.unwrap()[0].secret_name.as_deref(), Some("a"));
    }

    #[test]
    fn a_slice_may_be_empty() {
        assert!(mk_slice("shop-1", "shop", &[]).endpoints.is_empty());
        let slice = mk_slice("shop-1", "shop", &["10.77.64.1:8080".parse().unwrap(), "10.77.64.2:8080".parse().unwrap()]);
        assert_eq!((slice.endpoints.len(), slice.address_type.as_str()), (2, "IPv4"));
    }

    #[test]
    #[should_panic(expected = "differ in port or family")]
    fn a_slice_has_one_port() {
        mk_slice("shop-1", "shop", &["10.77.64.1:8080".parse().unwrap(), "10.77.64.2:8081".parse().unwrap()]);
    }

    #[test]
    fn a_deployment_and_its_service_meet() {
        let deployment = mk_deployment("shop", 3);
        assert_eq!(deployment.spec.unwrap().replicas, Some(3));
        assert_eq!(mk_service("shop", 80, 8080, Some("shop")).spec.unwrap().selector.unwrap()["app"], "shop");
    }
}
