//! `kubectl narthex`: the flags of ingress-nginx's plugin, and those of kubectl about the cluster.

use clap::{ArgAction, Args, Parser, Subcommand, ValueEnum};

use super::ModelArgs;

/// The plugin as a program of its own, by the name that kubectl looks for.
#[derive(Debug, Parser)]
#[command(name = "kubectl-narthex", bin_name = "kubectl narthex", version, disable_help_subcommand = true, args_override_self = true)]
#[command(about = "Look into the controllers of a cluster, and check its Ingresses")]
pub(crate) struct Plugin {
    #[command(flatten)]
    pub(crate) args: PluginArgs,
}

#[derive(Debug, Args)]
#[command(after_help = "It asks the cluster by kubectl, with the flags of kubectl that are given here.

Examples:
  kubectl narthex backends --namespace ingress-nginx --list
  kubectl narthex conf -n ingress-nginx --host shop.example.com
  kubectl narthex ingresses --all-namespaces
  kubectl narthex lint --all-namespaces -o json
  kubectl narthex doctor -n ingress-nginx
  kubectl narthex -n ingress-nginx get hosts shop -o wide
  kubectl narthex -n ingress-nginx logs shop.example.com

Exit codes: 0 success, 1 findings of lint or a failure, 2 wrong usage; those of kubectl for exec, logs and ssh; those of narthex for get, diff, events, explain, doctor and top.")]
pub(crate) struct PluginArgs {
    #[command(flatten)]
    pub(crate) kubectl: KubectlArgs,
    #[command(subcommand)]
    pub(crate) command: PluginCommand,
}

/// Flags that are passed to kubectl as they are.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "kubectl")]
pub(crate) struct KubectlArgs {
    /// Namespace [default: that of the context]
    #[arg(short = 'n', long, global = true, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// kubeconfig file
    #[arg(long, global = true, value_name = "FILE")]
    kubeconfig: Option<String>,
    /// Context of the kubeconfig
    #[arg(long, global = true, value_name = "NAME")]
    context: Option<String>,
    /// Cluster of the kubeconfig
    #[arg(long, global = true, value_name = "NAME")]
    cluster: Option<String>,
    /// User of the kubeconfig
    #[arg(long, global = true, value_name = "NAME")]
    user: Option<String>,
    /// URL of the API server
    #[arg(short = 's', long, global = true, value_name = "URL")]
    server: Option<String>,
    /// Bearer token
    #[arg(long, global = true, value_name = "TOKEN")]
    token: Option<String>,
    /// User to act as
    #[arg(long = "as", global = true, value_name = "NAME")]
    impersonated: Option<String>,
    /// Groups to act as
    #[arg(long = "as-group", global = true, value_name = "NAME", action = ArgAction::Append)]
    groups: Vec<String>,
    /// UID to act as
    #[arg(long = "as-uid", global = true, value_name = "UID")]
    uid: Option<String>,
    /// CA file for the API server
    #[arg(long, global = true, value_name = "FILE")]
    certificate_authority: Option<String>,
    /// File of the client certificate
    #[arg(long, global = true, value_name = "FILE")]
    client_certificate: Option<String>,
    /// File of its key
    #[arg(long, global = true, value_name = "FILE")]
    client_key: Option<String>,
    /// Don't check the API server's certificate
    #[arg(long, global = true)]
    insecure_skip_tls_verify: bool,
    /// Name that the API server's certificate has to have
    #[arg(long, global = true, value_name = "NAME")]
    tls_server_name: Option<String>,
    /// Longest wait for an answer of the API server, such as 30s
    #[arg(long, global = true, value_name = "TIME")]
    request_timeout: Option<String>,
    /// Directory of kubectl's cache
    #[arg(long, global = true, value_name = "DIR")]
    cache_dir: Option<String>,
}

