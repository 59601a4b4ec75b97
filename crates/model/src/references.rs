//! Which Secrets and ConfigMaps an object refers to: sources hold the data of these only.

use k8s_openapi::api::networking::v1::Ingress;

use crate::key::ObjectKey;
use crate::settings::Settings;

/// Secrets that an Ingress refers to. May hold duplicates.
pub fn secrets_of(ingress: &Ingress) -> Vec<ObjectKey> {
    let namespace = ingress.metadata.namespace.as_deref().unwrap_or_default();
    ingress
        .spec
        .iter()
        .flat_map(|spec| spec.tls.iter().flatten())
        .filter_map(|tls| tls.secret_name.as_deref())
        .filter(|name| !name.is_empty())
        .map(|name| ObjectKey::new(namespace, name))
        .collect()
}

/// Secrets that the settings refer to.
pub fn secrets_of_settings(settings: &Settings) -> Vec<ObjectKey> {
    settings.default_ssl_certificate.iter().cloned().collect()
}

/// ConfigMaps that an Ingress refers to. May hold duplicates.
pub fn config_maps_of(_ingress: &Ingress) -> Vec<ObjectKey> {
    Vec::new()
}

/// ConfigMaps that the settings refer to.
pub fn config_maps_of_settings(settings: &Settings) -> Vec<ObjectKey> {
    settings.configmap.iter().cloned().collect()
}
