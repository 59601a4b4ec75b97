//! Commands for the container of a running controller.

use std::path::PathBuf;

use clap::{Args, Subcommand};

#[derive(Debug, Args)]
#[command(after_help = "Examples:
  kubectl exec deploy/ingress-nginx-controller -- /dbg backends list
  kubectl exec deploy/ingress-nginx-controller -- /dbg certs get shop.example.com
  narthex dbg --work-dir /run/narthex backends get shop-cart-80")]
pub(crate) struct DbgArgs {
    #[command(subcommand)]
    pub(crate) subject: DbgSubject,
    /// Work directory of the running controller [default: as for run]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) work_dir: Option<PathBuf>,
    /// No effect: the state is read over a unix socket in the work directory
    #[arg(long, global = true, value_name = "PORT")]
    pub(crate) status_port: Option<u16>,
}

/// What can be looked at.
#[derive(Debug, Subcommand)]
pub(crate) enum DbgSubject {
    /// Print the backends that NGINX has now, with their endpoints
    #[command(subcommand)]
    Backends(DbgBackends),
    /// Print certificates
    #[command(subcommand)]
    Certs(DbgCerts),
    /// Print the state of NGINX as JSON: its revision, the number of its records, the room in its memory
    General,
    /// Print the nginx.conf that runs
    Conf,
}

/// Ways to print backends.
#[derive(Debug, Subcommand)]
pub(crate) enum DbgBackends {
    /// All of them, a JSON array in the order of names
    All,
    /// Their names, one a line
    List,
    /// One of them, as JSON
    Get {
        /// Its name, such as shop-cart-80
        #[arg(value_name = "NAME")]
        name: String,
    },
}

/// Ways to print certificates.
#[derive(Debug, Subcommand)]
pub(crate) enum DbgCerts {
    /// The certificate that clients of a host get, PEM, without its private key
    Get {
        /// The host; `_` for the default certificate
        #[arg(value_name = "HOST")]
        host: String,
    },
}

#[derive(Debug, Args)]
#[command(after_help = "For a preStop hook: the controller stops as on SIGTERM, and the hook ends when it has ended.
A controller that stops already is only waited for: its signal, SIGUSR1, never hastens (a second SIGTERM does).
It finds every `narthex run` of its container; --work-dir names one.

Exit codes: 0 it has ended, 1 there is none or it can't be signalled, 2 wrong usage.")]
pub(crate) struct WaitShutdownArgs {
    /// Work directory of the controller that is meant [default: every controller of this container]
    #[arg(long, value_name = "DIR")]
    pub(crate) work_dir: Option<PathBuf>,
}
