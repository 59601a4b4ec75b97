//! Flags of `narthex rollout`: names and defaults are those of stakater's Reloader, where it has the flag.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::{ArgAction, Args, ValueEnum};
use rollout::{Check, Kind, Names, Rules, Source, Strategy};

use super::{ApiArgs, selector};

#[derive(Debug, Args)]
#[command(after_help = "Flags and annotations are those of stakater's Reloader; docs/rollout.md has them all.

Environment: KUBERNETES_NAMESPACE, POD_NAME and POD_NAMESPACE (with --enable-ha), METRICS_COUNT_BY_NAMESPACE=enabled,
ALERT_ON_RELOAD=true, ALERT_SINK (slack, teams, gchat, webhook), ALERT_WEBHOOK_URL, ALERT_WEBHOOK_PROXY, ALERT_ADDITIONAL_INFO.

Examples:
  # Roll out what has the annotation reloader.stakater.com/auto: \"true\"
  narthex rollout --kubeconfig ~/.kube/config

  # Everything, with broken NGINX configuration held back
  narthex rollout --auto-reload-all --check=nginx

  # Try each changed ConfigMap first
  narthex rollout --check=command --check-command 'nginx -t -c {}/nginx.conf'")]
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
    pub(crate) replicas: ReplicaArgs,
    /// Address of metrics and health, as HOST:PORT or :PORT
    #[arg(long, visible_alias = "listen", default_value = ":9090", value_name = "ADDRESS")]
    pub(crate) metrics_addr: String,
    /// Has no effect
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, hide = true)]
    pub(crate) enable_pprof: bool,
    /// Has no effect
    #[arg(long, hide = true)]
    pub(crate) pprof_addr: Option<String>,
    /// Has no effect
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set, hide = true)]
    pub(crate) enable_csi_integration: bool,
}

/// Reload strategies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyArg {
    /// An environment variable with the digest.
    EnvVars,
    /// An annotation of the Pod template.
    Annotations,
}

/// What is a change, and what follows.
#[derive(Debug, Args)]
#[command(next_help_heading = "Changes")]
pub(crate) struct ChangeArgs {
    /// Roll out every workload that doesn't say `auto: "false"`
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set)]
    pub(crate) auto_reload_all: bool,
    /// How Pods are made to be replaced
    #[arg(long, value_enum, default_value = "env-vars", value_name = "STRATEGY")]
    pub(crate) reload_strategy: StrategyArg,
    /// A ConfigMap or Secret that comes into being is a change
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) reload_on_create: bool,
    /// A ConfigMap or Secret that is deleted is a change
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) reload_on_delete: bool,
    /// With --reload-on-create: at the start, roll out the workloads that nothing is known of
    #[arg(long, num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set)]
    pub(crate) sync_after_restart: bool,
    /// Roll out Argo Rollouts, too
    #[arg(long = "is-Argo-Rollouts", num_args = 0..=1, default_value_t = false, default_missing_value = "true", action = ArgAction::Set)]
    pub(crate) is_argo_rollouts: bool,
    /// POST to this URL for each change instead of rolling out
    #[arg(long, value_name = "URL", default_value = "")]
    pub(crate) webhook_url: String,
}

