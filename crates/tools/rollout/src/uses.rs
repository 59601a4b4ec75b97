//! The ConfigMaps and Secrets that a Pod template refers to.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec, Volume};

use crate::kind::{ContentId, ContentKind};

/// Prefix of the environment variables that hold digests.
const PREFIX: &str = "STAKATER_";

/// Every reference, with the index of the container that stands for it: the first one that mounts or reads it. What only init
/// containers use, or what is a volume that no container mounts by itself, is stood for by the first container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Uses(BTreeMap<ContentId, usize>);

impl Uses {
    /// The references of a Pod.
    pub(crate) fn of(spec: &PodSpec) -> Self {
        let mut uses = Self::default();
        let volumes: Vec<(&str, Vec<ContentId>)> =
            spec.volumes.iter().flatten().map(|volume| (volume.name.as_str(), of_volume(volume))).collect();
        for (index, container) in spec.containers.iter().enumerate() {
            uses.add(container, index, &volumes);
        }
        for container in spec.init_containers.iter().flatten() {
            uses.add(container, 0, &volumes);
        }
        uses
    }

    fn add(&mut self, container: &Container, index: usize, volumes: &[(&str, Vec<ContentId>)]) {
        let mounted = container
            .volume_mounts
            .iter()
            .flatten()
            .flat_map(|mount| volumes.iter().filter(|(name, _)| *name == mount.name).flat_map(|(_, ids)| ids.iter().cloned()));
        for id in mounted.chain(of_environment(container)) {
            self.0.entry(id).or_insert(index);
        }
    }

    /// The container that stands for a reference; `None` if there is no such reference.
    pub(crate) fn container(&self, id: &ContentId) -> Option<usize> {
        self.0.get(id).copied()
    }

    /// All that is referred to.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &ContentId> {
        self.0.keys()
    }
}

fn of_volume(volume: &Volume) -> Vec<ContentId> {
    let map = |name: &str| ContentId::new(ContentKind::ConfigMap, name);
    let secret = |name: &str| ContentId::new(ContentKind::Secret, name);
    let mut ids = Vec::new();
    ids.extend(volume.config_map.iter().map(|source| map(&source.name)));
    ids.extend(volume.secret.iter().filter_map(|source| source.secret_name.as_deref()).map(secret));
    for source in volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten()) {
        ids.extend(source.config_map.iter().map(|source| map(&source.name)));
        ids.extend(source.secret.iter().map(|source| secret(&source.name)));
    }
    ids
}

fn of_environment(container: &Container) -> Vec<ContentId> {
    let mut ids = Vec::new();
    for from in container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref()) {
        ids.extend(from.config_map_key_ref.iter().map(|key| ContentId::new(ContentKind::ConfigMap, &*key.name)));
        ids.extend(from.secret_key_ref.iter().map(|key| ContentId::new(ContentKind::Secret, &*key.name)));
    }
    for from in container.env_from.iter().flatten() {
        ids.extend(from.config_map_ref.iter().map(|map| ContentId::new(ContentKind::ConfigMap, &*map.name)));
        ids.extend(from.secret_ref.iter().map(|secret| ContentId::new(ContentKind::Secret, &*secret.name)));
    }
    ids
}

/// The containers of a Pod template and the digests in their environments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Containers(Vec<(String, BTreeMap<String, String>)>);

impl Containers {
    /// The containers of a Pod; init containers don't count.
    pub(crate) fn of(spec: &PodSpec) -> Self {
        let digests = |container: &Container| {
            let variables = container.env.iter().flatten().filter(|variable| variable.name.starts_with(PREFIX));
            variables.filter_map(|variable| Some((variable.name.clone(), variable.value.clone()?))).collect()
        };
        Self(spec.containers.iter().map(|container| (container.name.clone(), digests(container))).collect())
    }

    /// `true` if there are none.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A container's name.
    pub(crate) fn name(&self, index: usize) -> Option<&str> {
        self.0.get(index).map(|(name, _)| name.as_str())
    }

    /// The container that holds a variable, and its value.
    pub(crate) fn holder(&self, variable: &str) -> Option<(&str, &str)> {
        self.0.iter().find_map(|(name, variables)| Some((name.as_str(), variables.get(variable)?.as_str())))
    }

    /// All digests: container, variable, value.
    pub(crate) fn digests(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.0.iter().flat_map(|(name, variables)| variables.iter().map(move |(key, value)| (name.as_str(), key.as_str(), value.as_str())))
    }
}

/// The environment variable for an object's digest: `STAKATER_<NAME>_CONFIGMAP`, every run of other characters one `_`.
pub(crate) fn variable(id: &ContentId) -> String {
    let mut name = String::from(PREFIX);
    let mut valid = false;
    for c in id.name.bytes() {
        match c.is_ascii_alphanumeric() {
            true => name.push(char::from(c.to_ascii_uppercase())),
            false if valid => name.push('_'),
            false => {}
        }
        valid = c.is_ascii_alphanumeric();
    }
    format!("{name}_{}", id.source.tag())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn uses(spec: Value) -> Vec<(String, usize)> {
        let spec: PodSpec = serde_json::from_value(spec).unwrap();
        Uses::of(&spec).0.into_iter().map(|(id, index)| (id.to_string(), index)).collect()
    }

    #[test]
    fn references_are_found_everywhere() {
        let mount = |name: &str| json!([{"name": name, "mountPath": "/x"}]);
        let found = uses(json!({
            "initContainers": [{"name": "i", "envFrom": [{"secretRef": {"name": "init"}}], "volumeMounts": mount("only-init")}],
            "containers": [
                {"name": "a", "env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "env", "key": "k"}}}], "volumeMounts": mount("map")},
                {"name": "b", "env": [{"name": "X", "valueFrom": {"secretKeyRef": {"name": "env", "key": "k"}}}],
                    "envFrom": [{"configMapRef": {"name": "from"}}], "volumeMounts": [{"name": "map", "mountPath": "/x"}, {"name": "secret", "mountPath": "/y"}, {"name": "all", "mountPath": "/z"}]},
            ],
            "volumes": [
                {"name": "map", "configMap": {"name": "volume"}},
                {"name": "secret", "secret": {"secretName": "volume"}},
                {"name": "all", "projected": {"sources": [{"configMap": {"name": "projected"}}, {"secret": {"name": "projected"}}]}},
                {"name": "only-init", "configMap": {"name": "init"}},
                {"name": "nobody", "configMap": {"name": "unused"}},
            ],
        }));
        let expected = [
            ("ConfigMap env", 0),
            ("ConfigMap from", 1),
            ("ConfigMap init", 0),
            ("ConfigMap projected", 1),
            ("ConfigMap volume", 0),
            ("Secret env", 1),
            ("Secret init", 0),
            ("Secret projected", 1),
            ("Secret volume", 1),
        ];
        assert_eq!(found, expected.map(|(id, index)| (id.to_owned(), index)));
    }

    #[test]
    fn a_variable_is_named_as_reloader_names_it() {
        let name = |source, name: &str| variable(&ContentId::new(source, name));
        assert_eq!(name(ContentKind::ConfigMap, "app-config"), "STAKATER_APP_CONFIG_CONFIGMAP");
        assert_eq!(name(ContentKind::Secret, "a.-b"), "STAKATER_A_B_SECRET");
    }
}
