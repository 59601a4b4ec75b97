//! One decision, carried out: check, patch, notify.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DynamicObject, ListParams};
use kube::core::Selector;
use tokio::time::Instant;

use crate::alert::{Alert, Occasion};
use crate::apply::{Context, Failure};
use crate::content::Digest;
use crate::decide::{Decision, Plan};
use crate::kind::ContentId;
use crate::patch;
use crate::record::Content;
use crate::rules::Check;
use crate::verdict::{RolloutVerdict, judge};
use crate::workload::Workload;

/// Interval of looks at a rollout while its first Pods are watched.
const LOOK: Duration = Duration::from_secs(1);

/// The outcome of a decision.
pub(crate) enum RestartOutcome {
    /// The object as it is now.
    Updated {
        /// The object as the server answered.
        object: Box<DynamicObject>,
        /// A rollout has begun, so that new Pods come up.
        rolled: bool,
    },
    /// Newer than what was decided about, or `None` if it is gone: decide again.
    Stale(Option<Box<DynamicObject>>),
    /// A check failed: nothing until something changes.
    Held,
    /// Try again.
    Failed,
}

/// A check that a change must pass first.
#[derive(Debug, Clone)]
pub(crate) struct Pending {
    pub(crate) id: ContentId,
    pub(crate) uid: String,
    pub(crate) digest: Digest,
    /// The check; an error says why the given one can't be used.
    pub(crate) check: Result<Check, String>,
}

/// Carries a decision out.
pub(crate) async fn carry_out(context: Arc<Context>, workload: Workload, decision: Decision, pending: Vec<Pending>) -> RestartOutcome {
    let done = match &decision {
        Decision::Nothing => return RestartOutcome::Stale(None),
        Decision::Note(record) => context.patch(&workload, &patch::note(&workload, record)).await,
        Decision::Forget => context.patch(&workload, &patch::forget(&workload)).await,
        Decision::Resume => context.patch(&workload, &patch::resume(&workload, &context.options.rules)).await,
        Decision::Roll(plan) => {
            match passes(&context, &workload, &pending).await {
                Ok(true) => {}
                Ok(false) => return RestartOutcome::Held,
                Err(failure) => return failed(&context, &workload, failure).await,
            }
            // After the checks, which may take long: new Pods get what there is now.
            match is_current(&context, &workload, plan).await {
                Ok(true) => {}
                // The watch is behind: what it says will be another thing soon.
                Ok(false) => return RestartOutcome::Failed,
                Err(failure) => return failed(&context, &workload, failure).await,
            }
            context.roll(&workload, plan).await
        }
    };
    match (done, &decision) {
        (Ok(object), Decision::Roll(plan)) => {
            tracing::info!(workload = %workload.id, changes = changes(plan), "rolled out");
            context.metrics.executed(true, &workload.id.namespace);
            RestartOutcome::Updated { object: Box::new(object), rolled: !workload.pause.paused && workload.pause.period.is_none() }
        }
        (Ok(object), decision) => RestartOutcome::Updated { object: Box::new(object), rolled: *decision == Decision::Resume },
        (Err(Failure::Error(why)), Decision::Roll(plan)) => {
            let what = changes(plan);
            tracing::error!(workload = %workload.id, changes = what, why, "the rollout failed and is tried again");
            context.metrics.executed(false, &workload.id.namespace);
            context.notify(&workload, true, "ReloadFail", &format!("{what} changed; the rollout failed: {why}")).await;
            RestartOutcome::Failed
        }
        (Err(failure), _) => failed(&context, &workload, failure).await,
    }
}

async fn failed(context: &Context, workload: &Workload, failure: Failure) -> RestartOutcome {
    match failure {
        Failure::Stale => match context.get(workload).await {
            Ok(object) => RestartOutcome::Stale(object.map(Box::new)),
            Err(_) => RestartOutcome::Failed,
        },
        Failure::Error(why) => {
            tracing::warn!(workload = %workload.id, why, "could not be written and is tried again");
            RestartOutcome::Failed
        }
    }
}

