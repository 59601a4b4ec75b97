//! Hosts and their paths.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Certificate, Choice, EffectiveSetting, Problem, Traffic};

/// A name that requests are for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Host {
    /// The name; `_`: rules without a host.
    pub host: String,
    /// Namespaces of the Ingresses that have a path of it.
    #[serde(default)]
    pub namespaces: Vec<String>,
    /// Number of its paths.
    #[serde(default)]
    pub paths: usize,
    /// Content address of its certificate ([`Certificate::digest`]). Absent: it has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// Whether its connections go to a backend without being decrypted.
    #[serde(default)]
    pub passthrough: bool,
    /// Whether its newest routes wait for a reload.
    #[serde(default)]
    pub held: bool,
    /// Number of findings about its Ingresses.
    #[serde(default)]
    pub problems: usize,
    /// Its requests. Absent: they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
}

/// Everything about one host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostDetail {
    /// The name.
    pub host: String,
    /// Other names with the same rules (`server-alias`).
    #[serde(default)]
    pub aliases: Vec<String>,
    /// The certificate that its clients get. Absent: the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certificate>,
    /// Its server block.
    pub server: HostServerKind,
    /// Whether its connections go to a backend without being decrypted.
    #[serde(default)]
    pub passthrough: bool,
    /// Whether its newest routes wait for a reload.
    #[serde(default)]
    pub held: bool,
    /// Where everything is redirected to, another host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirect_to: Option<String>,
    /// Number of its paths.
    #[serde(default)]
    pub paths_total: usize,
    /// Its paths in the order in which NGINX tries them, the first 1,000.
    #[serde(default)]
    pub paths: Vec<PathRow>,
    /// The settings in effect of each Ingress that has a path here, by `namespace/name`.
    #[serde(default)]
    pub settings: BTreeMap<String, Vec<EffectiveSetting>>,
    /// Findings about its Ingresses and about itself.
    #[serde(default)]
    pub problems: Vec<Problem>,
    /// Its requests. Absent: they are not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
}

/// The server block that serves a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum HostServerKind {
    /// That of all hosts.
    #[serde(rename = "shared")]
    Shared,
    /// One of its own.
    #[serde(rename = "host server")]
    Own,
}

/// A path of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathRow {
    /// The path.
    pub path: String,
    /// How requests are compared with it.
    #[serde(rename = "type")]
    pub matches: PathMatch,
    /// `namespace/name` of the Ingress. Absent: the default backend.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ingress: Option<String>,
    /// When that was created.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<f64>,
    /// The backend ([`crate::Backend::name`]). Absent: the default one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backend: Option<String>,
    /// Backends that get a part of its requests.
    #[serde(default)]
    pub canary: Vec<Choice>,
    /// Its profile: the named location of `nginx.conf`. Absent: the base profile.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// Number of findings about its Ingress.
    #[serde(default)]
    pub problems: usize,
}

/// How requests are compared with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum PathMatch {
    /// The whole path.
    Exact,
    /// Segments from the start.
    Prefix,
    /// A regular expression.
    Regex,
}
