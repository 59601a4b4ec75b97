//! `narthex doctor`: what is wrong, how bad it is, and what to do.
//!
//! Checks are pure: from the answers of the running controller, or from what a machine shows where none answers, to findings.
//! What has one cause is one finding, however many objects it is about.

mod absent;
mod checks;
mod finding;
mod problems;

use std::path::Path;
use std::process::ExitCode;

use inspect::{Budget, Ingress, IngressState, List, Now, Problem, Workers};

use crate::api::{Api, Query};
use crate::args::{DoctorArgs, Format};
use crate::output;
use crate::table::Palette;
pub(crate) use finding::{Finding, Level, exit_code, page};

/// The most objects of one kind that are looked at.
const MOST: usize = 10_000;

/// What a running controller answers.
#[derive(Debug, Clone)]
pub(crate) struct Facts {
    pub(crate) now: Now,
    /// Findings about objects.
    pub(crate) problems: Vec<Problem>,
    /// Ingresses of the watched namespaces that are served elsewhere, or nowhere.
    pub(crate) strangers: Vec<Ingress>,
    pub(crate) budgets: Vec<Budget>,
    pub(crate) workers: Workers,
}

/// Examines the controller of a work directory, and prints the findings.
pub(crate) fn doctor(args: &DoctorArgs) -> anyhow::Result<ExitCode> {
    let work_dir = args.running.work_dir()?;
    let (head, findings) = super::run::runtime()?.block_on(examine(&work_dir));
    match args.output {
        Format::Json => output::line(serde_json::to_string_pretty(&findings)?)?,
        Format::Text => output::text(page(&head, &findings, Palette::of_stdout()))?,
    }
    Ok(exit_code(&findings))
}

/// What is examined, in words, and the findings, the worst first.
async fn examine(work_dir: &Path) -> (String, Vec<Finding>) {
    let (head, mut findings): (String, Vec<Finding>) = match facts(&Api::new(work_dir)).await {
        Ok(facts) => (head(&facts.now), checks::CHECKS.iter().flat_map(|check| check(&facts)).collect()),
        Err(error) => {
            let signs = absent::look(work_dir, format!("{error:#}"));
            (
                format!("the work directory {}", work_dir.display()),
                absent::CHECKS.iter().find_map(|check| check(&signs)).into_iter().collect(),
            )
        }
    };
    Finding::sort(&mut findings);
    (head, findings)
}

async fn facts(api: &Api) -> anyhow::Result<Facts> {
    let now = api.get("now", &Query::new()).await?;
    let problems: List<Problem> = api.list("problems", &Query::new(), MOST).await?;
    let mut strangers: List<Ingress> = api.list("ingresses", &vec![("state", "not-ours")], MOST).await?;
    strangers.items.retain(|ingress| ingress.state == IngressState::NotOurs);
    let budgets: List<Budget> = api.list("budgets", &Query::new(), MOST).await?;
    let workers = api.get("workers", &Query::new()).await?;
    Ok(Facts { now, problems: problems.items, strangers: strangers.items, budgets: budgets.items, workers })
}

fn head(now: &Now) -> String {
    let place = if now.pod.is_empty() { String::new() } else { format!(" in the Pod {}/{}", now.namespace, now.pod) };
    let counts = &now.counts;
    let of = |number: usize, noun: &str| format!("{number} {noun}{}", if number == 1 { "" } else { "s" });
    let parts =
        [(counts.hosts, "host"), (counts.backends, "backend"), (counts.endpoints, "endpoint"), (counts.certificates, "certificate")];
    let parts = parts.map(|(number, noun)| of(number, noun)).join(", ");
    format!("narthex {}{place}, class {}: {parts}", now.version, now.class)
}

#[cfg(test)]
mod tests;