impl KubectlArgs {
    /// As words of kubectl's command line, without the namespace.
    pub(crate) fn words(&self) -> Vec<String> {
        let single = [
            ("kubeconfig", &self.kubeconfig),
            ("context", &self.context),
            ("cluster", &self.cluster),
            ("user", &self.user),
            ("server", &self.server),
            ("token", &self.token),
            ("as", &self.impersonated),
            ("as-uid", &self.uid),
            ("certificate-authority", &self.certificate_authority),
            ("client-certificate", &self.client_certificate),
            ("client-key", &self.client_key),
            ("tls-server-name", &self.tls_server_name),
            ("request-timeout", &self.request_timeout),
            ("cache-dir", &self.cache_dir),
        ];
        let single = single.into_iter().filter_map(|(name, value)| Some(format!("--{name}={}", value.as_ref()?)));
        let groups = self.groups.iter().map(|group| format!("--as-group={group}"));
        single.chain(groups).chain(self.insecure_skip_tls_verify.then(|| "--insecure-skip-tls-verify".to_owned())).collect()
    }
}

/// The commands of ingress-nginx's plugin, and those of `narthex` about a running controller.
#[derive(Debug, Subcommand)]
pub(crate) enum PluginCommand {
    /// Print the backends that NGINX of a controller has now, as JSON
    Backends(BackendsArgs),
    /// Print the certificate that clients of a host get, without its key
    Certs {
        /// The host; `_` for the default certificate
        #[arg(long, value_name = "HOST")]
        host: String,
        #[command(flatten)]
        pod: PodArgs,
    },
    /// Print the nginx.conf of a controller, or what serves a host
    Conf {
        /// Only what serves this host
        #[arg(long, value_name = "HOST")]
        host: Option<String>,
        #[command(flatten)]
        pod: PodArgs,
    },
    /// Print what differs between two texts of nginx.conf that a controller applied
    Diff {
        /// As for `narthex diff`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
        words: Vec<String>,
        #[command(flatten)]
        pod: PodArgs,
    },
    /// Say what is wrong with a controller, how bad that is, and what to do: with its Pods, and the webhook as the API server sees it
    Doctor(PluginDoctorArgs),
    /// Print what a controller did: changes, what was posted live, reloads and why
    Events {
        /// As for `narthex events`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
        words: Vec<String>,
        #[command(flatten)]
        pod: PodArgs,
    },
    /// Run a command in the container of a controller
    Exec(ExecArgs),
    /// Explain what serves a request and why
    Explain {
        /// As for `narthex explain`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
        words: Vec<String>,
        #[command(flatten)]
        pod: PodArgs,
    },
    /// Print the state of NGINX of a controller, as JSON
    General {
        #[command(flatten)]
        pod: PodArgs,
    },
    /// List what a controller serves, and what is wrong with it
    Get {
        /// As for `narthex get`; flags of this command stand before them
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
        words: Vec<String>,
        #[command(flatten)]
        pod: PodArgs,
    },
    /// Print the addresses of the controller's Service
    Info(InfoArgs),
    /// List the rules of all Ingresses, with their Services and endpoints
    #[command(visible_aliases = ["ingress", "ing"])]
    Ingresses(IngressesArgs),
    /// Check Ingresses as a controller does, and the flags of controllers
    #[command(args_conflicts_with_subcommands = true)]
    Lint(Box<LintCommand>),
    /// Print the log of a controller, or follow the requests of one host
    Logs(LogsArgs),
    /// Open a shell in the container of a controller
    Ssh {
        /// The shell
        #[arg(long, default_value = "/bin/bash", value_name = "FILE")]
        shell: String,
        #[command(flatten)]
        pod: PodArgs,
    },
    /// Show live requests, errors and latency by host, Ingress or backend
    Top {
        /// As for `narthex top`
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "WORDS")]
        words: Vec<String>,
        #[command(flatten)]
        pod: PodArgs,
    },
    /// Print a completion script for a shell
    Completion {
        /// The shell
        #[arg(value_enum)]
        shell: clap_complete::Shell,
    },
}

/// Forms of tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum TableFormat {
    /// For people.
    Table,
    /// For programs.
    Json,
}

