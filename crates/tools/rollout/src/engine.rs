//! The loop: changes come in, workloads become due, decisions are carried out, a bounded number at once and one at a time for each workload.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::Instant;

use crate::Stop;
use crate::agenda::Agenda;
use crate::apply::Context;
use crate::complaint::missing;
use crate::decide::{Decision, Objects, Plan, check, decide};
use crate::kind::WorkloadId;
use crate::notices::Notices;
use crate::record::Content;
use crate::record::Record;
use crate::state::{Feed, KnownState, StateChange};
use crate::work::{Failing, Pending, RestartOutcome, carry_out, fail, notify, watch as watch_rollout};
use crate::workload::Workload;

/// Decisions that are carried out at once.
const AT_ONCE: usize = 16;
/// Time until a record is written again that another client removes at once.
const NOTE_AGAIN: Duration = Duration::from_secs(60);
/// Waits after failures double from the first to the last of these.
const RETRY: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(60));

/// A workload, the plan to report if it worked, and the outcome.
type Done = (WorkloadId, Option<(Workload, Plan)>, RestartOutcome);

pub(crate) struct Engine {
    context: Arc<Context>,
    state: KnownState,
    agenda: Agenda<WorkloadId>,
    leader: watch::Receiver<bool>,
    leads: bool,
    running: JoinSet<Done>,
    busy: HashSet<WorkloadId>,
    failures: HashMap<WorkloadId, u32>,
    held: BTreeSet<WorkloadId>,
    watches: HashMap<WorkloadId, AbortHandle>,
    /// Watches of rollouts, and what they found. The next leader goes on with them.
    looks: JoinSet<Option<Failing>>,
    /// The records last written on workloads that are not settled since.
    noted: HashMap<WorkloadId, (Record, Instant)>,
    complaints: HashMap<WorkloadId, Vec<String>>,
    notices: Notices,
}

impl Engine {
    pub(crate) fn new(context: Arc<Context>, leader: watch::Receiver<bool>) -> Self {
        let options = &context.options;
        Self {
            state: KnownState::new(options),
            agenda: Agenda::new(options.debounce),
            context,
            leader,
            leads: false,
            running: JoinSet::new(),
            busy: HashSet::new(),
            failures: HashMap::new(),
            held: BTreeSet::new(),
            watches: HashMap::new(),
            looks: JoinSet::new(),
            noted: HashMap::new(),
            complaints: HashMap::new(),
            notices: Notices::default(),
        }
    }

    /// Runs until the changes or the election end, or until it is stopped: then what was begun is finished, and the sender is answered.
    pub(crate) async fn run(mut self, mut changes: mpsc::Receiver<StateChange>, mut stop: oneshot::Receiver<Stop>) {
        self.lead();
        loop {
            let due = self.next();
            tokio::select! {
                some = changes.recv() => match some {
                    Some(change) => self.take(change),
                    None => return,
                },
                Ok(stop) = &mut stop => return stop.after(self.finish()).await,
                changed = self.leader.changed() => match changed {
                    Ok(()) => self.lead(),
                    Err(_) => return,
                },
                Some(done) = self.running.join_next() => match done {
                    Ok((id, to_report, outcome)) => self.done(id, to_report, outcome),
                    // A panic of ours: the process is to end rather than to leave a workload behind.
                    Err(_) => return,
                },
                Some(found) = self.looks.join_next() => if let Ok(Some(failing)) = found {
                    self.context.background.spawn(fail(self.context.clone(), failing));
                },
                () = sleep_until(due) => self.start(),
            }
        }
    }

    /// Finishes what was begun.
    async fn finish(mut self) {
        while let Some(done) = self.running.join_next().await {
            if let Ok((_, Some((workload, plan)), RestartOutcome::Updated { .. })) = done {
                self.context.background.spawn(notify(self.context.clone(), workload, plan));
            }
        }
        self.context.background.finish().await;
    }

    /// The time at which the next workload may be started on.
    fn next(&self) -> Option<Instant> {
        let may = self.leads && self.state.is_complete() && self.running.len() < AT_ONCE;
        may.then(|| self.agenda.next(|id| self.busy.contains(id))).flatten()
    }

