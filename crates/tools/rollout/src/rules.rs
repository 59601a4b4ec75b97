//! Rules that the flags set: names of annotations, strategies, what counts as a change.

use std::collections::BTreeSet;

use crate::kind::{ContentKind, Kind};

/// The method to make a workload replace its Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strategy {
    /// The digest becomes an environment variable of a container.
    EnvVars,
    /// An annotation of the Pod template holds the change.
    Annotations,
}

/// Names of annotations; all but those below `rollout.narthex.dev` are Reloader's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// On a workload: everything that it refers to.
    pub auto: String,
    /// On a workload: every ConfigMap, every Secret that it refers to. Index: [`ContentKind`].
    pub typed_auto: [String; 2],
    /// On a workload: ConfigMaps, Secrets by name.
    pub reload: [String; 2],
    /// On a workload: ConfigMaps, Secrets that never count.
    pub exclude: [String; 2],
    /// On a workload: what it refers to and is marked by [`Self::found`].
    pub search: String,
    /// On a ConfigMap or Secret: may be found by [`Self::search`].
    pub found: String,
    /// On a ConfigMap or Secret: never counts.
    pub ignore: String,
    /// On an Argo Rollout: `rollout` or `restart`.
    pub rollout_strategy: String,
    /// On a Deployment: how long changes are collected, as Go writes durations.
    pub pause_period: String,
    /// On a Deployment: since when they are collected.
    pub paused_at: String,
}

/// On a Pod template: what was last rolled out, with the strategy `annotations`.
pub(crate) const LAST_RELOADED_FROM: &str = "reloader.stakater.com/last-reloaded-from";
/// On a workload: which content its Pods have; written by us.
pub(crate) const APPLIED: &str = "rollout.narthex.dev/applied";
/// On a workload, a ConfigMap or a Secret: how a change is checked before the rollout.
pub(crate) const CHECK: &str = "rollout.narthex.dev/check";
/// On a Deployment: why we paused it.
pub(crate) const PAUSED: &str = "rollout.narthex.dev/paused";
/// On a Pod template: makes it differ where the digest alone would not.
pub(crate) const RESTARTED_AT: &str = "rollout.narthex.dev/restarted-at";

/// All annotations of ours, and those of Reloader that have no other names.
pub const FIXED: [&str; 5] = [LAST_RELOADED_FROM, APPLIED, CHECK, PAUSED, RESTARTED_AT];

impl Names {
    /// All of them.
    pub fn all(&self) -> Vec<&str> {
        let typed = [&self.typed_auto, &self.reload, &self.exclude].into_iter().flatten();
        let single = [&self.auto, &self.search, &self.found, &self.ignore, &self.rollout_strategy, &self.pause_period, &self.paused_at];
        typed.chain(single).map(String::as_str).collect()
    }
}

impl Default for Names {
    fn default() -> Self {
        let stakater = |name: &str| format!("reloader.stakater.com/{name}");
        let typed = |name: &str| [format!("configmap.reloader.stakater.com/{name}"), format!("secret.reloader.stakater.com/{name}")];
        Self {
            auto: stakater("auto"),
            typed_auto: typed("auto"),
            reload: typed("reload"),
            exclude: ["configmaps.exclude.reloader.stakater.com/reload".into(), "secrets.exclude.reloader.stakater.com/reload".into()],
            search: stakater("search"),
            found: stakater("match"),
            ignore: stakater("ignore"),
            rollout_strategy: stakater("rollout-strategy"),
            pause_period: "deployment.reloader.stakater.com/pause-period".into(),
            paused_at: "deployment.reloader.stakater.com/paused-at".into(),
        }
    }
}

/// A check of a change before its rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Check {
    /// None.
    None,
    /// Keys that end in `.conf` are complete NGINX configuration.
    Nginx,
    /// `--check-command` ends with 0.
    Command,
}

impl Check {
    /// Reads the value of an annotation or a flag: `none`, `nginx`, `command`.
    pub fn read(text: &str) -> Option<Self> {
        match text.trim() {
            "none" => Some(Self::None),
            "nginx" => Some(Self::Nginx),
            "command" => Some(Self::Command),
            _ => None,
        }
    }
}

/// Everything that decides whether a change leads to a rollout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// Names of annotations.
    pub names: Names,
    /// `--auto-reload-all`.
    pub auto_all: bool,
    /// `--reload-strategy`.
    pub strategy: Strategy,
    /// `--reload-on-create`.
    pub on_create: bool,
    /// `--reload-on-delete`.
    pub on_delete: bool,
    /// `--sync-after-restart`.
    pub sync_after_restart: bool,
    /// Sources that are watched: both but `--resources-to-ignore`.
    pub sources: BTreeSet<ContentKind>,
    /// Workloads: all but `--ignored-workload-types`, and Argo Rollouts where asked for.
    pub kinds: BTreeSet<Kind>,
    /// `--check`: for what has no annotation.
    pub check: Check,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            names: Names::default(),
            auto_all: false,
            strategy: Strategy::EnvVars,
            on_create: false,
            on_delete: false,
            sync_after_restart: false,
            sources: ContentKind::ALL.into(),
            kinds: Kind::ALL.into_iter().filter(|kind| *kind != Kind::Rollout).collect(),
            check: Check::None,
        }
    }
}
