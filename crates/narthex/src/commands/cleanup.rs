//! `narthex cleanup`: removes what a controller left in the cluster.

use std::process::ExitCode;

use anyhow::{Context, bail};
use cluster::Cleaned;
use model::ObjectKey;

use super::pod::own_namespace;
use crate::args::{CleanupArgs, LogArgs};
use crate::output;

/// Removes it, and says what was there.
pub(crate) fn cleanup(args: &CleanupArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    crate::logging::init(log)?;
    super::run::runtime()?.block_on(clean_up(args))
}

async fn clean_up(args: &CleanupArgs) -> anyhow::Result<ExitCode> {
    let client = cluster::connect(&args.api.connect_options()).await.context("cleanup needs an API server")?;
    let Some(namespace) = own_namespace(&args.api) else {
        bail!(
            "--election-id {}: in which namespace? Expected POD_NAMESPACE, the service account of a Pod, or a kubeconfig whose current context has a namespace",
            args.election_id
        );
    };
    let lease = ObjectKey::new(namespace, args.election_id.as_str());
    let watched = args.watch_namespace.as_deref().filter(|namespace| !namespace.is_empty());
    let Cleaned { emptied, failed } = cluster::clean_up(client, &lease, watched).await?;
    if failed > 0 {
        bail!("the status of {failed} Ingresses could not be emptied, that of {emptied} was; the Lease {lease} is left until all are");
    }
    output::line(format_args!("the status of {emptied} Ingresses is empty now; there is no Lease {lease}"))?;
    Ok(ExitCode::SUCCESS)
}
