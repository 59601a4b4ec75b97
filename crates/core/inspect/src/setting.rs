//! Settings and where their values come from.

use std::collections::BTreeMap;

use model::{ObjectKey, ObjectRef, ProblemKind};
use serde::{Deserialize, Serialize};
use settings::{ANNOTATIONS, CONFIG_KEYS, Config, ConfigEntry, Derived, Entry};

use crate::Problem;
use crate::list::{List, Query};
use crate::state::State;

/// A flag of the controller or a key of its ConfigMap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Its name; a flag has its dashes: `--sync-rate-limit`.
    pub name: String,
    /// The value in effect.
    pub value: String,
    /// The default.
    #[serde(default)]
    pub default: String,
    /// Where the value comes from.
    pub from: Origin,
    /// How a change takes effect.
    pub scope: SettingScope,
    /// Ingresses that say otherwise by annotation, by number.
    #[serde(default)]
    pub annotations: usize,
    /// What is wrong with the value that is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

/// Where a value comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Origin {
    /// An annotation of an Ingress.
    Annotation,
    /// The ConfigMap.
    Configmap,
    /// The command line.
    Flag,
    /// Nothing else says otherwise.
    Default,
}

/// How a change of a setting takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SettingScope {
    /// At once.
    Live,
    /// By a reload of NGINX.
    Reload,
    /// With the next start of the controller.
    Start,
}

/// A setting that is in effect for the paths of an Ingress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EffectiveSetting {
    /// Its name, without a prefix.
    pub name: String,
    /// The value in effect.
    pub value: String,
    /// Where it comes from.
    pub from: Origin,
    /// The object that has it: `Ingress shop/web`. Absent for a default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
}

/// Keys of the ConfigMap, then flags. `flags`: with their values, which never change. Cost: their number, and once for a build all annotations of all Ingresses.
pub fn settings(state: &State<'_>, flags: &[Setting], query: &Query, only_changed: bool) -> List<Setting> {
    let others = state.annotated();
    let config = &state.built.model.fixed.globals.config;
    let defaults = Config::default();
    let map = state.configmap.map(|key| ObjectRef::namespaced("ConfigMap", key));
    let problems = map.as_ref().map(|object| state.findings().about(object)).unwrap_or_default();
    let key = |entry: &&'static ConfigEntry| {
        let field = format!("data[{:?}]", entry.name);
        Setting {
            name: entry.name.to_owned(),
            value: shown(entry, config),
            default: shown(entry, &defaults),
            from: if (entry.same)(config, &defaults) { Origin::Default } else { Origin::Configmap },
            scope: if entry.invalidates.contains(&Derived::Text) { SettingScope::Reload } else { SettingScope::Live },
            annotations: others.get(entry.name).copied().unwrap_or_default(),
            problem: problems.iter().find(|found| found.field.eq_ignore_ascii_case(&field)).map(|found| Problem::new(state, found)),
        }
    };
    let all = CONFIG_KEYS.iter().map(key).chain(flags.iter().cloned());
    let is_changed = |setting: &Setting| setting.from != Origin::Default || setting.annotations > 0 || setting.problem.is_some();
    let matches = |setting: &Setting| query.has_name(&[&setting.name]) && (!only_changed || is_changed(setting));
    query.page(all.filter(matches).collect(), |setting| setting)
}

/// The value of a key, unless that is a secret.
fn shown(entry: &ConfigEntry, config: &Config) -> String {
    let value = (entry.get)(config);
    if value.is_empty() { value } else { settings::shown(entry.name, &value) }
}

/// By key of the ConfigMap how many Ingresses that are served say otherwise.
pub(crate) fn annotated(state: &State<'_>) -> BTreeMap<&'static str, usize> {
    let mut counts = BTreeMap::new();
    let served = state.snapshot.ingresses.iter().filter(|(key, _)| state.built.has_ingress(key));
    for (_, ingress) in served {
        let mut keys: Vec<&'static str> = annotations(state.prefix, ingress).filter_map(|(entry, _)| entry.config_key).collect();
        keys.sort_unstable();
        keys.dedup();
        keys.into_iter().for_each(|key| *counts.entry(key).or_default() += 1);
    }
    counts
}

/// The annotations of an Ingress that are known, with their values.
fn annotations<'a>(prefix: &'a str, ingress: &'a model::Ingress) -> impl Iterator<Item = (&'static Entry, &'a str)> {
    ingress.annotations.iter().filter_map(move |(name, value)| {
        let bare = name.strip_prefix(prefix)?.strip_prefix('/')?;
        Some((settings::annotation(bare)?.0, value.as_str()))
    })
}

/// The settings that are in effect for the paths of an Ingress: its annotations, then what has a key of the ConfigMap instead.
pub(crate) fn effective_settings(state: &State<'_>, key: &ObjectKey) -> Vec<EffectiveSetting> {
    let Some(ingress) = state.snapshot.ingresses.get(key) else { return Vec::new() };
    let object = ObjectRef::ingress(key).to_string();
    let unusable = |entry: &Entry| {
        let is_about = |name: &str, field: &str| field == format!("metadata.annotations[{:?}]", format!("{}/{name}", state.prefix));
        let names = || [entry.name].into_iter().chain(entry.aliases.iter().copied());
        state
            .findings()
            .of_ingress(key)
            .iter()
            .any(|found| found.kind == ProblemKind::InvalidValue && names().any(|name| is_about(name, &found.field)))
    };
    let own: BTreeMap<&str, &str> =
        annotations(state.prefix, ingress).filter(|(entry, _)| !unusable(entry)).map(|(entry, value)| (entry.name, value)).collect();
    let annotated = own.iter().map(|(name, value)| EffectiveSetting {
        name: (*name).to_owned(),
        value: (*value).to_owned(),
        from: Origin::Annotation,
        object: Some(object.clone()),
    });
    let config = &state.built.model.fixed.globals.config;
    let defaults = Config::default();
    let keys: BTreeMap<&str, &ConfigEntry> = CONFIG_KEYS.iter().map(|entry| (entry.name, *entry)).collect();
    let inherited = ANNOTATIONS.iter().filter(|entry| !own.contains_key(entry.name)).filter_map(|entry| {
        let key = keys.get(entry.config_key?)?;
        let is_default = (key.same)(config, &defaults);
        Some(EffectiveSetting {
            name: entry.name.to_owned(),
            value: shown(key, config),
            from: if is_default { Origin::Default } else { Origin::Configmap },
            object: state.configmap.filter(|_| !is_default).map(|key| ObjectRef::namespaced("ConfigMap", key).to_string()),
        })
    });
    annotated.chain(inherited).collect()
}