/// The Pod of a controller.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Controller")]
pub(crate) struct PodArgs {
    /// Name of a Pod
    #[arg(long, value_name = "NAME")]
    pub(crate) pod: Option<String>,
    /// Name of the Deployment or DaemonSet [default: ingress-nginx-controller; without one, whatever has the labels of a controller]
    #[arg(long, value_name = "NAME")]
    pub(crate) deployment: Option<String>,
    /// Labels of Pods instead
    #[arg(short = 'l', long, value_name = "SELECTOR")]
    pub(crate) selector: Option<String>,
    /// Name of the container
    #[arg(long, value_name = "NAME", default_value = "controller")]
    pub(crate) container: String,
}

#[derive(Debug, Args)]
pub(crate) struct BackendsArgs {
    /// Only their names, one a line
    #[arg(long, conflicts_with = "backend")]
    pub(crate) list: bool,
    /// Only the one of this name, such as shop-cart-80
    #[arg(long, value_name = "NAME")]
    pub(crate) backend: Option<String>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value = "json", conflicts_with = "list")]
    pub(crate) output: TableFormat,
    #[command(flatten)]
    pub(crate) pod: PodArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ExecArgs {
    /// Connect standard input
    #[arg(short = 'i', long)]
    pub(crate) stdin: bool,
    /// Standard input is a terminal
    #[arg(short = 't', long)]
    pub(crate) tty: bool,
    #[command(flatten)]
    pub(crate) pod: PodArgs,
    /// The command
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct InfoArgs {
    /// Name of the Service [default: ingress-nginx-controller; without one, that of a controller by its labels]
    #[arg(long, value_name = "NAME")]
    pub(crate) service: Option<String>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value = "table")]
    pub(crate) output: TableFormat,
}

#[derive(Debug, Args)]
pub(crate) struct IngressesArgs {
    /// Only rules of this host
    #[arg(long, value_name = "HOST")]
    pub(crate) host: Option<String>,
    /// Of all namespaces
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// Form of the output
    #[arg(short, long, value_enum, default_value = "table")]
    pub(crate) output: TableFormat,
}

#[derive(Debug, Args)]
pub(crate) struct LintCommand {
    #[command(subcommand)]
    pub(crate) subject: Option<LintSubject>,
    #[command(flatten)]
    pub(crate) options: LintArgs,
}

/// The kinds of objects that are checked.
#[derive(Debug, Subcommand)]
pub(crate) enum LintSubject {
    /// Check Ingresses: their annotations, and what they refer to
    #[command(visible_aliases = ["ingress", "ing"])]
    Ingresses(LintArgs),
    /// Check the flags of controllers
    #[command(visible_aliases = ["deployment", "dep"])]
    Deployments(LintArgs),
}