/// What is looked at.
#[derive(Debug, Args)]
#[command(next_help_heading = "Scope")]
pub(crate) struct ScopeArgs {
    /// Only this namespace
    #[arg(long, value_name = "NAMESPACE", env = "KUBERNETES_NAMESPACE", default_value = "")]
    pub(crate) watch_namespace: String,
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

/// Other names for annotations.
#[derive(Debug, Args)]
#[command(next_help_heading = "Names of annotations")]
pub(crate) struct NameArgs {
    /// For reloader.stakater.com/auto
    #[arg(long, value_name = "NAME")]
    pub(crate) auto_annotation: Option<String>,
    /// For configmap.reloader.stakater.com/auto
    #[arg(long, value_name = "NAME")]
    pub(crate) configmap_auto_annotation: Option<String>,
    /// For secret.reloader.stakater.com/auto
    #[arg(long, value_name = "NAME")]
    pub(crate) secret_auto_annotation: Option<String>,
    /// For configmap.reloader.stakater.com/reload
    #[arg(long, value_name = "NAME")]
    pub(crate) configmap_annotation: Option<String>,
    /// For secret.reloader.stakater.com/reload
    #[arg(long, value_name = "NAME")]
    pub(crate) secret_annotation: Option<String>,
    /// For reloader.stakater.com/search
    #[arg(long, value_name = "NAME")]
    pub(crate) auto_search_annotation: Option<String>,
    /// For reloader.stakater.com/match
    #[arg(long, value_name = "NAME")]
    pub(crate) search_match_annotation: Option<String>,
    /// For deployment.reloader.stakater.com/pause-period
    #[arg(long, value_name = "NAME")]
    pub(crate) pause_deployment_annotation: Option<String>,
    /// For deployment.reloader.stakater.com/paused-at
    #[arg(long, value_name = "NAME")]
    pub(crate) pause_deployment_time_annotation: Option<String>,
}

/// Checks before a rollout and a look at what comes of it.
#[derive(Debug, Args)]
#[command(next_help_heading = "Checks")]
pub(crate) struct GuardArgs {
    /// How changed content is checked before the rollout, unless the annotation rollout.narthex.dev/check says otherwise: none, nginx, command
    #[arg(long, value_name = "CHECK", default_value = "none")]
    pub(crate) check: String,
    /// The command of the check `command`: words separated by blanks, `{}` is the directory with the keys as files
    #[arg(long, value_name = "COMMAND", default_value = "")]
    pub(crate) check_command: String,
    /// How long the command may take, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) check_timeout: u64,
    /// How long the first new Pods are watched, in seconds; a Deployment whose first new Pod fails is paused. 0: not at all
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    pub(crate) watch_rollouts: u64,
}

/// Several replicas.
#[derive(Debug, Args)]
#[command(next_help_heading = "Replicas")]
pub(crate) struct ReplicaArgs {
    /// Only one of several replicas rolls out: the holder of a Lease
    #[arg(long = "enable-ha", num_args = 0..=1, default_value_t = false, default_missing_value = "true", require_equals = true, action = ArgAction::Set)]
    pub(crate) enable_ha: bool,
    /// Name of the Lease, in POD_NAMESPACE; the default is Reloader's, so that the two never act at once
    #[arg(long, value_name = "NAME", default_value = "stakater-reloader-lock")]
    pub(crate) election_id: String,
    /// How long a leader that died keeps the Lease, in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 15)]
    pub(crate) election_ttl: u64,
}

impl RolloutArgs {
    /// What leads to a rollout.
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

    /// How long the first new Pods are watched.
    pub(crate) fn watch(&self) -> Duration {
        Duration::from_secs(self.watch_rollouts)
    }
}

impl ScopeArgs {
    fn sources(&self) -> anyhow::Result<BTreeSet<Source>> {
        let mut sources = BTreeSet::from(Source::ALL);
        for text in &self.resources_to_ignore {
            match text.trim().to_ascii_lowercase().as_str() {
                "configmaps" => sources.remove(&Source::ConfigMap),
                "secrets" => sources.remove(&Source::Secret),
                _ => bail!("--resources-to-ignore {text:?}: expected configMaps or secrets"),
            };
        }
        ensure!(!sources.is_empty(), "--resources-to-ignore: with neither configMaps nor secrets nothing is left to do");
        Ok(sources)
    }

