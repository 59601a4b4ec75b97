//! Flags of `narthex rollout`: names and defaults are those of stakater's Reloader, where it has the flag.

mod alerts;
mod names;
#[cfg(test)]
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::builder::BoolishValueParser;
use clap::{Args, ValueEnum};
use rollout::{Check, ContentKind, Kind, Rules, Strategy};

use super::duration::duration;
use super::{ApiArgs, selector};
use alerts::AlertArgs;
use names::NameArgs;

#[derive(Debug, Args)]
#[command(after_help = "Flags and annotations are those of stakater's Reloader; docs/rollout.md has them all.

Environment: KUBERNETES_NAMESPACE, POD_NAME and POD_NAMESPACE (with --enable-ha), METRICS_COUNT_BY_NAMESPACE=enabled, and for
what is a secret, ALERT_WEBHOOK_URL and ALERT_WEBHOOK_PROXY; also ALERT_ON_RELOAD, ALERT_SINK, ALERT_ADDITIONAL_INFO, ALERT_STRUCTURED.

Examples:
  # Roll out what has the annotation reloader.stakater.com/auto: \"true\"
  narthex rollout --kubeconfig ~/.kube/config

  # Everything, with broken NGINX configuration held back
  narthex rollout --auto-reload-all --check=nginx

  # Try each changed ConfigMap first
  narthex rollout --check=command --check-command 'nginx -t -c {}/nginx.conf'")]
#[command(args_override_self = true)]
pub(crate) struct RolloutArgs {
    #[command(flatten)]
    pub(crate) api: ApiArgs,
    #[command(flatten)]
    pub(crate) changes: ChangeArgs,
    #[command(flatten)]
    pub(crate) scope: ScopeArgs,
    #[command(flatten)]
    pub(crate) names: NameArgs,
    #[command(flatten)]
    pub(crate) guard: GuardArgs,
    #[command(flatten)]
    pub(crate) alerts: AlertArgs,
    #[command(flatten)]
    pub(crate) replicas: ReplicaArgs,
    /// Address of metrics and health, as HOST:PORT or :PORT
    #[arg(long, visible_alias = "listen", default_value = ":9090", value_name = "ADDRESS")]
    pub(crate) metrics_addr: String,
    /// One more address for health alone (/healthz, /readyz), as HOST:PORT or :PORT
    #[arg(long, default_value = "", value_name = "ADDRESS")]
    pub(crate) health_addr: String,
    /// After SIGTERM, how long what was begun may take: rollouts that were decided, Jobs that are made again, alerts, webhooks
    #[arg(long, value_name = "DURATION", default_value = "25s", value_parser = duration)]
    pub(crate) stop_timeout: Duration,
    /// Has no effect
    #[arg(long, num_args = 0..=1, default_value = "false", default_missing_value = "true", require_equals = true, value_parser = bool(), hide = true)]
    pub(crate) enable_pprof: bool,
    /// Has no effect
    #[arg(long, hide = true)]
    pub(crate) pprof_addr: Option<String>,
    /// Has no effect
    #[arg(long, num_args = 0..=1, default_value = "false", default_missing_value = "true", require_equals = true, value_parser = bool(), hide = true)]
    pub(crate) enable_csi_integration: bool,
    /// Has no effect
    #[arg(long, value_name = "WHETHER", hide = true)]
    pub(crate) is_openshift: Option<String>,
}

/// A bool in the grammar of Go, and `yes` and `no`.
fn bool() -> BoolishValueParser {
    BoolishValueParser::new()
}

/// Reload strategies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyArg {
    /// An environment variable with the digest.
    EnvVars,
    /// An annotation of the Pod template.
    Annotations,
}

/// Changes and their effects.
#[derive(Debug, Args)]
#[command(next_help_heading = "Changes")]
pub(crate) struct ChangeArgs {
    /// Roll out every workload that doesn't say `auto: "false"`
    #[arg(long, num_args = 0..=1, default_value = "false", default_missing_value = "true", require_equals = true, value_parser = bool())]
    pub(crate) auto_reload_all: bool,
    /// The method to replace Pods
    #[arg(long, value_enum, default_value = "env-vars", value_name = "STRATEGY")]
    pub(crate) reload_strategy: StrategyArg,
    /// A ConfigMap or Secret that comes into being is a change
    #[arg(long, num_args = 0..=1, default_value = "false", default_missing_value = "true", value_parser = bool())]
    pub(crate) reload_on_create: bool,
    /// A ConfigMap or Secret that is deleted is a change
    #[arg(long, num_args = 0..=1, default_value = "false", default_missing_value = "true", value_parser = bool())]
    pub(crate) reload_on_delete: bool,
    /// With --reload-on-create: at the start, roll out the workloads that nothing is known of
    #[arg(long, num_args = 0..=1, default_value = "false", default_missing_value = "true", require_equals = true, value_parser = bool())]
    pub(crate) sync_after_restart: bool,
    /// Roll out Argo Rollouts, too
    #[arg(long = "is-Argo-Rollouts", num_args = 0..=1, default_value = "false", default_missing_value = "true", value_parser = bool())]
    pub(crate) is_argo_rollouts: bool,
    /// POST to this URL for each change instead of rolling out
    #[arg(long, value_name = "URL", default_value = "")]
    pub(crate) webhook_url: String,
}

