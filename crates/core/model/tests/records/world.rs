//! A cluster of one's own making, all in the namespace `n`.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::networking::v1::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::{BuildOptions, Builder, Built, ObjectKey, Snapshot};

/// Its objects.
#[derive(Debug, Clone)]
pub(crate) struct World(pub(crate) Snapshot);

impl World {
    /// With the ConfigMap of the settings, which are the defaults but for these.
    pub(crate) fn new(options: &[(&str, &str)]) -> Self {
        Self(Snapshot { ingress_classes: Some(<_>::default()), ..Snapshot::default() }).map("settings", options)
    }

    /// An Ingress with one host (empty: none), these paths (`=` before one: Exact) to port 80 of the Service `s`, and annotations.
    pub(crate) fn ingress(self, name: &str, host: &str, paths: &[&str], annotations: &[(&str, &str)]) -> Self {
        self.ingress_to("s", name, host, paths, annotations)
    }

    /// The same to another Service.
    pub(crate) fn ingress_to(mut self, service: &str, name: &str, host: &str, paths: &[&str], annotations: &[(&str, &str)]) -> Self {
        let backend = IngressServiceBackend { name: service.into(), port: Some(ServiceBackendPort { number: Some(80), name: None }) };
        let paths = paths.iter().map(|path| HTTPIngressPath {
            path: Some(path.trim_start_matches('=').into()),
            path_type: if path.starts_with('=') { "Exact" } else { "Prefix" }.into(),
            backend: IngressBackend { service: Some(backend.clone()), resource: None },
        });
        let host = (!host.is_empty()).then(|| host.to_owned());
        let rule = IngressRule { host, http: Some(HTTPIngressRuleValue { paths: paths.collect() }) };
        let annotations = annotations.iter().map(|(key, value)| (format!("nginx.ingress.kubernetes.io/{key}"), (*value).to_owned()));
        let metadata = ObjectMeta { annotations: Some(annotations.collect()), ..ObjectMeta::default() };
        let spec = IngressSpec { rules: Some(vec![rule]), ..IngressSpec::default() };
        self.0.ingresses.insert(ObjectKey::new("n", name), Arc::new(Ingress { metadata, spec: Some(spec), status: None }.into()));
        self
    }

    /// A ConfigMap.
    pub(crate) fn map(mut self, name: &str, data: &[(&str, &str)]) -> Self {
        let data: BTreeMap<String, String> = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        self.0.config_maps.insert(ObjectKey::new("n", name), Arc::new(ConfigMap { data: Some(data), ..ConfigMap::default() }));
        self
    }

    /// A Secret.
    pub(crate) fn secret(mut self, name: &str, data: &[(&str, &str)]) -> Self {
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec()))).collect();
        self.0.secrets.insert(ObjectKey::new("n", name), Arc::new(Secret { data: Some(data), ..Secret::default() }));
        self
    }

    /// Who builds it.
    pub(crate) fn builder() -> Builder {
        let configmap = Some(ObjectKey::new("n", "settings"));
        Builder::new(BuildOptions { watch_ingress_without_class: true, configmap, ..BuildOptions::default() })
    }

    pub(crate) fn build(&self) -> Built {
        Self::builder().build(&self.0)
    }
}
