//! Checks of what the machine shows where no controller answers.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Finding, Level};
use crate::commands::conf::SOCKET;
use crate::commands::run::last_error;

/// What is there of a controller that does not answer.
#[derive(Debug, Clone, Default)]
pub(super) struct Signs {
    pub(super) work_dir: PathBuf,
    /// Why there is no answer.
    pub(super) error: String,
    /// Whether its socket exists.
    pub(super) has_socket: bool,
    /// Why the last controller ended.
    pub(super) last_error: Option<String>,
    /// The process that has the port that the last one could not have.
    pub(super) holder: Option<String>,
    /// The master of the NGINX that is left.
    pub(super) nginx: Option<i32>,
    /// Other controllers of the machine: pid, and command line.
    pub(super) others: Vec<(i32, String)>,
}

/// Looks for it.
pub(super) fn look(work_dir: &Path, error: String) -> Signs {
    let last_error = last_error::read(work_dir);
    let port = last_error.as_deref().and_then(taken_port);
    let holder = port.and_then(ngx_proc::ports::listener).map(|holder| format!("{} (pid {})", holder.name, holder.pid));
    let pid = fs::read_to_string(work_dir.join("run/nginx.pid")).ok().and_then(|text| text.trim().parse().ok());
    Signs {
        work_dir: work_dir.to_owned(),
        error,
        has_socket: work_dir.join(SOCKET).exists(),
        last_error,
        holder,
        nginx: pid.filter(|pid| ngx_proc::procfs::identity(*pid).is_some()),
        others: controllers(),
    }
}

/// The port in a message about one that can't be listened on.
fn taken_port(error: &str) -> Option<u16> {
    let (_, rest) = error.split_once("can't listen on port ")?;
    rest.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

/// Processes that run as `narthex run`, or by the name of the predecessor's program.
fn controllers() -> Vec<(i32, String)> {
    let own = std::process::id().cast_signed();
    let is_one = |title: &str| {
        let words: Vec<&str> = title.split(' ').collect();
        let name = words.first().and_then(|word| Path::new(word).file_name()).unwrap_or_default();
        name == "nginx-ingress-controller" || name == "narthex" && words.get(1) == Some(&"run")
    };
    let found = ngx_proc::procfs::pids().into_iter().filter(|pid| *pid != own).map(|pid| (pid, ngx_proc::procfs::title(pid)));
    found.filter(|(_, title)| is_one(title)).collect()
}

/// A check; the first that finds something names the cause.
pub(super) type Check = fn(&Signs) -> Option<Finding>;

/// All of them.
pub(super) const CHECKS: &[Check] = &[incomplete, silent, port, ended, killed, elsewhere, nothing];

fn served(signs: &Signs) -> Option<String> {
    signs.nginx.map(|pid| format!("its NGINX (pid {pid}) goes on with the last configuration"))
}

fn evidence(first: impl Into<String>, signs: &Signs) -> Vec<String> {
    std::iter::once(first.into()).chain(served(signs)).collect()
}

/// It has not read everything yet.
fn incomplete(signs: &Signs) -> Option<Finding> {
    let remedy = "check the API server and the rights of the controller's ServiceAccount; its log names what is missing";
    let what = "the controller has not read all objects yet: the API server does not answer, or does not allow it";
    signs.error.contains("source is not complete").then(|| Finding::new(Level::Error, what, vec![signs.error.clone()], remedy))
}

/// It runs and does not answer, or not as it should.
fn silent(signs: &Signs) -> Option<Finding> {
    let connected = signs.has_socket && !signs.error.contains("no connection");
    let remedy = "look at its log; end it if it hangs: NGINX serves on, and the next controller takes it over";
    connected.then(|| Finding::new(Level::Error, "the controller does not answer as it should", vec![signs.error.clone()], remedy))
}

fn port(signs: &Signs) -> Option<Finding> {
    let error = signs.last_error.as_ref()?;
    let port = taken_port(error)?;
    let by = signs.holder.as_ref().map(|holder| format!(", by {holder}")).unwrap_or_default();
    let what = format!("the controller has ended: port {port} is taken{by}");
    Some(Finding::new(
        Level::Error,
        what,
        evidence(error, signs),
        "end that process, or give the controller another port by the flag that is named",
    ))
}

fn ended(signs: &Signs) -> Option<Finding> {
    let error = signs.last_error.as_ref()?;
    Some(Finding::new(
        Level::Error,
        "the controller has ended with an error",
        evidence(error, signs),
        "correct what it names, and start it again",
    ))
}

fn killed(signs: &Signs) -> Option<Finding> {
    let first = format!("{} is left, and nothing listens on it", signs.work_dir.join(SOCKET).display());
    let remedy = "start it again; where the kernel ended it for memory, dmesg says so";
    signs.has_socket.then(|| Finding::new(Level::Error, "the controller was killed", evidence(first, signs), remedy))
}

fn elsewhere(signs: &Signs) -> Option<Finding> {
    let others: Vec<String> = signs.others.iter().map(|(pid, title)| format!("pid {pid}: {title}")).collect();
    let what = format!("no controller runs with the work directory {}; others do", signs.work_dir.display());
    (!others.is_empty()).then(|| Finding::new(Level::Error, what, others, "name the work directory of the right one by --work-dir"))
}

fn nothing(signs: &Signs) -> Option<Finding> {
    let what = "no controller runs here";
    let remedy = "start one: narthex run; in a cluster ask kubectl narthex doctor";
    Some(Finding::new(Level::Error, what, evidence(signs.error.clone(), signs), remedy))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(signs: &Signs) -> String {
        CHECKS.iter().find_map(|check| check(signs)).unwrap().what
    }

    #[test]
    fn the_first_check_that_applies_names_the_cause() {
        let refused = Signs { error: "no controller answers: no connection".into(), ..Signs::default() };
        assert_eq!(found(&refused), "no controller runs here");
        let others = Signs { others: vec![(7, "narthex run".into())], ..refused.clone() };
        assert_eq!(found(&others), "no controller runs with the work directory ; others do");
        let killed = Signs { has_socket: true, ..others };
        assert_eq!(found(&killed), "the controller was killed");
        let ended = Signs { last_error: Some("no such directory".into()), ..killed.clone() };
        assert_eq!(found(&ended), "the controller has ended with an error");
        let error = "can't listen on port 10254 for health and metrics, which --healthz-port sets: Address already in use";
        let port = Signs { last_error: Some(error.into()), holder: Some("python3 (pid 8)".into()), ..killed.clone() };
        assert_eq!(found(&port), "the controller has ended: port 10254 is taken, by python3 (pid 8)");
        let early = Signs { error: "the source is not complete yet".into(), ..killed.clone() };
        assert!(found(&early).starts_with("the controller has not read all objects yet"));
        let slow = Signs { error: "no answer within 30s".into(), ..killed };
        assert_eq!(found(&slow), "the controller does not answer as it should");
    }
}
