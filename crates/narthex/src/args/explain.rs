//! `narthex explain`.

use std::net::IpAddr;

use clap::{Args, Subcommand};

use super::{Format, ModelArgs, NginxArgs, SourceArgs};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "Exit codes: 0 success, 2 nothing has this name.

Examples:
  narthex explain proxy-body-size                # the annotation and the key of the ConfigMap
  narthex explain annotation canary-by-header
  narthex explain request https://shop.example.com/cart
  narthex explain key
  narthex explain annotation --json | jq '.[] | select(.live | not) | .name'")]
pub(crate) struct ExplainArgs {
    #[command(subcommand)]
    pub(crate) subject: Option<Subject>,
    #[command(flatten)]
    pub(crate) any: ExplainNameArgs,
}

/// What can be explained.
#[derive(Debug, Subcommand)]
pub(crate) enum Subject {
    /// Explain an annotation, or list all of them
    Annotation(ExplainNameArgs),
    /// Explain a key of the ConfigMap, or list all of them
    Key(ExplainNameArgs),
    /// Explain what serves a request: host, rule, certificate, redirects, access control, backend, endpoints; and why other rules don't
    Request(Box<ExplainRequestArgs>),
}

#[derive(Debug, Args)]
pub(crate) struct ExplainNameArgs {
    /// Its name, an annotation's with or without prefix; a list of all if left out
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// A request, and where the rules are.
#[derive(Debug, Args)]
#[command(
    after_help = "Without --manifests, --kubeconfig or --apiserver-host it asks the running controller of --work-dir. No request is sent.

Exit codes: 0 a backend serves the request or NGINX answers it by a rule, 1 no rule has the host or the path, or no endpoint is there, 2 wrong usage.

Examples:
  narthex explain request https://shop.example.com/cart?id=5
  narthex explain request -X POST -H 'X-Canary: always' http://shop.example.com/cart
  narthex explain request --client 192.0.2.7 https://admin.example.com/
  narthex explain request --manifests examples --format json http://hello.example.com/ | jq .outcome"
)]
pub(crate) struct ExplainRequestArgs {
    /// Its URL; without a scheme it is http
    #[arg(value_name = "URL")]
    pub(crate) url: String,
    /// Its method
    #[arg(short = 'X', long, value_name = "METHOD", default_value = "GET")]
    pub(crate) method: String,
    /// A header of it; can be given more than once
    #[arg(short = 'H', long = "header", value_name = "NAME: VALUE")]
    pub(crate) headers: Vec<String>,
    /// Address of the client, for lists of addresses [default: not known]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) client: Option<IpAddr>,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text")]
    pub(crate) format: Format,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    #[command(flatten)]
    pub(crate) nginx: NginxArgs,
}
