//! Settings and where their values come from.

use serde::{Deserialize, Serialize};

use crate::Problem;

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