    fn kinds(&self, argo: bool) -> anyhow::Result<BTreeSet<Kind>> {
        let mut kinds: BTreeSet<Kind> = Kind::ALL.into_iter().filter(|kind| argo || *kind != Kind::Rollout).collect();
        for text in &self.ignored_workload_types {
            let ignored = Kind::ALL.into_iter().find(|kind| kind.plural() == text.trim().to_ascii_lowercase());
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

impl NameArgs {
    fn names(&self) -> Names {
        let mut names = Names::default();
        let [map_auto, secret_auto] = &mut names.typed_auto;
        let [map_reload, secret_reload] = &mut names.reload;
        for (name, given) in [
            (&mut names.auto, &self.auto_annotation),
            (map_auto, &self.configmap_auto_annotation),
            (secret_auto, &self.secret_auto_annotation),
            (map_reload, &self.configmap_annotation),
            (secret_reload, &self.secret_annotation),
            (&mut names.search, &self.auto_search_annotation),
            (&mut names.found, &self.search_match_annotation),
            (&mut names.pause_period, &self.pause_deployment_annotation),
            (&mut names.paused_at, &self.pause_deployment_time_annotation),
        ] {
            if let Some(given) = given {
                name.clone_from(given);
            }
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn args(flags: &[&str]) -> RolloutArgs {
        let cli = Cli::try_parse_from(["narthex", "rollout"].iter().chain(flags)).unwrap();
        let Command::Rollout(args) = cli.command else { panic!("not rollout") };
        *args
    }

    #[test]
    fn reloader_s_own_command_lines_are_read() {
        let rules = args(&[
            "--is-Argo-Rollouts=true",
            "--reload-on-create=true",
            "--reload-on-delete",
            "true",
            "--auto-reload-all=true",
            "--reload-strategy=annotations",
        ])
        .rules()
        .unwrap();
        assert!(rules.kinds.contains(&Kind::Rollout) && rules.on_create && rules.on_delete && rules.auto_all);
        assert_eq!(rules.strategy, Strategy::Annotations);
        assert_eq!(args(&[]).rules().unwrap(), Rules::default());
        let ignoring = args(&["--ignored-workload-types=jobs,cronjobs", "--resources-to-ignore=configMaps"]).rules().unwrap();
        assert_eq!((ignoring.kinds.len(), ignoring.sources), (3, [Source::Secret].into()));
        assert!(args(&["--resources-to-ignore=configmaps,secrets"]).rules().is_err());
        assert!(args(&["--ignored-workload-types=pods"]).rules().is_err());
        args(&["--enable-pprof", "--pprof-addr=:6060", "--enable-ha", "--log-format=json"]);
    }

    #[test]
    fn selectors_may_have_the_older_forms() {
        for (given, expected) in
            [("a:b,c:*", "a=b,c"), ("a=*", "a"), ("a in (b,c),!d", "a in (b,c),!d"), ("a!=b", "a!=b"), ("a==b", "a==b")]
        {
            assert_eq!(args(&["--namespace-selector", given]).scope.namespaces().unwrap().as_deref(), Some(expected));
        }
        let two = args(&["--resource-label-selector=a=b", "--resource-label-selector=c=d"]);
        assert_eq!(two.scope.resources().unwrap().as_deref(), Some("a=b,c=d"));
        assert!(args(&["--namespace-selector=a b"]).scope.namespaces().is_err());
    }

    #[test]
    fn annotations_may_have_other_names() {
        let names = args(&["--auto-annotation=a", "--secret-annotation=b", "--pause-deployment-time-annotation=c"]).rules().unwrap().names;
        assert_eq!((&*names.auto, &*names.reload[1], &*names.paused_at), ("a", "b", "c"));
        assert_eq!(names.reload[0], "configmap.reloader.stakater.com/reload");
    }

    #[test]
    fn a_check_by_command_needs_the_command() {
        assert!(args(&["--check=command"]).rules().is_err());
        assert!(args(&["--check=vibes"]).rules().is_err());
        let args = args(&["--check=command", "--check-command", "nginx  -t -c {}/nginx.conf"]);
        assert_eq!(
            (args.rules().unwrap().check, args.guard.command()),
            (Check::Command, vec!["nginx".into(), "-t".into(), "-c".into(), "{}/nginx.conf".into()])
        );
    }
}
