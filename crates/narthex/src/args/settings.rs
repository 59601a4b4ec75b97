//! The command line of `narthex settings`.

use std::path::PathBuf;

use clap::Args;

use super::{Format, RunArgs};

#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Say what going from the ConfigMap in one file to that in another would do
    #[arg(long, num_args = 2, value_names = ["OLD", "NEW"])]
    pub(crate) diff: Option<Vec<PathBuf>>,
    /// Also show what has its default
    #[arg(long)]
    pub(crate) all: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
}

/// What stands below the flags, which are those of `run`.
pub(crate) const EXAMPLES: &str = "Takes the flags of `narthex run`.
Exit codes: 0 all values can be used, 1 some can't, 2 wrong usage.

Examples:
  narthex settings --manifests manifests --configmap ingress/settings
  narthex settings --kubeconfig ~/.kube/config --configmap ingress/settings --all
  narthex settings --diff old.yaml new.yaml
  narthex settings --diff old.yaml new.yaml --manifests manifests --format json | jq .plan";
