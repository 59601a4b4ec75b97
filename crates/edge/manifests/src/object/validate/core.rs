//! Service, Secret, ConfigMap and Namespace.

use std::collections::BTreeSet;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret, Service};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::super::names::{is_data_key, is_label, is_port_name, is_subdomain};
use super::{Check, Refusals, is_port};

impl Check for Service {
    fn check(&self, refusals: &mut Refusals) {
        let spec = self.spec.as_ref();
        let type_ = text_of(spec.and_then(|spec| spec.type_.as_ref()));
        if !["", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName"].contains(&type_) {
            refusals.add("spec.type", format!("{type_:?} is none of ClusterIP, NodePort, LoadBalancer and ExternalName"));
        }
        if type_ == "ExternalName" {
            let name = text_of(spec.and_then(|spec| spec.external_name.as_ref()));
            let good = is_subdomain(name.strip_suffix('.').unwrap_or(name));
            refusals.require(good, || "spec.externalName".into(), || format!("{name:?} is not a DNS name in lower case"));
        }
        let ports = spec.and_then(|spec| spec.ports.as_deref()).unwrap_or_default();
        let headless = text_of(spec.and_then(|spec| spec.cluster_ip.as_ref())) == "None";
        refusals.require(
            !ports.is_empty() || headless || type_ == "ExternalName",
            || "spec.ports".into(),
            || "at least one port is required".into(),
        );
        let mut names = BTreeSet::new();
        for (at, port) in ports.iter().enumerate() {
            let field = |name: &str| format!("spec.ports[{at}].{name}");
            refusals.require(is_port(port.port), || field("port"), || format!("{} is not between 1 and 65535", port.port));
            let name = text_of(port.name.as_ref());
            if name.is_empty() {
                refusals.require(ports.len() == 1, || field("name"), || "every port of several needs a name".into());
            } else {
                refusals.require(is_label(name), || field("name"), || format!("{name:?} is not the name of a port: expected a DNS label"));
                refusals.require(names.insert(name), || field("name"), || format!("{name:?} is the name of another port too"));
            }
            let protocol = text_of(port.protocol.as_ref());
            refusals.require(
                ["", "TCP", "UDP", "SCTP"].contains(&protocol),
                || field("protocol"),
                || format!("{protocol:?} is none of TCP, UDP and SCTP"),
            );
            match &port.target_port {
                // 0 is what an absent one looks like.
                Some(IntOrString::Int(number)) => {
                    refusals.require(
                        *number == 0 || is_port(*number),
                        || field("targetPort"),
                        || format!("{number} is not between 1 and 65535"),
                    );
                }
                Some(IntOrString::String(name)) => refusals.require(
                    name.is_empty() || is_port_name(name),
                    || field("targetPort"),
                    || {
                        format!(
                            "{name:?} is not the name of a port{}",
                            if name.parse::<u16>().is_ok() { ": write a number without quotes" } else { "" }
                        )
                    },
                ),
                None => {}
            }
        }
    }

    fn trim(&mut self) {
        self.status = None;
    }
}

impl Check for Secret {
    fn check(&self, refusals: &mut Refusals) {
        let keys = |map: &'static str, keys: &mut dyn Iterator<Item = &String>, refusals: &mut Refusals| {
            for key in keys {
                refusals.require(is_data_key(key), || format!("{map}[{key:?}]"), || bad_key(key));
            }
        };
        keys("data", &mut self.data.iter().flat_map(|data| data.keys()), refusals);
        keys("stringData", &mut self.string_data.iter().flat_map(|data| data.keys()), refusals);
        if self.type_.as_deref() == Some("kubernetes.io/tls") {
            for key in ["tls.crt", "tls.key"] {
                let has = self.data.as_ref().is_some_and(|data| data.contains_key(key))
                    || self.string_data.as_ref().is_some_and(|data| data.contains_key(key));
                refusals.require(has, || format!("data[{key:?}]"), || "a Secret of type kubernetes.io/tls needs this key".into());
            }
        }
    }

    fn trim(&mut self) {
        for (key, text) in self.string_data.take().into_iter().flatten() {
            self.data.get_or_insert_default().insert(key, ByteString(text.into_bytes()));
        }
    }
}

impl Check for ConfigMap {
    fn check(&self, refusals: &mut Refusals) {
        for key in self.data.iter().flat_map(|data| data.keys()) {
            refusals.require(is_data_key(key), || format!("data[{key:?}]"), || bad_key(key));
        }
        for key in self.binary_data.iter().flat_map(|data| data.keys()) {
            refusals.require(is_data_key(key), || format!("binaryData[{key:?}]"), || bad_key(key));
            let twice = self.data.as_ref().is_some_and(|data| data.contains_key(key));
            refusals.require(!twice, || format!("binaryData[{key:?}]"), || "this key is in data too".into());
        }
    }
}

fn text_of(field: Option<&String>) -> &str {
    field.map(String::as_str).unwrap_or_default()
}

fn bad_key(key: &str) -> String {
    format!("{key:?} is not a key: expected letters, digits, -, _ and .")
}

impl Check for Namespace {
    fn check(&self, _: &mut Refusals) {}

    fn trim(&mut self) {
        self.spec = None;
        self.status = None;
    }
}