/// `true` if the server holds what was decided about. A watch may be behind what another client rolled out already: following it would
/// roll out old content and then the new one again.
async fn is_current(context: &Context, workload: &Workload, plan: &Plan) -> Result<bool, Failure> {
    for change in &plan.changes {
        if context.digest(&workload.id.namespace, &change.id).await? != change.to {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Notifies operators of a rollout.
pub(crate) async fn notify(context: Arc<Context>, workload: Workload, plan: Plan) {
    let (what, id) = (changes(&plan), &workload.id);
    context.notify(&workload, false, "Reloaded", &format!("{what} changed; rolled out {} {}", id.kind.name(), id.name)).await;
    let names: Vec<String> =
        plan.changes.iter().map(|change| format!("*{}* of type *{}*", change.id.name, change.id.source.name())).collect();
    let message =
        format!("{} changed in namespace *{}*; rolled out *{}* of type *{}*", names.join(", "), id.namespace, id.name, id.kind.name());
    let objects = plan.changes.iter().map(|change| &change.id).collect();
    let workload = Some((id.kind.name(), &*id.name));
    context.sender.alert(&Alert { occasion: Occasion::Reload, message, namespace: &id.namespace, workload, objects }).await;
}

fn changes(plan: &Plan) -> String {
    let one = |change: &crate::decide::Change| match change.to {
        Content::Present(_) => change.id.to_string(),
        Content::Absent => format!("{} (deleted)", change.id),
    };
    plan.changes.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// `true` if all changes pass their checks. Findings are reported once for each content, and for each workload that it holds back.
async fn passes(context: &Arc<Context>, workload: &Workload, pending: &[Pending]) -> Result<bool, Failure> {
    let mut all = true;
    for one in pending {
        let verdict = match &one.check {
            Ok(Check::None) => continue,
            Ok(check) => outcome(context, &workload.id.namespace, one, *check).await?,
            Err(why) => Err(why.clone()),
        };
        if let Err(why) = verdict {
            all = false;
            tracing::warn!(workload = %workload.id, object = %one.id, why, "not rolled out: the check failed");
            let note = format!("{} changed and failed its check, so this is not rolled out until it changes again: {why}", one.id);
            context.notify(workload, true, "RolloutHeld", &note).await;
        }
    }
    Ok(all)
}

async fn outcome(context: &Arc<Context>, namespace: &str, one: &Pending, check: Check) -> Result<Result<(), String>, Failure> {
    let cell = context.checks.cell(namespace, &one.id, &one.digest, check);
    let verdict = cell.get_or_try_init(|| async {
        let files = context.files(namespace, &one.id, &one.digest).await?.ok_or(Failure::Stale)?;
        let verdict = context.checks.run(check, &one.id, &files).await;
        context.metrics.checked(verdict.is_ok());
        if let Err(why) = &verdict {
            context.notify_of_content(namespace, &one.id, &one.uid, "RolloutCheckFailed", why).await;
            let message = format!(
                "*{}* of type *{}* in namespace *{namespace}* changed and failed its check: {why}",
                one.id.name,
                one.id.source.name()
            );
            let (context, namespace, id) = (context.clone(), namespace.to_owned(), one.id.clone());
            context.clone().background.spawn(async move {
                let alert = Alert { occasion: Occasion::CheckFailed, message, namespace: &namespace, workload: None, objects: vec![&id] };
                context.sender.alert(&alert).await;
            });
        }
        Ok::<_, Failure>(verdict)
    });
    verdict.await.cloned()
}

/// A rollout whose first new Pods fail.
pub(crate) struct Failing {
    workload: Workload,
    reason: String,
    detail: String,
}

/// Watches a rollout until it is complete, fails, or the time is over. `Some` if it fails.
pub(crate) async fn watch(context: Arc<Context>, workload: Workload, deadline: Instant) -> Option<Failing> {
    let verdict = loop {
        match look(&context, &workload).await {
            Ok(Some(RolloutVerdict::Open)) => {}
            Ok(Some(verdict)) => break verdict,
            Ok(None) => return None,
            Err(failure) => tracing::debug!(workload = %workload.id, %failure, "the rollout can't be looked at"),
        }
        if Instant::now() > deadline {
            break RolloutVerdict::Open;
        }
        tokio::time::sleep(LOOK).await;
    };
    match verdict {
        RolloutVerdict::Complete => context.metrics.watched("complete"),
        RolloutVerdict::Open => context.metrics.watched("unknown"),
        RolloutVerdict::Failed(reason, detail) => return Some(Failing { workload, reason, detail }),
    }
    None
}

async fn look(context: &Context, workload: &Workload) -> Result<Option<RolloutVerdict>, Failure> {
    let Some(object) = context.get(workload).await? else { return Ok(None) };
    let Some(selector) = &workload.selector else { return Ok(None) };
    let selector: Selector = selector.clone().try_into().map_err(|_| Failure::Error("its selector can't be read".into()))?;
    let pods: Api<Pod> = Api::namespaced(context.client.clone(), &workload.id.namespace);
    let pods = pods.list(&ListParams::default().labels_from(&selector)).await?;
    let object = serde_json::to_value(object).map_err(|error| Failure::Error(error.to_string()))?;
    Ok(Some(judge(workload, &object, &pods.items)))
}

/// Pauses a Deployment that fails, and notifies operators.
pub(crate) async fn fail(context: Arc<Context>, failing: Failing) {
    let Failing { workload, reason, detail } = &failing;
    let paused = workload.id.kind == crate::kind::Kind::Deployment && pause(&context, workload, reason).await;
    let then = if paused { "; it is paused until the content changes again or it is resumed" } else { "" };
    tracing::error!(workload = %workload.id, reason, detail, paused, "the rollout fails");
    context.metrics.watched("failed");
    context.notify(workload, true, "RolloutFailed", &format!("{reason}: {detail}{then}")).await;
    let id = &workload.id;
    let message = format!(
        "The rollout of *{}* of type *{}* in namespace *{}* fails: {reason}: {detail}{then}",
        id.name,
        id.kind.name(),
        id.namespace
    );
    let workload = Some((id.kind.name(), &*id.name));
    context
        .sender
        .alert(&Alert { occasion: Occasion::RolloutFailed, message, namespace: &id.namespace, workload, objects: Vec::new() })
        .await;
}

/// Pauses a Deployment, unless it is paused or its template is another one by now. `true` if we did.
async fn pause(context: &Context, workload: &Workload, reason: &str) -> bool {
    let deadline = Instant::now() + Duration::from_secs(30);
    loop {
        let newest = match context.get(workload).await {
            Ok(Some(object)) => Workload::read(workload.id.kind, &object, &context.options.rules.names),
            Ok(None) => None,
            Err(_) => Some(workload.clone()),
        };
        let same = |newest: &Workload| newest.containers == workload.containers && newest.marks == workload.marks && !newest.pause.paused;
        let Some(newest) = newest.filter(same) else { return false };
        let why = format!("{} {reason}", Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ"));
        match context.patch(&newest, &patch::pause_failed(&newest, &why)).await {
            Ok(_) => return true,
            Err(failure) if Instant::now() > deadline => {
                tracing::warn!(workload = %workload.id, %failure, "the Deployment could not be paused");
                return false;
            }
            Err(_) => tokio::time::sleep(Duration::from_millis(200)).await,
        }
    }
}
