//! Ingresses.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::networking::v1;

use super::text;

/// What is read of an Ingress.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Ingress {
    /// `metadata.uid`.
    pub uid: Option<Box<str>>,
    /// `metadata.creationTimestamp`, in seconds since 1970; 0 when it is not given.
    pub created_seconds: i64,
    /// `metadata.annotations`.
    pub annotations: BTreeMap<String, String>,
    /// `spec.ingressClassName`.
    pub class: Option<Box<str>>,
    /// `spec.defaultBackend`.
    pub default_backend: Option<Backend>,
    /// `spec.rules`, in their order.
    pub rules: Box<[IngressRule]>,
    /// `spec.tls`, in their order.
    pub tls: Box<[IngressTls]>,
}

/// A rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngressRule {
    /// `host`; empty when it is not given.
    pub host: Arc<str>,
    /// `http.paths`, in their order.
    pub paths: Box<[IngressPath]>,
}

/// A path of a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngressPath {
    /// `path`; empty when it is not given.
    pub path: Arc<str>,
    /// `pathType`; empty when it is not given.
    pub path_type: Box<str>,
    /// `backend`.
    pub backend: Backend,
}

/// Where requests go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Backend {
    /// To a Service of the same namespace.
    Service {
        /// `service.name`.
        name: Arc<str>,
        /// `service.port`.
        port: PortRef,
    },
    /// To something else, which is nothing that we know.
    Other,
}

/// `service.port` of a backend.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PortRef {
    /// `name`, which comes first if both are given.
    Name(Arc<str>),
    /// `number`.
    Number(i32),
    /// Neither is given.
    None,
}

/// An entry of `spec.tls`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IngressTls {
    /// `hosts`, in their order.
    pub hosts: Box<[Box<str>]>,
    /// `secretName`, unless it is empty.
    pub secret: Option<Arc<str>>,
}

impl From<v1::Ingress> for Ingress {
    fn from(object: v1::Ingress) -> Self {
        let spec = object.spec.unwrap_or_default();
        Self {
            uid: text(object.metadata.uid),
            created_seconds: object.metadata.creation_timestamp.map_or(0, |time| time.0.as_second()),
            annotations: object.metadata.annotations.unwrap_or_default(),
            class: spec.ingress_class_name.map(String::into_boxed_str),
            default_backend: spec.default_backend.map(Backend::from),
            rules: spec.rules.into_iter().flatten().map(IngressRule::from).collect(),
            tls: spec.tls.into_iter().flatten().map(IngressTls::from).collect(),
        }
    }
}

impl From<v1::IngressRule> for IngressRule {
    fn from(rule: v1::IngressRule) -> Self {
        let paths = rule.http.into_iter().flat_map(|http| http.paths);
        Self { host: rule.host.unwrap_or_default().into(), paths: paths.map(IngressPath::from).collect() }
    }
}

impl From<v1::HTTPIngressPath> for IngressPath {
    fn from(path: v1::HTTPIngressPath) -> Self {
        Self { path: path.path.unwrap_or_default().into(), path_type: path.path_type.into(), backend: path.backend.into() }
    }
}

impl From<v1::IngressBackend> for Backend {
    fn from(backend: v1::IngressBackend) -> Self {
        let Some(service) = backend.service else { return Self::Other };
        let port = service.port.unwrap_or_default();
        let port = match (port.name.filter(|name| !name.is_empty()), port.number) {
            (Some(name), _) => PortRef::Name(name.into()),
            (None, Some(number)) => PortRef::Number(number),
            (None, None) => PortRef::None,
        };
        Self::Service { name: service.name.into(), port }
    }
}

impl From<v1::IngressTLS> for IngressTls {
    fn from(tls: v1::IngressTLS) -> Self {
        let hosts = tls.hosts.into_iter().flatten().map(String::into_boxed_str);
        Self { hosts: hosts.collect(), secret: text(tls.secret_name).map(Arc::from) }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_read_is_kept() {
        let ingress: v1::Ingress = serde_json::from_value(json!({
            "metadata": {"name": "shop", "uid": "u", "creationTimestamp": "1970-01-01T00:01:00Z", "annotations": {"a": "b"}},
            "spec": {
                "ingressClassName": "nginx",
                "defaultBackend": {"resource": {"kind": "Bucket", "name": "b"}},
                "rules": [
                    {"host": "a.example", "http": {"paths": [
                        {"path": "/x", "pathType": "Exact", "backend": {"service": {"name": "s", "port": {"number": 80}}}},
                        {"pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"name": "web"}}}},
                    ]}},
                    {"http": {"paths": [{"pathType": "Prefix", "backend": {"service": {"name": "s"}}}]}},
                ],
                "tls": [{"hosts": ["a.example"], "secretName": "a"}, {"secretName": ""}],
            },
        }))
        .unwrap();
        let ingress = Ingress::from(ingress);
        assert_eq!((ingress.uid.as_deref(), ingress.created_seconds, ingress.class.as_deref()), (Some("u"), 60, Some("nginx")));
        assert_eq!((ingress.annotations["a"].as_str(), ingress.default_backend), ("b", Some(Backend::Other)));
        let to = |port| Backend::Service { name: "s".into(), port };
        let path = |path: &str, path_type: &str, backend| IngressPath { path: path.into(), path_type: path_type.into(), backend };
        let paths = [path("/x", "Exact", to(PortRef::Number(80))), path("", "Prefix", to(PortRef::Name("web".into())))];
        assert_eq!(ingress.rules[0], IngressRule { host: "a.example".into(), paths: paths.into() });
        assert_eq!(ingress.rules[1], IngressRule { host: "".into(), paths: [path("", "Prefix", to(PortRef::None))].into() });
        let tls =
            [IngressTls { hosts: ["a.example".into()].into(), secret: Some("a".into()) }, IngressTls { hosts: [].into(), secret: None }];
        assert_eq!(*ingress.tls, tls);
        assert!(size_of::<Ingress>() <= 160, "{} bytes", size_of::<Ingress>());
    }
}