    fn take(&mut self, change: StateChange) {
        let now = Instant::now();
        let was_complete = self.state.is_complete();
        let lists_workloads = matches!(change, StateChange::Listed { feed: Feed::Workloads(_), .. });
        if let StateChange::Content { namespace, id, complaints, .. } = &change {
            self.notices.take(namespace, id, complaints.clone());
        }
        for id in self.state.take(change).touched {
            self.agenda.touch(id, now);
        }
        if !was_complete && self.state.is_complete() {
            tracing::info!("all ConfigMaps and Secrets that are asked for are known");
            self.watch_again();
        } else if lists_workloads {
            self.watch_again();
        }
        if self.state.is_complete() {
            for (object, complaint) in self.notices.unsaid(|namespace| self.state.covers(namespace)) {
                tracing::warn!(object, complaint, "an annotation has not the effect that may be meant");
            }
        }
    }

    fn lead(&mut self) {
        self.leads = *self.leader.borrow_and_update();
        self.context.metrics.leader.set(self.leads.into());
        if self.leads {
            let now = Instant::now();
            for workload in self.state.workloads() {
                self.agenda.touch(workload.id.clone(), now);
            }
            self.watch_again();
        } else {
            self.watches.drain().for_each(|(_, handle)| handle.abort());
        }
    }

    /// Watches the rollouts that the leader before began not long ago.
    fn watch_again(&mut self) {
        if !self.leads || !self.state.is_complete() {
            return;
        }
        let recent = self.state.workloads().filter(|workload| workload.record.is_some() && !workload.pause.paused).cloned();
        let recent: Vec<Workload> = recent.filter(|workload| !self.watches.contains_key(&workload.id)).collect();
        for workload in recent {
            let begun = workload.record.as_ref().and_then(|record| record.at);
            let age = begun.and_then(|begun| Duration::try_from(Timestamp::now().duration_since(begun)).ok());
            self.watch(workload, age.unwrap_or(Duration::MAX));
        }
    }

    fn start(&mut self) {
        let room = AT_ONCE.saturating_sub(self.running.len());
        for id in self.agenda.take(Instant::now(), room, |id| self.busy.contains(id)) {
            let Some((workload, objects)) = self.state.get(&id) else {
                self.forget(&id);
                continue;
            };
            let decision = decide(workload, objects, self.state.rules(), Timestamp::now());
            let workload = workload.clone();
            let pending = match &decision {
                Decision::Roll(plan) => self.pending(&workload, plan, objects),
                _ => Vec::new(),
            };
            let missing = missing(&workload, objects, self.state.rules(), self.context.options.resource_selector.is_some());
            self.complain(&workload, missing);
            if let Some(end) = workload.pause.ends() {
                let left = end.duration_since(Timestamp::now());
                self.agenda.at(id.clone(), Instant::now() + Duration::try_from(left).unwrap_or_default() + Duration::from_millis(1));
            }
            if decision == Decision::Nothing {
                self.noted.remove(&id);
                self.settle(&id);
                continue;
            }
            if let Some(when) = self.taken_away(&id, &decision) {
                self.agenda.at(id, when);
                continue;
            }
            self.busy.insert(id.clone());
            let context = self.context.clone();
            let to_report = match &decision {
                Decision::Roll(plan) => Some((workload.clone(), plan.clone())),
                _ => None,
            };
            self.running.spawn(async move { (id, to_report, carry_out(context, workload, decision, pending).await) });
        }
    }

    /// The time to write a record again that another client removed as soon as it was written; `None` if it is not so.
    fn taken_away(&self, id: &WorkloadId, decision: &Decision) -> Option<Instant> {
        let Decision::Note(record) = decision else { return None };
        let (_, when) = self.noted.get(id).filter(|(noted, when)| noted == record && when.elapsed() < NOTE_AGAIN)?;
        Some(*when + NOTE_AGAIN)
    }

