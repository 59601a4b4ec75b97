//! The command for after the end of a controller.

use clap::Args;

use super::ApiArgs;

#[derive(Debug, Args)]
#[command(
    after_help = "Needs the rights to list Ingresses, to patch their status, and to delete the Lease. Where such a controller still runs, it writes both again.

Exit codes: 0 all of it is removed, 1 something could not be, 2 wrong usage.

Example:
  POD_NAMESPACE=ingress narthex cleanup --election-id narthex-leader"
)]
pub(crate) struct CleanupArgs {
    /// Name of the Lease of the controllers that have ended, in the namespace of POD_NAMESPACE, of the service account, or of the kubeconfig's context
    #[arg(long, default_value = "ingress-controller-leader", value_name = "NAME")]
    pub(crate) election_id: String,
    /// The namespace that they watched [default: all]
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) watch_namespace: Option<String>,
    #[command(flatten)]
    pub(crate) api: ApiArgs,
}
