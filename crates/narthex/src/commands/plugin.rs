//! `kubectl narthex`: a look into the controllers of a cluster, with the commands of ingress-nginx's plugin.

mod complete;
mod doctor;
mod info;
mod ingresses;
mod kubectl;
mod lint;
mod pod;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use serde_json::Value;

use crate::args::{BackendsArgs, Plugin, PluginArgs, PluginCommand, PodArgs, TableFormat};
use crate::output;
use crate::table::{Cell, Palette, table};
pub(crate) use complete::narthex;
use kubectl::Kubectl;
use pod::Target;

/// The name that kubectl looks for.
pub(crate) const PROGRAM: &str = "kubectl-narthex";
/// The name that kubectl looks for to complete its words.
pub(crate) const COMPLETER: &str = "kubectl_complete-narthex";
/// The programs of the image.
const NARTHEX: &str = "/usr/bin/narthex";
const DBG: &str = "/dbg";

/// Runs as the program of that name, with the words of its command line.
pub(crate) fn program(words: Vec<OsString>) -> anyhow::Result<ExitCode> {
    plugin(&Plugin::parse_from(words).args)
}

/// Completes the last of these words.
pub(crate) fn complete(words: &[OsString]) -> anyhow::Result<ExitCode> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    output::text(complete::answer(&complete::whole(), &words))?;
    Ok(ExitCode::SUCCESS)
}

/// Runs a command.
pub(crate) fn plugin(args: &PluginArgs) -> anyhow::Result<ExitCode> {
    let kubectl = Kubectl::new(&args.kubectl);
    let run = |pod, words: &[&str]| kubectl.become_it(&exec(&pod::choose(&kubectl, pod)?, &[], words));
    match &args.command {
        PluginCommand::Backends(args) => backends(&kubectl, args),
        PluginCommand::Certs { host, pod } => run(pod, &[DBG, "certs", "get", host]),
        PluginCommand::Conf { host: None, pod } => run(pod, &[DBG, "conf"]),
        PluginCommand::Conf { host: Some(host), pod } => run(pod, &[NARTHEX, "conf", host]),
        PluginCommand::General { pod } => run(pod, &[DBG, "general"]),
        PluginCommand::Exec(args) => {
            let flags: Vec<&str> =
                [("--stdin", args.stdin), ("--tty", args.tty)].into_iter().filter(|(_, on)| *on).map(|(flag, _)| flag).collect();
            let words: Vec<&str> = args.command.iter().map(String::as_str).collect();
            kubectl.become_it(&exec(&pod::choose(&kubectl, &args.pod)?, &flags, &words))
        }
        PluginCommand::Ssh { shell, pod } => kubectl.become_it(&exec(&pod::choose(&kubectl, pod)?, &["--stdin", "--tty"], &[shell])),
        PluginCommand::Get { words, pod } => running(&kubectl, pod, "get", words),
        PluginCommand::Top { words, pod } => running(&kubectl, pod, "top", words),
        PluginCommand::Events { words, pod } => running(&kubectl, pod, "events", words),
        PluginCommand::Diff { words, pod } => running(&kubectl, pod, "diff", words),
        PluginCommand::Explain { words, pod } => running(&kubectl, pod, "explain", words),
        PluginCommand::Doctor(args) => doctor::print(&kubectl, args),
        PluginCommand::Logs(args) if args.host.is_some() => {
            let host: Vec<&str> = args.host.iter().map(String::as_str).collect();
            let words = [vec![NARTHEX, "logs"], host].concat();
            kubectl.become_it(&exec(&pod::choose(&kubectl, &args.pod)?, terminal(), &words))
        }
        PluginCommand::Logs(args) => {
            let (target, flags) = (pod::choose(&kubectl, &args.pod)?, args.words());
            let verb: Vec<&str> = std::iter::once("logs").chain(flags.iter().map(String::as_str)).collect();
            kubectl.become_it(&target.words(&verb))
        }
        PluginCommand::Info(args) => info::print(&kubectl, args),
        PluginCommand::Ingresses(args) => ingresses::print(&kubectl, args),
        PluginCommand::Lint(command) => lint::print(&kubectl, command),
        PluginCommand::Completion { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(*shell, &mut complete::whole(), PROGRAM, &mut script);
            output::text(String::from_utf8(script)?)?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

/// Runs a command about a running controller in its container.
fn running(kubectl: &Kubectl, pod: &PodArgs, command: &str, words: &[String]) -> anyhow::Result<ExitCode> {
    let words: Vec<&str> = [NARTHEX, command].into_iter().chain(words.iter().map(String::as_str)).collect();
    kubectl.become_it(&exec(&pod::choose(kubectl, pod)?, terminal(), &words))
}

/// The flags of kubectl that give a command the terminal, where there is one: for colours, and for Ctrl-C.
fn terminal() -> &'static [&'static str] {
    let is_one = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    if is_one { &["--stdin", "--tty"] } else { &[] }
}

/// The words of kubectl that run a command in a container.
fn exec<'a>(target: &'a Target, flags: &[&'a str], words: &[&'a str]) -> Vec<&'a str> {
    let verb: Vec<&str> = std::iter::once("exec").chain(flags.iter().copied()).collect();
    [target.words(&verb), vec!["--"], words.to_vec()].concat()
}

fn backends(kubectl: &Kubectl, args: &BackendsArgs) -> anyhow::Result<ExitCode> {
    let target = pod::choose(kubectl, &args.pod)?;
    let words = match &args.backend {
        _ if args.list => vec![DBG, "backends", "list"],
        Some(name) => vec![DBG, "backends", "get", name],
        None => vec![DBG, "backends", "all"],
    };
    let words = exec(&target, &[], &words);
    if args.list || args.output == TableFormat::Json {
        return kubectl.become_it(&words);
    }
    let all = match serde_json::from_slice(&kubectl.output(&words)?)? {
        Value::Array(all) => all,
        one => vec![one],
    };
    let rows: Vec<Vec<Cell>> = all.iter().map(row).collect();
    output::text(table(&["NAME", "PORT", "BALANCER", "ENDPOINTS", "CANARIES"], &rows, Palette::of_stdout()))?;
    Ok(ExitCode::SUCCESS)
}

/// A backend in the form of `/dbg` as a row.
fn row(backend: &Value) -> Vec<Cell> {
    let texts = |list: &Value, shown: fn(&Value) -> String| list.as_array().into_iter().flatten().map(shown).collect::<Vec<_>>().join(",");
    let plain =
        |value: &Value| value.as_str().map_or_else(|| if value.is_null() { String::new() } else { value.to_string() }, str::to_owned);
    let endpoint = |endpoint: &Value| {
        let (address, port) = (pod::text(endpoint, "/address"), pod::text(endpoint, "/port"));
        if address.contains(':') { format!("[{address}]:{port}") } else { format!("{address}:{port}") }
    };
    vec![
        plain(&backend["name"]).into(),
        plain(&backend["port"]).into(),
        plain(&backend["load-balance"]).into(),
        texts(&backend["endpoints"], endpoint).into(),
        texts(&backend["alternativeBackends"], |name| name.as_str().unwrap_or_default().to_owned()).into(),
    ]
}