/// The scope of the watches.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scope")]
pub(crate) struct ScopeArgs {
    /// Only this namespace
    #[arg(long, value_name = "NAMESPACE", env = "KUBERNETES_NAMESPACE", default_value = "")]
    pub(crate) watch_namespace: String,
    /// Only these namespaces, separated by commas, each with watches of its own: no right for the whole cluster is needed
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',')]
    pub(crate) namespaces: Vec<String>,
    /// Not these namespaces, separated by commas
    #[arg(long, value_name = "NAMESPACES", value_delimiter = ',')]
    pub(crate) namespaces_to_ignore: Vec<String>,
    /// Only namespaces with these labels
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) namespace_selector: Vec<String>,
    /// Only ConfigMaps and Secrets with these labels
    #[arg(long, value_name = "SELECTOR")]
    pub(crate) resource_label_selector: Vec<String>,
    /// `configMaps` or `secrets`: changes of these don't count
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    pub(crate) resources_to_ignore: Vec<String>,
    /// Workloads that are never rolled out: `jobs`, `cronjobs`, `deployments`, `statefulsets`, `daemonsets`, separated by commas
    #[arg(long, value_name = "KINDS", value_delimiter = ',')]
    pub(crate) ignored_workload_types: Vec<String>,
}

/// Checks before a rollout and a look at what comes of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct GuardArgs {
    /// The check of changed content before the rollout, unless the annotation rollout.narthex.dev/check says otherwise: none, nginx, command
    #[arg(long, value_name = "CHECK", default_value = "none")]
    pub(crate) check: String,
    /// The command of the check `command`: words separated by spaces, `{}` is the directory with the keys as files
    #[arg(long, value_name = "COMMAND", default_value = "")]
    pub(crate) check_command: String,
    /// The time that the command may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) check_timeout: u64,
    /// The time for which the first new Pods are watched, in seconds; a Deployment whose first new Pod fails is paused. 0: not at all
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(crate) watch_rollouts: u64,
}

/// Several replicas.
#[derive(Debug, Args)]
#[command(next_help_heading = "Replicas")]
pub(crate) struct ReplicaArgs {
    /// Only one of several replicas rolls out: the holder of a Lease
    #[arg(long = "enable-ha", num_args = 0..=1, default_value = "false", default_missing_value = "true", require_equals = true, value_parser = bool())]
    pub(crate) enable_ha: bool,
    /// Name of the Lease, in POD_NAMESPACE; the default is Reloader's, so that the two never act at once
    #[arg(long, visible_alias = "leader-election-id", value_name = "NAME", default_value = "stakater-reloader-lock")]
    pub(crate) election_id: String,
    /// Namespace of the Lease instead of POD_NAMESPACE
    #[arg(long, value_name = "NAMESPACE", default_value = "")]
    pub(crate) leader_election_namespace: String,
    /// The time for which a leader that died keeps the Lease; a number alone counts seconds
    #[arg(long, visible_alias = "leader-election-lease-duration", value_name = "DURATION", default_value = "15s", value_parser = duration)]
    pub(crate) election_ttl: Duration,
    /// Give the Lease away at the end, so that no replica has to wait for it
    #[arg(long, num_args = 0..=1, default_value = "true", default_missing_value = "true", require_equals = true, value_parser = bool())]
    pub(crate) leader_election_release_on_cancel: bool,
    /// Has no effect: half of the duration of the Lease
    #[arg(long, value_name = "DURATION", hide = true)]
    pub(crate) leader_election_renew_deadline: Option<String>,
    /// Has no effect: a quarter of the duration of the Lease
    #[arg(long, value_name = "DURATION", hide = true)]
    pub(crate) leader_election_retry_period: Option<String>,
}