    fn pending(&self, workload: &Workload, plan: &Plan, objects: &Objects) -> Vec<Pending> {
        let one = |change: &crate::decide::Change| {
            let (Content::Present(digest), Some(object)) = (&change.to, objects.get(&change.id)) else { return None };
            let check = check(workload.check.as_deref(), object.check.as_deref(), self.state.rules());
            Some(Pending { id: change.id.clone(), uid: object.uid.clone(), digest: digest.clone(), check })
        };
        plan.changes.iter().filter_map(one).collect()
    }

    /// Says what of a workload's annotations can't be used, once.
    fn complain(&mut self, workload: &Workload, missing: Vec<String>) {
        let complaints: Vec<String> = workload.complaints.iter().cloned().chain(missing).collect();
        let known = self.complaints.get(&workload.id).map(Vec::as_slice).unwrap_or_default();
        for complaint in complaints.iter().filter(|complaint| !known.contains(complaint)) {
            tracing::warn!(workload = %workload.id, complaint, "an annotation has not the effect that may be meant");
        }
        if complaints.is_empty() {
            self.complaints.remove(&workload.id);
        } else {
            self.complaints.insert(workload.id.clone(), complaints);
        }
    }

    fn done(&mut self, id: WorkloadId, to_report: Option<(Workload, Plan)>, outcome: RestartOutcome) {
        let now = Instant::now();
        self.busy.remove(&id);
        match outcome {
            RestartOutcome::Updated { object, rolled } => {
                self.settle(&id);
                if let Some((workload, plan)) = to_report {
                    self.context.background.spawn(notify(self.context.clone(), workload, plan));
                }
                let workload = self.put(&id, &object);
                if let Some(record) = workload.as_ref().and_then(|workload| workload.record.clone()) {
                    self.noted.insert(id.clone(), (record, now));
                }
                if let Some(workload) = workload.filter(|_| rolled) {
                    self.watch(workload, Duration::ZERO);
                }
                self.agenda.touch(id, now);
            }
            RestartOutcome::Stale(Some(object)) => {
                self.put(&id, &object);
                self.agenda.touch(id, now);
            }
            RestartOutcome::Stale(None) => self.forget(&id),
            RestartOutcome::Held => {
                self.failures.remove(&id);
                self.held.insert(id);
            }
            RestartOutcome::Failed => {
                let failures = self.failures.entry(id.clone()).or_default();
                let wait = RETRY.0.saturating_mul(1 << (*failures).min(10)).min(RETRY.1);
                *failures = failures.saturating_add(1);
                self.agenda.at(id, now + wait);
            }
        }
        self.context.metrics.held.set(i64::try_from(self.held.len()).unwrap_or(i64::MAX));
    }

    fn put(&mut self, id: &WorkloadId, object: &kube::api::DynamicObject) -> Option<Workload> {
        let workload = Workload::read(id.kind, object, &self.state.rules().names);
        self.state.take(StateChange::Workload { id: id.clone(), workload: workload.clone().map(Box::new) });
        workload
    }

    /// Nothing is wrong with it (any more).
    fn settle(&mut self, id: &WorkloadId) {
        self.failures.remove(id);
        self.held.remove(id);
        self.context.metrics.held.set(i64::try_from(self.held.len()).unwrap_or(i64::MAX));
    }

    fn forget(&mut self, id: &WorkloadId) {
        self.settle(id);
        self.noted.remove(id);
        self.complaints.remove(id);
        if let Some(handle) = self.watches.remove(id) {
            handle.abort();
        }
    }

    /// Watches a rollout's first Pods for what is left of the time. `age`: how long ago it began.
    fn watch(&mut self, workload: Workload, age: Duration) {
        let left = self.context.options.watch.saturating_sub(age);
        if left.is_zero() || !workload.id.kind.is_rolling() || workload.restarts || workload.pause.failed {
            return;
        }
        let id = workload.id.clone();
        let handle = self.looks.spawn(watch_rollout(self.context.clone(), workload, Instant::now() + left));
        if let Some(old) = self.watches.insert(id, handle) {
            old.abort();
        }
    }
}

async fn sleep_until(when: Option<Instant>) {
    match when {
        Some(when) => tokio::time::sleep_until(when).await,
        None => std::future::pending().await,
    }
}
