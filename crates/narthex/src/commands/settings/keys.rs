//! Keys of the ConfigMap.

use std::collections::BTreeMap;

use model::{BuildOptions, Built, Snapshot};
use serde::Serialize;
use settings::{ANNOTATIONS, CONFIG_KEYS, Config, ConfigEntry};

use super::{Cells, problems};

/// A key with its effective value.
#[derive(Serialize)]
pub(super) struct KeyRow {
    key: &'static str,
    value: String,
    default: String,
    /// `default` or `ConfigMap`.
    from: &'static str,
    /// As it stands in the ConfigMap.
    #[serde(skip_serializing_if = "Option::is_none")]
    written: Option<String>,
    /// Number of Ingresses whose annotations decide otherwise.
    ingresses: usize,
    /// What a change of it does.
    change: String,
    /// Why it has no effect.
    #[serde(skip_serializing_if = "Option::is_none")]
    inert: Option<&'static str>,
    pub(super) problems: Vec<String>,
}

impl KeyRow {
    /// Whether it is other than its default, invalid, or not decided here alone.
    pub(super) fn is_notable(&self) -> bool {
        self.written.is_some() || self.ingresses > 0 || !self.problems.is_empty()
    }

    pub(super) fn cells(&self) -> Cells {
        let mut remarks = self.problems.clone();
        match self.ingresses {
            0 => {}
            1 => remarks.push("an annotation of 1 Ingress decides otherwise".to_owned()),
            count => remarks.push(format!("annotations of {count} Ingresses decide otherwise")),
        }
        ([self.key.to_owned(), self.value.clone(), self.from.to_owned(), self.default.clone()], remarks)
    }
}

/// All keys, in the order of the reference.
pub(super) fn rows(world: &Snapshot, options: &BuildOptions, built: &Built) -> Vec<KeyRow> {
    let map = options.configmap.as_ref().and_then(|key| world.config_maps.get(key));
    let data: BTreeMap<String, &String> =
        map.iter().flat_map(|map| map.data.iter().flatten()).map(|(key, value)| (key.to_ascii_lowercase(), value)).collect();
    let (defaults, config) = (Config::default(), &built.model.fixed.globals.config);
    let problems: Vec<(String, String)> = problems(options, built).collect();
    let row = |entry: &&ConfigEntry| {
        let written = data.get(entry.name).copied().cloned();
        KeyRow {
            key: entry.name,
            value: (entry.get)(config),
            default: (entry.get)(&defaults),
            from: if written.as_deref().is_some_and(|text| is_in_effect(entry, text, config)) { "ConfigMap" } else { "default" },
            written,
            ingresses: deciding(entry, world, options, built),
            change: entry.applies(),
            inert: entry.inert,
            problems: problems.iter().filter(|(key, _)| key == entry.name).map(|(_, detail)| detail.clone()).collect(),
        }
    };
    CONFIG_KEYS.iter().map(row).collect()
}

fn is_in_effect(entry: &ConfigEntry, text: &str, config: &Config) -> bool {
    let mut own = Config::default();
    (entry.set)(&mut own, text, &mut Vec::new()).is_ok() && (entry.same)(&own, config)
}

/// Number of Ingresses that are served and have an annotation of which the key is the default.
fn deciding(entry: &ConfigEntry, world: &Snapshot, options: &BuildOptions, built: &Built) -> usize {
    let names: Vec<String> = ANNOTATIONS
        .iter()
        .filter(|annotation| annotation.config_key == Some(entry.name))
        .flat_map(|annotation| [annotation.name].into_iter().chain(annotation.aliases.iter().copied()))
        .map(|name| format!("{}/{name}", options.annotations_prefix))
        .collect();
    let served = world.ingresses.iter().filter(|(key, _)| !names.is_empty() && built.has_ingress(key));
    served.filter(|(_, ingress)| names.iter().any(|name| ingress.annotations.contains_key(name))).count()
}

/// Problems that are about no key.
pub(super) fn others(options: &BuildOptions, built: &Built) -> Vec<String> {
    let is_key = |name: &str| CONFIG_KEYS.iter().any(|entry| entry.name == name);
    let found = problems(options, built).filter(|(key, _)| !is_key(key));
    found.map(|(key, detail)| if key.is_empty() { detail } else { format!("{key}: {detail}") }).collect()
}
