//! `narthex plan`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

use super::{ApiArgs, ModelArgs};

#[derive(Debug, Args)]
#[command(
    after_help = "Prints `nothing`, `live` with the records that would be posted, or `reload` with the reasons and the Ingresses behind them; then findings that
the change brings or ends, what the admission webhook would refuse, and annotations of a high risk that it adds.

Exit codes: 0 whatever the answer, 1 a file or an object can't be read (or something else failed), 2 wrong usage.
With --exit-code: 0 nothing, 3 live, 4 a reload, 5 the admission webhook would refuse an object.

Examples:
  git worktree add /tmp/before HEAD~1 && narthex plan /tmp/before/manifests manifests
  narthex plan --against cluster -f new.yaml
  narthex plan --against manifests -f - --format markdown <new.yaml
  kubectl kustomize overlays/production | narthex plan --against cluster --exit-code -f -"
)]
pub(crate) struct PlanArgs {
    /// Directory as it is
    #[arg(value_name = "OLD", requires = "new", conflicts_with_all = ["against", "files"])]
    pub(crate) old: Option<PathBuf>,
    /// Directory as it would be
    #[arg(value_name = "NEW")]
    pub(crate) new: Option<PathBuf>,
    /// What the change is made to: `cluster`, as it is now, or a directory
    #[arg(long, value_name = "cluster|DIR", requires = "files", required_unless_present = "old")]
    pub(crate) against: Option<Base>,
    /// Objects that would be added or changed, as with kubectl apply: a file, a directory, or - for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE", requires = "against")]
    pub(crate) files: Vec<PathBuf>,
    /// Say the answer by the exit code, too
    #[arg(long)]
    pub(crate) exit_code: bool,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) api: ApiArgs,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: PlanFormat,
}

/// What a change is made to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Base {
    /// The cluster that the kubeconfig names.
    Cluster,
    /// A directory of manifests.
    Directory(PathBuf),
}

impl From<std::ffi::OsString> for Base {
    fn from(text: std::ffi::OsString) -> Self {
        if text == "cluster" { Self::Cluster } else { Self::Directory(text.into()) }
    }
}

/// Forms of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
    /// For the description of a merge request.
    Markdown,
}
