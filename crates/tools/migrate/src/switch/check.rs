//! Asks the controllers before and after a step: the new one must answer as the old one did.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::time::Instant;

use super::command::Command;
use super::port::Checks;
use super::record::{Entry, EntryState, Kind};
use crate::answer::RequestOutcome;
use crate::compare::Comparison;
use crate::difference::{Change, summary};
use crate::judge::{is_silence, judge};
use crate::known::{Context, explain};
use crate::probe::{Style, probes};
use crate::report::printable;
use crate::request::Request;

/// Between two looks at a controller that has not followed yet.
const LOOK: Duration = Duration::from_millis(500);
/// Number of requests to the old controller before a step, to know what varies by itself.
const ROUNDS: usize = 2;
/// Complaints that are reported.
const REPORTED: usize = 5;

/// Checks by asking both controllers.
#[derive(Debug)]
pub struct ProbeCheck {
    comparison: Comparison,
    context: Context,
    style: Style,
    settle: Duration,
    /// The answers of the old controller before the step, in [`ROUNDS`].
    baseline: Vec<(Request, Vec<RequestOutcome>)>,
    /// Requests for objects that had moved before they could be probed.
    bare: Vec<Request>,
}

impl ProbeCheck {
    /// For these sites. `settle`: how long the new controller may take to answer alike.
    pub fn new(comparison: Comparison, context: Context, style: Style, settle: Duration) -> Self {
        Self { comparison, context, style, settle, baseline: Vec::new(), bare: Vec::new() }
    }

    /// The requests that some entries are about.
    fn requests(&self, entries: &[Entry]) -> Vec<Request> {
        let everything = entries.iter().any(|entry| entry.kind == Kind::Service);
        let keys: BTreeSet<_> = entries.iter().map(Entry::key).collect();
        let about = |site: &&crate::site::Site| everything || site.rules.iter().any(|rule| keys.contains(&rule.ingress));
        self.context.sites().filter(about).flat_map(|site| probes(site, &self.style)).collect()
    }

    async fn remember(&mut self, entries: &[Entry]) -> Result<(), String> {
        let (moved, there): (Vec<_>, Vec<_>) = entries.iter().cloned().partition(|entry| entry.state != EntryState::Planned);
        let (requests, bare) = (self.requests(&there), self.requests(&moved));
        let comparison = &self.comparison;
        // A wrong address would look like a regression, after the step.
        if let Err(unreached) = comparison.reach(&requests).await {
            return Err(unreached.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "));
        }
        let asked = stream::iter(requests).map(|request| async move {
            let mut rounds = Vec::with_capacity(ROUNDS);
            for _ in 0..ROUNDS {
                rounds.push(comparison.ask_old(&request).await);
            }
            (request, rounds)
        });
        self.baseline = asked.buffered(comparison.options().concurrency.max(1)).collect().await;
        self.bare = bare;
        let silent = self.baseline.iter().find(|(_, rounds)| rounds.iter().any(is_silence));
        match silent {
            Some((request, rounds)) => Err(format!("the old controller gives no answer to {request} ({})", last(rounds))),
            None => Ok(()),
        }
    }

    /// Differences of the new controller from the old one; one sentence each.
    async fn complaints(&self) -> Vec<String> {
        let width = self.comparison.options().concurrency.max(1);
        let compared = stream::iter(&self.baseline).map(|(request, rounds)| self.compared(request, rounds));
        let mut found: Vec<String> = compared.buffered(width).collect::<Vec<_>>().await.concat();
        let bare = stream::iter(&self.bare).map(|request| async move {
            let outcome = self.comparison.ask_new(request).await;
            let bad = outcome.as_ref().map_or(true, |answer| answer.status >= 500);
            bad.then(|| format!("{request} is answered {} by the new controller", summary(&outcome)))
        });
        found.extend(bare.buffered(width).collect::<Vec<_>>().await.into_iter().flatten());
        found
    }

    async fn compared(&self, request: &Request, before: &[RequestOutcome]) -> Vec<String> {
        let mut rounds: Vec<(RequestOutcome, RequestOutcome)> = Vec::new();
        for old in before {
            rounds.push((old.clone(), self.comparison.ask_new(request).await));
            if judge(&rounds).confirmed.is_empty() {
                return Vec::new();
            }
        }
        let Some(first) = rounds.first() else { return Vec::new() };
        let counts = |change: &&Change| {
            let ignored = self.comparison.options().ignores.iter().any(|rule| rule.holds(request, &change.aspect));
            let known = match first {
                (Ok(old), Ok(new)) => explain(&self.context, request, change, old, new),
                _ => None,
            };
            !ignored && known.is_none_or(|known| known.counts)
        };
        let confirmed = judge(&rounds).confirmed;
        confirmed.iter().filter(counts).map(|change| printable_change(request, change)).collect()
    }

    /// Waits until there are no complaints, as long as the new controller may take.
    async fn settled(&self, settle: Duration) -> Result<(), String> {
        let deadline = Instant::now() + settle;
        loop {
            let complaints = self.complaints().await;
            if complaints.is_empty() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                let mut reported = complaints.iter().take(REPORTED).cloned().collect::<Vec<_>>().join("; ");
                if complaints.len() > REPORTED {
                    reported.push_str(&format!("; and {} more", complaints.len() - REPORTED));
                }
                return Err(reported);
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}

fn printable_change(request: &Request, change: &Change) -> String {
    format!("{request}: {} {} -> {}", change.aspect, printable(&change.old), printable(&change.new))
}

fn last(rounds: &[RequestOutcome]) -> String {
    rounds.iter().filter_map(|outcome| outcome.as_ref().err()).map(ToString::to_string).next_back().unwrap_or_default()
}

/// All checks of a switch; none is a check that passes.
#[derive(Debug, Default)]
pub struct All {
    /// Asks both controllers.
    pub probe_check: Option<ProbeCheck>,
    /// Runs a command.
    pub command: Option<Command>,
}

impl Checks for All {
    async fn before(&mut self, entries: &[Entry]) -> Result<(), String> {
        if let Some(probe_check) = &mut self.probe_check {
            probe_check.remember(entries).await?;
            // Behind one Service both controllers serve everything already.
            if entries.iter().any(|entry| entry.kind == Kind::Service) {
                probe_check.settled(Duration::ZERO).await?;
            }
        }
        match &self.command {
            Some(command) => command.run("before", entries).await,
            None => Ok(()),
        }
    }

    async fn after(&mut self, entries: &[Entry]) -> Result<(), String> {
        if let Some(probe_check) = &self.probe_check {
            probe_check.settled(probe_check.settle).await?;
        }
        match &self.command {
            Some(command) => command.until_good("after", entries).await,
            None => Ok(()),
        }
    }
}
