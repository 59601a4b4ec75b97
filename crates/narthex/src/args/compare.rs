//! `narthex compare`.

use std::time::Duration;

use clap::{Args, ValueEnum};
use migrate::address::Address;
use migrate::client::{Seeing, Settings};
use migrate::compare::Options;
use migrate::ignore::Ignore;
use migrate::traffic::LogFormat;

use super::{Format, SourceArgs};

#[derive(Debug, Args)]
#[command(after_help = "Sends the same requests to two controllers and reports what they answer differently.
Every path of every Ingress is tried as it is, with and without a slash at its end, with a child, a sibling that must not match, in upper case,
percent-encoded and with a query; every host with an unknown path; all of it over HTTP and HTTPS. Redirects are not followed.
A difference counts when it shows again; what a backend varies by itself is reported once. Known differences are explained.

Examples:
  narthex compare --old 10.0.0.1 --new 10.0.0.2 --kubeconfig ~/.kube/config --class nginx
  narthex compare --old 127.0.0.1:8080,8443 --new 127.0.0.1:9080,9443 --manifests manifests/
  kubectl logs -n ingress-nginx deploy/ingress-nginx-controller | narthex compare --old 10.0.0.1 --new 10.0.0.2 --access-log -
  narthex compare --old 10.0.0.1 --new 10.0.0.2 --ignore header:x-powered-by --ignore status@legacy.example.com/old

Exit codes: 0 both answer alike, 1 they differ or something could not be asked, 2 wrong usage, also an address that does not answer.")]
pub(crate) struct CompareArgs {
    /// The controller that serves now: HOST, HOST:HTTP or HOST:HTTP,HTTPS
    #[arg(long, value_name = "ADDR")]
    pub(crate) old: Address,
    /// The controller that shall serve
    #[arg(long, value_name = "ADDR")]
    pub(crate) new: Address,
    /// Only Ingresses of this class
    #[arg(long, value_name = "CLASS")]
    pub(crate) class: Option<String>,
    /// Only Ingresses of this namespace
    #[arg(long, value_name = "NAMESPACE")]
    pub(crate) namespace: Option<String>,
    /// Prefix of annotations
    #[arg(long, default_value = "nginx.ingress.kubernetes.io", value_name = "PREFIX")]
    pub(crate) annotations_prefix: String,
    #[command(flatten)]
    pub(crate) source: SourceArgs,
    #[command(flatten)]
    pub(crate) log: AccessLogArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
    /// Show every difference, and not the first 20 of a kind
    #[arg(long)]
    pub(crate) all: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    pub(crate) output: Format,
}

/// Requests of an access log.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Access log")]
pub(crate) struct AccessLogArgs {
    /// Also send the requests of this log, in ingress-nginx's format, NGINX's `combined`, or JSON with an object a line; `-` reads the standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) access_log: Option<String>,
    /// Format of the lines: `auto`, `text`, `json`, or `json:PART=FIELD,...` with names of fields for the parts request, method, target, query,
    /// host and backend
    #[arg(long, default_value = "auto", value_name = "FORMAT", requires = "access_log")]
    pub(crate) access_log_format: LogFormat,
    /// Host of lines that don't say theirs, by their backend or otherwise
    #[arg(long, value_name = "HOST", requires = "access_log")]
    pub(crate) log_host: Option<String>,
    /// Requests of the log at most, of every kind some
    #[arg(long, default_value_t = 1000, value_name = "N")]
    pub(crate) sample: usize,
    /// Only the requests of the log, no probes
    #[arg(long, requires = "access_log")]
    pub(crate) no_probes: bool,
}

/// Options of the requests to two controllers.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct AskArgs {
    /// Requests at a time, to each controller
    #[arg(long, default_value_t = 8, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) concurrency: u16,
    /// Requests a second at most, to each controller [default: as many as there can be]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub(crate) rate: Option<f64>,
    /// Longest wait for an answer, in seconds
    #[arg(long, default_value_t = 10, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) timeout: u64,
    /// Number of further attempts at a connection that can't be made
    #[arg(long, default_value_t = 2, value_name = "N")]
    pub(crate) retries: u32,
    /// Number of times that a difference must show again
    #[arg(long, default_value_t = 2, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) confirm: u32,
    /// Over HTTP, HTTPS, or both
    #[arg(long, value_enum, default_value = "both")]
    pub(crate) scheme: SchemeArg,
    /// Send other methods than GET and HEAD too: preflights, and what the log has. Backends may act on them, twice
    #[arg(long)]
    pub(crate) all_methods: bool,
    /// One more header for every request, such as credentials
    #[arg(long = "header", value_name = "NAME:VALUE", value_parser = header)]
    pub(crate) headers: Vec<(String, String)>,
    /// Compare bodies too
    #[arg(long)]
    pub(crate) body: bool,
    /// Header of answers that says which backend gave them
    #[arg(long, value_name = "NAME")]
    pub(crate) backend_header: Option<String>,
    /// The backends are echo servers: compare the backend that answered and the path that it saw, as their bodies say
    #[arg(long)]
    pub(crate) echo: bool,
    /// Differences that don't count, `KIND[:HEADER][@HOST[/PATH]]`, with a kind as in `--output json` or `*`
    #[arg(long, value_name = "RULE")]
    pub(crate) ignore: Vec<Ignore>,
}

/// Schemes to ask over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SchemeArg {
    /// Only plain.
    Http,
    /// Only over TLS.
    Https,
    /// Both.
    Both,
}

impl AskArgs {
    /// The checked form. A scheme that is not asked for has no port.
    pub(crate) fn options(&self, old: &Address, new: &Address) -> Options {
        let only = |address: &Address| Address {
            http: address.http.filter(|_| self.scheme != SchemeArg::Https),
            https: address.https.filter(|_| self.scheme != SchemeArg::Http),
            ..address.clone()
        };
        let backend_header = self.backend_header.as_ref().map(|name| name.to_ascii_lowercase());
        Options {
            old: only(old),
            new: only(new),
            settings: Settings {
                timeout: Duration::from_secs(self.timeout),
                retries: self.retries,
                seeing: Seeing { body: self.body, echo: self.echo, backend_header },
                headers: self.headers.clone(),
            },
            concurrency: usize::from(self.concurrency),
            rate: self.rate,
            confirmations: self.confirm,
            ignores: self.ignore.clone(),
        }
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| value.is_finite() && *value > 0.0);
    value.ok_or_else(|| format!("{text:?} is not a positive number"))
}

fn header(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once(':').ok_or_else(|| format!("{text:?} is not of the form NAME:VALUE"))?;
    let legal = !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_".contains(&c));
    if !legal || value.bytes().any(|c| c < b' ' || c == 0x7f) {
        return Err(format!("{text:?} is no header: expected NAME:VALUE"));
    }
    Ok((name.to_owned(), value.trim().to_owned()))
}
