//! Writes to the cluster: patches, Jobs, Events. Every write is for the version that was decided about, so that of two that decide, one writes.

use std::time::Duration;

use cluster::chain;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference, Secret};
use kube::api::{Api, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use kube::{Client, ResourceExt};
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use crate::alert::Sender;
use crate::background::BackgroundTasks;
use crate::check::{Checks, Files};
use crate::content::{Digest, of_config_map, of_secret};
use crate::decide::Plan;
use crate::kind::{ContentId, ContentKind, Kind};
use crate::metrics::Metrics;
use crate::options::Options;
use crate::record::Content;
use crate::workload::Workload;
use crate::{jobs, patch};

/// Our name for the API server, as field manager.
const MANAGER: &str = "narthex-rollout";
/// The longest time until a deleted Job is gone.
const JOB_GONE: Duration = Duration::from_secs(60);
/// The API server takes 1,024 bytes at most.
const NOTE_BYTES: usize = 1000;

/// The reason why a write was not done.
#[derive(Debug, PartialEq, Error)]
pub(crate) enum Failure {
    /// The object changed since, or is gone: decide again.
    #[error("it changed meanwhile, or is gone")]
    Stale,
    /// Anything else.
    #[error("{0}")]
    Error(String),
}

impl From<kube::Error> for Failure {
    fn from(error: kube::Error) -> Self {
        match &error {
            kube::Error::Api(status) if status.code == 409 || status.code == 404 => Self::Stale,
            error => Self::Error(chain(error)),
        }
    }
}

/// The parts that all effects share.
pub(crate) struct Context {
    pub(crate) client: Client,
    pub(crate) options: Options,
    pub(crate) metrics: Metrics,
    pub(crate) sender: Sender,
    pub(crate) checks: Checks,
    /// Alerts, and other work that no decision waits for.
    pub(crate) background: BackgroundTasks,
    recorder: Recorder,
}

impl Context {
    pub(crate) fn new(client: Client, options: Options, metrics: Metrics) -> Result<Self, hyper::http::uri::InvalidUri> {
        let reporter = Reporter { controller: MANAGER.into(), instance: options.instance.clone() };
        Ok(Self {
            recorder: Recorder::new(client.clone(), reporter),
            sender: Sender::new(options.alerts.clone())?,
            checks: Checks::new(options.check_command.clone(), options.check_timeout),
            background: BackgroundTasks::default(),
            client,
            options,
            metrics,
        })
    }

    pub(crate) fn api(&self, kind: Kind, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &kind.resource())
    }

    /// The workload as the server has it; `None` when it is gone.
    pub(crate) async fn get(&self, workload: &Workload) -> Result<Option<DynamicObject>, Failure> {
        Ok(self.api(workload.id.kind, &workload.id.namespace).get_opt(&workload.id.name).await?)
    }

    /// Sends a patch of this module's making; the answer is the object as it is then.
    pub(crate) async fn patch(&self, workload: &Workload, patch: &Value) -> Result<DynamicObject, Failure> {
        let params = PatchParams { field_manager: Some(MANAGER.into()), ..PatchParams::default() };
        let patch = match workload.id.kind {
            Kind::Rollout => Patch::Merge(patch),
            _ => Patch::Strategic(patch),
        };
        Ok(self.api(workload.id.kind, &workload.id.namespace).patch(&workload.id.name, &params, &patch).await?)
    }

    /// Rolls a workload out; the answer is the workload as it is then.
    pub(crate) async fn roll(&self, workload: &Workload, plan: &Plan) -> Result<DynamicObject, Failure> {
        let (rules, now) = (&self.options.rules, Timestamp::now());
        let edit = patch::edit(workload, plan, rules, now);
        match workload.id.kind {
            Kind::Deployment | Kind::StatefulSet | Kind::DaemonSet => {
                self.patch(workload, &patch::roll(workload, plan, &edit, rules, now)).await
            }
            Kind::Rollout if workload.restarts => self.patch(workload, &patch::restart(workload, plan, now)).await,
            Kind::Rollout => {
                let object = self.same_version(workload).await?;
                self.patch(workload, &patch::roll_custom(workload, plan, &edit, &object)).await
            }
            Kind::CronJob => {
                let job = jobs::of_cron_job(workload, plan, &edit, &self.same_version(workload).await?);
                match self.create(workload, &job, false).await {
                    // Made before, by a replica that could not write it down any more.
                    Ok(_) | Err(Failure::Stale) => self.patch(workload, &patch::note(workload, &plan.record)).await,
                    Err(error) => Err(error),
                }
            }
            Kind::Job => {
                let job = jobs::again(plan, &edit, &self.same_version(workload).await?);
                self.replace_job(workload, &job).await
            }
        }
    }

    async fn same_version(&self, workload: &Workload) -> Result<Value, Failure> {
        let object = self.get(workload).await?.ok_or(Failure::Stale)?;
        match object.resource_version().as_ref() == Some(&workload.resource_version) {
            true => serde_json::to_value(object).map_err(|error| Failure::Error(error.to_string())),
            false => Err(Failure::Stale),
        }
    }

    async fn create(&self, workload: &Workload, job: &Value, dry_run: bool) -> Result<DynamicObject, Failure> {
        let job: DynamicObject = serde_json::from_value(job.clone()).map_err(|error| Failure::Error(error.to_string()))?;
        let params = PostParams { dry_run, field_manager: Some(MANAGER.into()) };
        Ok(self.api(Kind::Job, &workload.id.namespace).create(&params, &job).await?)
    }

    /// Deletes a Job and makes it again. The new one is tried out first, so that nothing is deleted that could not come back.
    async fn replace_job(&self, workload: &Workload, job: &Value) -> Result<DynamicObject, Failure> {
        let mut trial = job.clone();
        trial["metadata"]["name"] = Value::Null;
        trial["metadata"]["generateName"] = format!("{}-", workload.id.name.get(..50).unwrap_or(&workload.id.name)).into();
        self.create(workload, &trial, true).await?;
        let preconditions = Preconditions { uid: Some(workload.uid.clone()), resource_version: Some(workload.resource_version.clone()) };
        let params = DeleteParams { preconditions: Some(preconditions), ..DeleteParams::background() };
        self.api(Kind::Job, &workload.id.namespace).delete(&workload.id.name, &params).await?;
        let deadline = tokio::time::Instant::now() + JOB_GONE;
        loop {
            let why = match self.create(workload, job, false).await {
                Ok(job) => return Ok(job),
                Err(Failure::Stale) => "the old one is not gone yet".to_owned(),
                Err(Failure::Error(why)) => why,
            };
            if tokio::time::Instant::now() > deadline {
                return Err(Failure::Error(format!("the Job was deleted and could not be made again: {why}")));
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    /// The content of an object; `None` when it is not (any more) the content that was decided about.
    pub(crate) async fn files(&self, namespace: &str, id: &ContentId, digest: &Digest) -> Result<Option<Files>, Failure> {
        Ok(self.read(namespace, id).await?.filter(|(found, _)| found == digest).map(|(_, files)| files))
    }

    /// The digest of what an object holds.
    pub(crate) async fn digest(&self, namespace: &str, id: &ContentId) -> Result<Content, Failure> {
        Ok(self.read(namespace, id).await?.map_or(Content::Absent, |(digest, _)| Content::Present(digest)))
    }

    async fn read(&self, namespace: &str, id: &ContentId) -> Result<Option<(Digest, Files)>, Failure> {
        let client = self.client.clone();
        match id.source {
            ContentKind::ConfigMap => {
                let map = self.find(Api::<ConfigMap>::namespaced(client, namespace), &id.name).await?;
                Ok(map.map(|map| {
                    let digest = of_config_map(map.data.as_ref(), map.binary_data.as_ref()).ours;
                    let text = map.data.into_iter().flatten().map(|(key, value)| (key, value.into_bytes()));
                    let binary = map.binary_data.into_iter().flatten().map(|(key, value)| (key, value.0));
                    (digest, text.chain(binary).collect())
                }))
            }
            ContentKind::Secret => {
                let secret = self.find(Api::<Secret>::namespaced(client, namespace), &id.name).await?;
                Ok(secret.map(|secret| {
                    let digest = of_secret(secret.data.as_ref()).ours;
                    (digest, secret.data.into_iter().flatten().map(|(key, value)| (key, value.0)).collect())
                }))
            }
        }
    }

    /// An object, unless it has not the labels that are asked for: then the watch does not see it either.
    async fn find<K>(&self, api: Api<K>, name: &str) -> Result<Option<K>, Failure>
    where
        K: Clone + std::fmt::Debug + DeserializeOwned,
    {
        let Some(selector) = &self.options.resource_selector else { return Ok(api.get_opt(name).await?) };
        let params = ListParams::default().labels(selector).fields(&format!("metadata.name={name}"));
        Ok(api.list(&params).await?.items.pop())
    }

    /// Writes an Event about a workload under `kubectl describe`. A failure is logged only.
    pub(crate) async fn notify(&self, workload: &Workload, warning: bool, reason: &str, note: &str) {
        let resource = workload.id.kind.resource();
        let reference = ObjectReference {
            api_version: Some(resource.api_version),
            kind: Some(resource.kind),
            namespace: Some(workload.id.namespace.clone()),
            name: Some(workload.id.name.clone()),
            uid: Some(workload.uid.clone()),
            ..ObjectReference::default()
        };
        self.event(&reference, warning, reason, note).await;
    }

    /// Writes an Event about a ConfigMap or Secret.
    pub(crate) async fn notify_of_content(&self, namespace: &str, id: &ContentId, uid: &str, reason: &str, note: &str) {
        let reference = ObjectReference {
            api_version: Some("v1".into()),
            kind: Some(id.source.name().into()),
            namespace: Some(namespace.to_owned()),
            name: Some(id.name.clone()),
            uid: Some(uid.to_owned()),
            ..ObjectReference::default()
        };
        self.event(&reference, true, reason, note).await;
    }

    async fn event(&self, reference: &ObjectReference, warning: bool, reason: &str, note: &str) {
        let event = Event {
            type_: if warning { EventType::Warning } else { EventType::Normal },
            reason: reason.to_owned(),
            note: Some(note[..note.floor_char_boundary(NOTE_BYTES)].to_owned()),
            action: "Rollout".into(),
            secondary: None,
        };
        if let Err(error) = self.recorder.publish(&event, reference).await {
            tracing::debug!(error = chain(&error), reason, "the Event could not be written");
        }
    }
}
