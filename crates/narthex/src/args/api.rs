//! The address of the API server: the same flags for every command that speaks to one.

use std::path::PathBuf;

use clap::Args;

use super::values::path;

/// The address of the API server.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct ApiArgs {
    /// kubeconfig file [default: the cluster this runs in, else that of kubectl]
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// URL of the API server
    #[arg(long, value_name = "URL")]
    pub(crate) apiserver_host: Option<String>,
    /// CA file for --apiserver-host
    #[arg(long, value_name = "FILE", value_parser = path())]
    pub(crate) certificate_authority: Option<PathBuf>,
}

impl ApiArgs {
    /// `true` if any flag names a server.
    pub(crate) fn names_one(&self) -> bool {
        let options = self.connect_options();
        options.kubeconfig.is_some() || options.apiserver_host.is_some()
    }

    /// In the form of the cluster crate. What is empty counts as not given.
    pub(crate) fn connect_options(&self) -> cluster::ConnectOptions {
        let file = |path: &Option<PathBuf>| path.clone().filter(|path| !path.as_os_str().is_empty());
        cluster::ConnectOptions {
            kubeconfig: file(&self.kubeconfig),
            apiserver_host: self.apiserver_host.clone().filter(|url| !url.is_empty()),
            certificate_authority: file(&self.certificate_authority),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        api: ApiArgs,
    }

    #[test]
    fn what_is_empty_counts_as_not_given() {
        let api = Line::try_parse_from(["x", "--kubeconfig=", "--apiserver-host=", "--certificate-authority="]).unwrap().api;
        assert!(!api.names_one() && api.connect_options().certificate_authority.is_none());
        let api = Line::try_parse_from(["x", "--kubeconfig", "/k"]).unwrap().api;
        assert!(api.names_one());
    }
}