impl RolloutArgs {
    /// The rules of what leads to a rollout.
    pub(crate) fn rules(&self) -> anyhow::Result<Rules> {
        let changes = &self.changes;
        Ok(Rules {
            names: self.names.names(),
            auto_all: changes.auto_reload_all,
            strategy: match changes.reload_strategy {
                StrategyArg::EnvVars => Strategy::EnvVars,
                StrategyArg::Annotations => Strategy::Annotations,
            },
            on_create: changes.reload_on_create,
            on_delete: changes.reload_on_delete,
            sync_after_restart: changes.sync_after_restart,
            sources: self.scope.sources()?,
            kinds: self.scope.kinds(changes.is_argo_rollouts)?,
            check: self.guard.check()?,
        })
    }
}

impl GuardArgs {
    fn check(&self) -> anyhow::Result<Check> {
        let check = Check::read(&self.check).with_context(|| format!("--check {:?}: expected none, nginx or command", self.check))?;
        ensure!(check != Check::Command || !self.command().is_empty(), "--check=command needs --check-command");
        Ok(check)
    }

    /// The command's words.
    pub(crate) fn command(&self) -> Vec<String> {
        self.check_command.split_whitespace().map(str::to_owned).collect()
    }

    /// The time for which the first new Pods are watched.
    pub(crate) fn watch(&self) -> Duration {
        Duration::from_secs(self.watch_rollouts)
    }
}

/// The names in the list of a flag; spaces and empty ones left out.
fn given(list: &[String]) -> impl Iterator<Item = &str> {
    list.iter().map(|text| text.trim()).filter(|text| !text.is_empty())
}

impl ScopeArgs {
    /// The only namespaces; none: all.
    pub(crate) fn only(&self) -> BTreeSet<String> {
        let listed: BTreeSet<String> = given(&self.namespaces).map(str::to_owned).collect();
        match listed.is_empty() {
            true => given(std::slice::from_ref(&self.watch_namespace)).map(str::to_owned).collect(),
            false => listed,
        }
    }

    /// The namespaces of `--namespaces-to-ignore`.
    pub(crate) fn ignored(&self) -> BTreeSet<String> {
        given(&self.namespaces_to_ignore).map(str::to_owned).collect()
    }

    fn sources(&self) -> anyhow::Result<BTreeSet<ContentKind>> {
        let mut sources = BTreeSet::from(ContentKind::ALL);
        for text in given(&self.resources_to_ignore) {
            match text.to_ascii_lowercase().as_str() {
                "configmaps" => sources.remove(&ContentKind::ConfigMap),
                "secrets" => sources.remove(&ContentKind::Secret),
                _ => bail!("--resources-to-ignore {text:?}: expected configMaps or secrets"),
            };
        }
        ensure!(!sources.is_empty(), "--resources-to-ignore: with neither configMaps nor secrets nothing is left to do");
        Ok(sources)
    }

    fn kinds(&self, argo: bool) -> anyhow::Result<BTreeSet<Kind>> {
        let mut kinds: BTreeSet<Kind> = Kind::ALL.into_iter().filter(|kind| argo || *kind != Kind::Rollout).collect();
        for text in given(&self.ignored_workload_types) {
            let ignored = Kind::ALL.into_iter().find(|kind| kind.plural() == text.to_ascii_lowercase());
            let Some(ignored) = ignored else {
                bail!("--ignored-workload-types {text:?}: expected jobs, cronjobs, deployments, statefulsets, daemonsets or rollouts");
            };
            kinds.remove(&ignored);
        }
        Ok(kinds)
    }

    /// The selector of namespaces in the form of the API; `None` for all.
    pub(crate) fn namespaces(&self) -> anyhow::Result<Option<String>> {
        labels("--namespace-selector", &self.namespace_selector)
    }

    /// The selector of ConfigMaps and Secrets in the form of the API; `None` for all.
    pub(crate) fn resources(&self) -> anyhow::Result<Option<String>> {
        labels("--resource-label-selector", &self.resource_label_selector)
    }
}

/// Reloader's older forms `key:value`, `key:*` and `key=*` are understood, too.
fn labels(flag: &str, given: &[String]) -> anyhow::Result<Option<String>> {
    let given = given.join(",");
    let terms = selector::split(&given).into_iter().map(|term| match term.split_once([':', '=']) {
        Some((key, "*")) => key.to_owned(),
        Some((key, value)) if term.contains(':') => format!("{key}={value}"),
        _ => term.to_owned(),
    });
    let text = terms.collect::<Vec<_>>().join(",");
    selector::parse(flag, &text)?;
    Ok((!text.is_empty()).then_some(text))
}
