//! `narthex switch`.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args};
use migrate::address::Address;

use super::duration::duration;
use super::{ApiArgs, AskArgs, Format};

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("what").required(true).args(["to", "service", "rollback"]))]
#[command(after_help = "Moves Ingresses to another class, or a Service to other Pods, in steps that are checked and can be undone.
Ingresses with a host in common move in one step. With --old and --new the hosts of a step are asked before it and after it: the new controller
must answer as the old one did. The first regression stops; what has moved stays until --rollback.
A ConfigMap `narthex-switch-<id>` remembers everything: after an interruption the same command goes on, from any machine.

Examples:
  narthex switch --to narthex --from nginx --dry-run
  narthex switch --to narthex --from nginx --batch 5 --pause 30s --old 10.0.0.1 --new 10.0.0.2
  narthex switch --service ingress-nginx/ingress-nginx-controller --to-selector app.kubernetes.io/name=narthex --old 10.0.0.1 --new 10.0.0.2
  narthex switch --to narthex --namespace shop --check-command './smoke-test.sh' --yes
  narthex switch --rollback
  narthex switch --rollback 20261121-183000-123

Exit codes: 0 done, 1 stopped, or objects were left because others changed them, 2 wrong usage.")]
pub(crate) struct SwitchArgs {
    /// Class that Ingresses get
    #[arg(long, value_name = "CLASS")]
    pub(crate) to: Option<String>,
    /// Only Ingresses of this class
    #[arg(long, value_name = "CLASS", requires = "to")]
    pub(crate) from: Option<String>,
    /// Only Ingresses with these labels, as kubectl writes it
    #[arg(long, value_name = "SELECTOR", default_value = "", hide_default_value = true, requires = "to")]
    pub(crate) selector: String,
    /// Only Ingresses of this namespace
    #[arg(long, value_name = "NAMESPACE", requires = "to")]
    pub(crate) namespace: Option<String>,
    /// Service to move, as namespace/name
    #[arg(long, value_name = "NAMESPACE/NAME", requires = "to_selector")]
    pub(crate) service: Option<String>,
    /// Selector that the Service gets, in place of all of its own
    #[arg(long, value_name = "K=V,...", requires = "service", value_parser = labels)]
    pub(crate) to_selector: Option<BTreeMap<String, String>>,
    /// Bring back what a switch moved, the last one unless an id is given
    #[arg(long, value_name = "ID", num_args = 0..=1, default_missing_value = "")]
    pub(crate) rollback: Option<String>,
    /// Also bring back what others changed meanwhile
    #[arg(long, requires = "rollback")]
    pub(crate) force: bool,
    /// Ingresses of a step
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) batch: u32,
    /// Wait between two steps, such as 30s or 5m
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = duration)]
    pub(crate) pause: Duration,
    /// The controller that serves now: HOST, HOST:HTTP or HOST:HTTP,HTTPS
    #[arg(long, value_name = "ADDR", requires = "new")]
    pub(crate) old: Option<Address>,
    /// The controller that shall serve
    #[arg(long, value_name = "ADDR", requires = "old")]
    pub(crate) new: Option<Address>,
    /// Command for the shell that checks, before and after each step; see docs/migrate.md for its environment
    #[arg(long, value_name = "CMD")]
    pub(crate) check_command: Option<String>,
    /// The time that the new controller, or the command, may take to be right after a step
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = duration)]
    pub(crate) settle: Duration,
    /// With --service: ask about the hosts of Ingresses of this class only
    #[arg(long, value_name = "CLASS", requires = "service")]
    pub(crate) class: Option<String>,
    /// Prefix of annotations
    #[arg(long, default_value = "nginx.ingress.kubernetes.io", value_name = "PREFIX")]
    pub(crate) annotations_prefix: String,
    /// Also keep the record in this file; with --rollback, read it from there if the cluster has it no more
    #[arg(long, value_name = "FILE")]
    pub(crate) record: Option<PathBuf>,
    /// Namespace of the record
    #[arg(long, value_name = "NAMESPACE", default_value = "default")]
    pub(crate) record_namespace: String,
    /// Don't ask before it begins
    #[arg(long, short = 'y')]
    pub(crate) yes: bool,
    /// Print the plan and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value = "text", value_name = "FORM")]
    pub(crate) output: Format,
    #[command(flatten)]
    pub(crate) api: ApiArgs,
    #[command(flatten)]
    pub(crate) ask: AskArgs,
}

/// `k=v,k=v`, at least one.
fn labels(text: &str) -> Result<BTreeMap<String, String>, String> {
    let error = || format!("{text:?} is no selector of a Service: expected k=v,...");
    let legal = |part: &str| !part.is_empty() && part.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_./".contains(&c));
    let mut labels = BTreeMap::new();
    for pair in text.split(',') {
        let (key, value) = pair.trim().split_once('=').ok_or_else(error)?;
        if !legal(key) || !(value.is_empty() || legal(value)) || labels.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(error());
        }
    }
    Ok(labels)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_selector_of_a_service_is_a_list_of_labels() {
        assert_eq!(labels("a/b=c,d=").unwrap().into_iter().collect::<Vec<_>>(), [("a/b".into(), "c".into()), ("d".into(), String::new())]);
        for text in ["", "a", "=b", "a=b,a=c", "a in (b)"] {
            assert!(labels(text).is_err(), "{text}");
        }
    }
}
