//! The flags, checked.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::agenda::Debounce;
use crate::alert::AlertOptions;
use crate::rules::Rules;

/// Options of a run.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// The rules of what leads to a rollout.
    pub rules: Rules,
    /// `--namespaces`, `--watch-namespace`, `KUBERNETES_NAMESPACE`: only these, each with watches of its own; none: all.
    pub namespaces: BTreeSet<String>,
    /// `--namespaces-to-ignore`.
    pub ignored_namespaces: BTreeSet<String>,
    /// `--namespace-selector`, as the API has selectors; unused with `namespaces`.
    pub namespace_selector: Option<String>,
    /// `--resource-label-selector`, as the API has selectors.
    pub resource_selector: Option<String>,
    /// `--webhook-url`: notified of changes instead of rollouts.
    pub webhook: Option<String>,
    /// `--check-command`, split into words; `{}` is the directory.
    pub check_command: Vec<String>,
    /// `--check-timeout`.
    pub check_timeout: Duration,
    /// `--watch-rollouts`: how long the first new Pod is watched; zero: not at all.
    pub watch: Duration,
    /// The time for which changes are collected.
    pub debounce: Debounce,
    /// `ALERT_*`.
    pub alerts: Option<AlertOptions>,
    /// The reporter of Events: the Pod's name.
    pub instance: Option<String>,
}

impl Options {
    /// The selector of namespaces, where it counts.
    pub(crate) fn selects(&self) -> Option<&str> {
        self.namespace_selector.as_deref().filter(|_| self.namespaces.is_empty())
    }
}