#[derive(Debug, Clone, Args)]
pub(crate) struct LintArgs {
    /// In all namespaces
    #[arg(short = 'A', long)]
    pub(crate) all_namespaces: bool,
    /// Objects without findings too
    #[arg(long)]
    pub(crate) show_all: bool,
    /// With the kind of each finding
    #[arg(short = 'v', long)]
    pub(crate) verbose: bool,
    /// No effect: findings are those of this version
    #[arg(short = 'f', long, value_name = "VERSION")]
    pub(crate) from_version: Option<String>,
    /// No effect: findings are those of this version
    #[arg(short = 't', long, value_name = "VERSION")]
    pub(crate) to_version: Option<String>,
    /// Form of the output
    #[arg(short, long, value_enum, default_value = "table")]
    pub(crate) output: TableFormat,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

#[derive(Debug, Args)]
pub(crate) struct PluginDoctorArgs {
    /// Form of the output
    #[arg(short, long, value_enum, default_value = "table")]
    pub(crate) output: TableFormat,
    #[command(flatten)]
    pub(crate) pod: PodArgs,
}

#[derive(Debug, Args)]
pub(crate) struct LogsArgs {
    /// Follow the requests of this host instead
    #[arg(value_name = "HOST", conflicts_with_all = ["timestamps", "limit_bytes", "previous", "tail", "since_time", "since"])]
    pub(crate) host: Option<String>,
    /// Go on as long as there are new lines
    #[arg(short = 'f', long)]
    follow: bool,
    /// With the time of each line
    #[arg(long)]
    timestamps: bool,
    /// Longest output, in bytes
    #[arg(long, value_name = "BYTES")]
    limit_bytes: Option<u64>,
    /// Of the container that ran before
    #[arg(short = 'p', long)]
    previous: bool,
    /// Only this many lines, the last ones
    #[arg(long, value_name = "LINES", allow_negative_numbers = true)]
    tail: Option<i64>,
    /// Only lines after this time (RFC 3339)
    #[arg(long, value_name = "TIME", conflicts_with = "since")]
    since_time: Option<String>,
    /// Only lines of the last 5s, 2m or 3h
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    #[command(flatten)]
    pub(crate) pod: PodArgs,
}

impl LogsArgs {
    /// As words of kubectl's command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let numbers =
            [("limit-bytes", self.limit_bytes.map(|bytes| bytes.to_string())), ("tail", self.tail.map(|lines| lines.to_string()))];
        let texts = [("since-time", self.since_time.clone()), ("since", self.since.clone())];
        let valued = numbers.into_iter().chain(texts).filter_map(|(name, value)| Some(format!("--{name}={}", value?)));
        let switches = [("follow", self.follow), ("timestamps", self.timestamps), ("previous", self.previous)];
        valued.chain(switches.into_iter().filter(|(_, on)| *on).map(|(name, _)| format!("--{name}"))).collect()
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn line(words: &[&str]) -> PluginArgs {
        Plugin::try_parse_from(["kubectl-narthex"].iter().chain(words)).unwrap().args
    }

    #[test]
    fn the_command_line_is_consistent() {
        Plugin::command().debug_assert();
    }

    #[test]
    fn flags_of_kubectl_may_stand_before_and_after_the_command() {
        let before = line(&["-n", "a", "--context=c", "backends", "--list"]);
        let after = line(&["backends", "--list", "--context", "c", "--namespace=a"]);
        assert_eq!((before.kubectl.words(), before.kubectl.namespace.as_deref()), (vec!["--context=c".to_owned()], Some("a")));
        assert_eq!((after.kubectl.words(), after.kubectl.namespace), (before.kubectl.words(), before.kubectl.namespace));
        let groups = line(&["general", "--as=u", "--as-group=a", "--as-group=b", "--insecure-skip-tls-verify"]);
        assert_eq!(groups.kubectl.words(), ["--as=u", "--as-group=a", "--as-group=b", "--insecure-skip-tls-verify"]);
    }

    #[test]
    fn a_command_of_exec_keeps_its_own_flags() {
        let PluginCommand::Exec(exec) = line(&["exec", "-it", "--pod=p", "--", "ls", "-n", "--pod"]).command else { panic!("exec") };
        assert_eq!((exec.stdin, exec.tty, exec.pod.pod.as_deref()), (true, true, Some("p")));
        assert_eq!(exec.command, ["ls", "-n", "--pod"]);
    }

    #[test]
    fn words_for_narthex_keep_their_own_flags() {
        let args = line(&["get", "-n", "ingress", "--pod=p", "hosts", "-n", "shop", "-o", "wide"]);
        let PluginCommand::Get { words, pod } = args.command else { panic!("get") };
        assert_eq!((args.kubectl.namespace.as_deref(), pod.pod.as_deref()), (Some("ingress"), Some("p")));
        assert_eq!(words, ["hosts", "-n", "shop", "-o", "wide"]);
    }

    #[test]
    fn flags_of_logs_reach_kubectl() {
        let PluginCommand::Logs(logs) = line(&["logs", "-f", "-p", "--tail=-1", "--since", "5s", "--limit-bytes=9"]).command else {
            panic!("logs")
        };
        assert_eq!(logs.words(), ["--limit-bytes=9", "--tail=-1", "--since=5s", "--follow", "--previous"]);
    }
}
