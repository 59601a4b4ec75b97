//! The address of the API server: the same flags for every command that speaks to one.

use std::path::PathBuf;

use clap::Args;

/// The address of the API server.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ApiArgs {
    /// kubeconfig file [default: the cluster this runs in, else that of kubectl]
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// URL of the API server
    #[arg(long, value_name = "URL")]
    pub(crate) apiserver_host: Option<String>,
    /// CA file for --apiserver-host
    #[arg(long, value_name = "FILE")]
    pub(crate) certificate_authority: Option<PathBuf>,
}

impl ApiArgs {
    /// `true` if any flag names a server.
    pub(crate) fn names_one(&self) -> bool {
        self.kubeconfig.is_some() || self.apiserver_host.is_some()
    }

    /// In the form of the cluster crate.
    pub(crate) fn connect_options(&self) -> cluster::ConnectOptions {
        cluster::ConnectOptions {
            kubeconfig: self.kubeconfig.clone(),
            apiserver_host: self.apiserver_host.clone(),
            certificate_authority: self.certificate_authority.clone(),
        }
    }
}
