//! Services.

use std::net::IpAddr;

use k8s_openapi::api::core::v1;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Protocol, text};

/// What is read of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Service {
    /// `metadata.uid`.
    pub uid: Option<Box<str>>,
    /// `spec.externalName` of one of type ExternalName, possibly empty. Others have none.
    pub external_name: Option<Box<str>>,
    /// `spec.clusterIP`, where it is an address.
    pub cluster_ip: Option<IpAddr>,
    /// `spec.ports`, in their order.
    pub ports: Box<[ServicePort]>,
    /// Endpoints in the client's zone come first: `spec.trafficDistribution`, or one of the older annotations.
    pub prefers_zone: bool,
    /// Values of the annotation [`TCP_TLS_SECRET`], each with the prefix of the annotation. Mostly none.
    pub tcp_tls_secrets: Box<[(Box<str>, Box<str>)]>,
}

/// The annotation, without its prefix, that names the Secret which TLS of a TCP service is decrypted with.
pub const TCP_TLS_SECRET: &str = "tcp-tls-secret";

impl Service {
    /// The value of [`TCP_TLS_SECRET`] with this prefix.
    pub fn tcp_tls_secret(&self, prefix: &str) -> Option<&str> {
        self.tcp_tls_secrets.iter().find(|(of, _)| **of == *prefix).map(|(_, value)| &**value)
    }
}

/// A port of a Service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServicePort {
    /// `name`.
    pub name: Option<Box<str>>,
    /// `port`.
    pub port: i32,
    /// `targetPort`.
    pub target: Target,
    /// `protocol`.
    pub protocol: Protocol,
}

/// Where a port of a Service leads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// To the port of the same number.
    Same,
    /// To this number.
    Number(i32),
    /// To the port that each Pod calls so.
    Name(Box<str>),
}

impl From<v1::Service> for Service {
    fn from(object: v1::Service) -> Self {
        let annotation = |key: &str| object.metadata.annotations.as_ref().and_then(|annotations| annotations.get(key));
        let mode = annotation("service.kubernetes.io/topology-mode").or_else(|| annotation("service.kubernetes.io/topology-aware-hints"));
        let named = |(key, value): (&String, &String)| {
            let (prefix, name) = key.split_once('/')?;
            (name == TCP_TLS_SECRET).then(|| (prefix.into(), value.as_str().into()))
        };
        let tcp_tls_secrets = object.metadata.annotations.iter().flatten().filter_map(named).collect();
        let spec = object.spec.unwrap_or_default();
        let close = matches!(spec.traffic_distribution.as_deref(), Some("PreferClose" | "PreferSameZone"));
        Self {
            prefers_zone: close || mode.is_some_and(|mode| mode.eq_ignore_ascii_case("auto")),
            uid: text(object.metadata.uid),
            external_name: (spec.type_.as_deref() == Some("ExternalName")).then(|| spec.external_name.unwrap_or_default().into()),
            cluster_ip: spec.cluster_ip.and_then(|address| address.parse().ok()),
            ports: spec.ports.into_iter().flatten().map(ServicePort::from).collect(),
            tcp_tls_secrets,
        }
    }
}

impl From<v1::ServicePort> for ServicePort {
    fn from(port: v1::ServicePort) -> Self {
        Self {
            name: port.name.map(String::into_boxed_str),
            port: port.port,
            target: match port.target_port {
                None => Target::Same,
                Some(IntOrString::Int(number)) => Target::Number(number),
                Some(IntOrString::String(name)) => Target::Name(name.into()),
            },
            protocol: Protocol::of(port.protocol.as_deref()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn read(object: Value) -> Service {
        Service::from(serde_json::from_value::<v1::Service>(object).unwrap())
    }

    #[test]
    fn what_is_read_is_kept() {
        let service = read(json!({
            "metadata": {"name": "shop", "uid": "u", "resourceVersion": "7", "labels": {"a": "b"}},
            "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "externalName": "not.this.one", "selector": {"app": "shop"}, "ports": [
                {"name": "http", "port": 80, "targetPort": "web", "protocol": "TCP"}, {"port": 53, "targetPort": 5353, "protocol": "UDP"}, {"port": 81}
            ]}
        }));
        assert_eq!((service.uid.as_deref(), service.external_name, service.cluster_ip), (Some("u"), None, "10.0.0.1".parse().ok()));
        let ports = [
            ServicePort { name: Some("http".into()), port: 80, target: Target::Name("web".into()), protocol: Protocol::Tcp },
            ServicePort { name: None, port: 53, target: Target::Number(5353), protocol: Protocol::Udp },
            ServicePort { name: None, port: 81, target: Target::Same, protocol: Protocol::Tcp },
        ];
        assert_eq!(*service.ports, ports);
        assert!(!service.prefers_zone && size_of::<Service>() <= 96, "{} bytes", size_of::<Service>());
    }

    #[test]
    fn only_one_of_type_external_name_has_a_name() {
        assert_eq!(read(json!({"spec": {"type": "ExternalName", "externalName": "a.b"}})).external_name.as_deref(), Some("a.b"));
        assert_eq!(read(json!({"spec": {"type": "ExternalName"}})).external_name.as_deref(), Some(""));
        assert_eq!(read(json!({"spec": {"clusterIP": "None"}})).cluster_ip, None);
    }

    #[test]
    fn the_secret_for_tls_is_that_of_the_annotation_with_the_prefix() {
        let annotations = json!({"example.com/tcp-tls-secret": "pair", "other.example/tcp-tls-secret": "", "tcp-tls-secret": "bare"});
        let service = read(json!({"metadata": {"annotations": annotations}}));
        let found = ["example.com", "other.example", "third.example"].map(|prefix| service.tcp_tls_secret(prefix));
        assert_eq!(found, [Some("pair"), Some(""), None]);
    }

    #[test]
    fn zones_are_asked_for_in_three_ways() {
        for asks in [
            json!({"spec": {"trafficDistribution": "PreferClose"}}),
            json!({"metadata": {"annotations": {"service.kubernetes.io/topology-mode": "Auto"}}}),
            json!({"metadata": {"annotations": {"service.kubernetes.io/topology-aware-hints": "auto"}}}),
        ] {
            assert!(read(asks.clone()).prefers_zone, "{asks}");
        }
        let newer = json!({"service.kubernetes.io/topology-mode": "Disabled", "service.kubernetes.io/topology-aware-hints": "auto"});
        assert!(!read(json!({"metadata": {"annotations": newer}})).prefers_zone);
    }
}
