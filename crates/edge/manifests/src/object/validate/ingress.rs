//! Ingress and IngressClass.

use k8s_openapi::api::networking::v1::{HTTPIngressPath, Ingress, IngressBackend, IngressClass};

use super::super::names::{is_host, is_port_name, is_subdomain};
use super::{Check, Refusals, is_port};

impl Check for Ingress {
    fn check(&self, refusals: &mut Refusals) {
        let spec = self.spec.as_ref();
        let rules = spec.and_then(|spec| spec.rules.as_deref()).unwrap_or_default();
        let default_backend = spec.and_then(|spec| spec.default_backend.as_ref());
        refusals.require(
            !rules.is_empty() || default_backend.is_some(),
            || "spec".into(),
            || "neither rules nor defaultBackend is given".into(),
        );
        if let Some(backend_given) = default_backend {
            backend(backend_given, "spec.defaultBackend", refusals);
        }
        if let Some(name) = spec.and_then(|spec| spec.ingress_class_name.as_deref()) {
            refusals.require(is_subdomain(name), || "spec.ingressClassName".into(), || format!("{name:?} is not a DNS name in lower case"));
        }
        for (at, rule) in rules.iter().enumerate() {
            host(rule.host.as_deref().unwrap_or_default(), || format!("spec.rules[{at}].host"), refusals);
            let Some(http) = &rule.http else { continue };
            refusals.require(!http.paths.is_empty(), || format!("spec.rules[{at}].http.paths"), || "at least one path is required".into());
            for (number, one) in http.paths.iter().enumerate() {
                path(one, &format!("spec.rules[{at}].http.paths[{number}]"), refusals);
            }
        }
        for (at, tls) in spec.and_then(|spec| spec.tls.as_deref()).unwrap_or_default().iter().enumerate() {
            for (number, name) in tls.hosts.iter().flatten().enumerate() {
                host(name, || format!("spec.tls[{at}].hosts[{number}]"), refusals);
            }
            let secret = tls.secret_name.as_deref().unwrap_or_default();
            refusals.require(
                secret.is_empty() || is_subdomain(secret),
                || format!("spec.tls[{at}].secretName"),
                || format!("{secret:?} is not the name of a Secret: expected a DNS name in lower case"),
            );
        }
    }

    fn trim(&mut self) {
        self.status = None;
    }
}

fn host(host: &str, field: impl FnOnce() -> String, refusals: &mut Refusals) {
    refusals.require(host.is_empty() || is_host(host), field, || {
        format!("{host:?} is not a host: expected a DNS name in lower case, or \"*.\" and such a name, without port; no address")
    });
}

fn path(path: &HTTPIngressPath, field: &str, refusals: &mut Refusals) {
    let text = path.path.as_deref().unwrap_or_default();
    match path.path_type.as_str() {
        "Exact" | "Prefix" => {
            let unnormal = ["//", "/./", "/../", "%2f", "%2F"].into_iter().find(|part| text.contains(part));
            let ends = ["/..", "/."].into_iter().find(|end| text.ends_with(end));
            if !text.starts_with('/') {
                refusals
                    .add(format!("{field}.path"), format!("{text:?} does not begin with \"/\", as pathType {} demands", path.path_type));
            } else if let Some(part) = unnormal.or(ends) {
                refusals.add(format!("{field}.path"), format!("{text:?} holds {part:?}, which pathType {} forbids", path.path_type));
            }
        }
        "ImplementationSpecific" => {
            refusals.require(
                text.is_empty() || text.starts_with('/'),
                || format!("{field}.path"),
                || format!("{text:?} does not begin with \"/\""),
            );
        }
        "" => refusals.add(format!("{field}.pathType"), "not given: expected Exact, Prefix or ImplementationSpecific"),
        other => refusals.add(format!("{field}.pathType"), format!("{other:?} is none of Exact, Prefix and ImplementationSpecific")),
    }
    backend(&path.backend, &format!("{field}.backend"), refusals);
}

fn backend(backend: &IngressBackend, field: &str, refusals: &mut Refusals) {
    let service = match (&backend.service, &backend.resource) {
        (None, None) => return refusals.add(field, "neither service nor resource is given"),
        (Some(_), Some(_)) => return refusals.add(field, "both service and resource are given: expected one of them"),
        (None, Some(_)) => return,
        (Some(service), None) => service,
    };
    let name = &service.name;
    if name.is_empty() {
        refusals.add(format!("{field}.service.name"), "the Service's name is required");
    } else if !is_subdomain(name) {
        refusals.add(format!("{field}.service.name"), format!("{name:?} is not the name of a Service"));
    }
    let port = service.port.as_ref();
    let number = port.and_then(|port| port.number).unwrap_or_default();
    match (port.and_then(|port| port.name.as_deref()).unwrap_or_default(), number) {
        ("", 0) => refusals.add(format!("{field}.service.port"), "the port's name or number is required"),
        ("", number) => {
            refusals.require(is_port(number), || format!("{field}.service.port.number"), || format!("{number} is not between 1 and 65535"))
        }
        (name, 0) => {
            refusals.require(is_port_name(name), || format!("{field}.service.port.name"), || format!("{name:?} is not the name of a port"))
        }
        (name, number) => {
            refusals.add(format!("{field}.service.port"), format!("both name {name:?} and number {number} are given: expected one of them"))
        }
    }
}

impl Check for IngressClass {
    fn check(&self, refusals: &mut Refusals) {
        let controller = self.spec.as_ref().and_then(|spec| spec.controller.as_deref()).unwrap_or_default();
        let good =
            controller.len() <= 250 && controller.split_once('/').is_some_and(|(domain, path)| is_subdomain(domain) && !path.is_empty());
        refusals.require(
            good,
            || "spec.controller".into(),
            || format!("{controller:?} is not the name of a controller: expected DOMAIN/PATH"),
        );
    }
}
