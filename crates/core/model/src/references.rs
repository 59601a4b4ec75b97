//! Which Secrets, ConfigMaps and Services an object refers to: sources hold the data of these only, and an Ingress is parsed again when one
//! of them changes.

use k8s_openapi::api::core::v1::ConfigMap;
use settings::{Config, Reference as Named};

use crate::key::ObjectKey;
use crate::object::{Ingress, Service};
use crate::options::BuildOptions;
use crate::passes::stream::is_name;

/// Something that an Ingress is parsed again for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reference {
    Secret(ObjectKey),
    ConfigMap(ObjectKey),
    Service(ObjectKey),
}

type Kind = fn(ObjectKey) -> Reference;

/// Annotations that name an object, without their prefix.
const ANNOTATIONS: [(&str, Kind); 7] = [
    ("auth-proxy-set-headers", Reference::ConfigMap),
    ("auth-secret", Reference::Secret),
    ("auth-tls-secret", Reference::Secret),
    ("custom-headers", Reference::ConfigMap),
    ("default-backend", Reference::Service),
    ("fastcgi-params-configmap", Reference::ConfigMap),
    ("proxy-ssl-secret", Reference::Secret),
];

/// Objects that the annotations of an Ingress name, whatever their prefix. May hold duplicates.
pub(crate) fn of_annotations(key: &ObjectKey, ingress: &Ingress) -> Vec<Reference> {
    let own = &*key.namespace;
    let mut found = Vec::new();
    for (key, value) in &ingress.annotations {
        let name = key.rsplit('/').next().unwrap_or_default();
        let kind = ANNOTATIONS.iter().find(|(annotation, _)| *annotation == name);
        if let Some((_, kind)) = kind
            && !value.trim().is_empty()
        {
            let value = value.replace(' ', "");
            let (namespace, object) = value.split_once('/').unwrap_or((own, &value));
            // Parameters of FastCGI are read from the Ingress' own namespace whatever it says.
            let namespace = if name == "fastcgi-params-configmap" { own } else { namespace };
            found.push(kind(ObjectKey::new(namespace, object)));
        }
    }
    found
}

/// Secrets that an Ingress refers to. May hold duplicates.
pub fn secrets_of(key: &ObjectKey, ingress: &Ingress) -> Vec<ObjectKey> {
    let of_tls = ingress.tls.iter().filter_map(|tls| Some(ObjectKey::new(key.namespace.clone(), tls.secret.clone()?)));
    let named = of_annotations(key, ingress).into_iter().filter_map(|reference| match reference {
        Reference::Secret(key) => Some(key),
        _ => None,
    });
    of_tls.chain(named).collect()
}

/// Secrets that a Service refers to. May hold duplicates.
pub fn secrets_of_service(key: &ObjectKey, service: &Service) -> Vec<ObjectKey> {
    let names = service.tcp_tls_secrets.iter().map(|(_, name)| &**name).filter(|name| is_name(name));
    names.map(|name| ObjectKey::new(key.namespace.clone(), name)).collect()
}

/// Secrets that the settings refer to.
pub fn secrets_of_settings(options: &BuildOptions) -> Vec<ObjectKey> {
    options.default_ssl_certificate.iter().cloned().collect()
}

/// ConfigMaps that an Ingress refers to. May hold duplicates.
pub fn config_maps_of(key: &ObjectKey, ingress: &Ingress) -> Vec<ObjectKey> {
    let named = of_annotations(key, ingress).into_iter().filter_map(|reference| match reference {
        Reference::ConfigMap(key) => Some(key),
        _ => None,
    });
    named.collect()
}

/// ConfigMaps that the settings refer to.
pub fn config_maps_of_settings(options: &BuildOptions) -> Vec<ObjectKey> {
    options.configmap.iter().chain(options.stream_config_maps().map(|(_, _, key)| key)).cloned().collect()
}

/// ConfigMaps that the ConfigMap with the settings refers to. May hold duplicates.
pub fn config_maps_of_config(config: &ConfigMap) -> Vec<ObjectKey> {
    let (config, _) = Config::parse(config.data.as_ref().unwrap_or(&Default::default()));
    [config.headers.add_headers, config.headers.proxy_set_headers].iter().flatten().filter_map(named).collect()
}

/// Secrets that the ConfigMap with the settings refers to.
pub fn secrets_of_config(config: &ConfigMap) -> Vec<ObjectKey> {
    let (config, _) = Config::parse(config.data.as_ref().unwrap_or(&Default::default()));
    config.ssl_dh_param.iter().filter_map(named).collect()
}

/// The object that a setting names with its namespace; administrators may name any.
pub(crate) fn named(reference: &Named) -> Option<ObjectKey> {
    let (namespace, name) = reference.resolve("", true).ok()?;
    reference.is_qualified().then(|| ObjectKey::new(namespace, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_name_objects_of_their_own_namespace_or_another() {
        let annotations = [
            ("nginx.ingress.kubernetes.io/auth-secret", "users"),
            ("example.com/auth-tls-secret", "other/ca"),
            ("nginx.ingress.kubernetes.io/fastcgi-params-configmap", "other/params"),
            ("nginx.ingress.kubernetes.io/custom-headers", " "),
            ("nginx.ingress.kubernetes.io/default-backend", "errors"),
            ("nginx.ingress.kubernetes.io/rewrite-target", "/x"),
        ];
        let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let (key, ingress) = (ObjectKey::new("ns", "a"), Ingress { annotations, ..Ingress::default() });
        assert_eq!(secrets_of(&key, &ingress), [ObjectKey::new("other", "ca"), ObjectKey::new("ns", "users")]);
        assert_eq!(config_maps_of(&key, &ingress), [ObjectKey::new("ns", "params")]);
        assert!(of_annotations(&key, &ingress).contains(&Reference::Service(ObjectKey::new("ns", "errors"))));
    }

    #[test]
    fn services_name_secrets_of_their_own_namespace_only() {
        let named = ["pair", "other/pair", "../pair", ""].map(|name| ("example.com".into(), name.into()));
        let service = Service { tcp_tls_secrets: named.into(), ..Service::default() };
        assert_eq!(secrets_of_service(&ObjectKey::new("ns", "db"), &service), [ObjectKey::new("ns", "pair")]);
    }
}
