//! Kinds of objects: what holds content, and what is rolled out.

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, StatefulSet};
use k8s_openapi::api::batch::v1::{CronJob, Job};
use kube::core::GroupVersionKind;
use kube::discovery::ApiResource;
use serde::Serialize;

/// A kind of object that holds content. Also an index into pairs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum ContentKind {
    /// A ConfigMap.
    ConfigMap,
    /// A Secret.
    Secret,
}

impl ContentKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::ConfigMap, Self::Secret];

    /// The kind's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Secret => "Secret",
        }
    }

    /// Its name in environment variables and in `last-reloaded-from`.
    pub fn tag(self) -> &'static str {
        match self {
            Self::ConfigMap => "CONFIGMAP",
            Self::Secret => "SECRET",
        }
    }
}

/// A kind of workload.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub enum Kind {
    /// apps/v1.
    Deployment,
    /// apps/v1.
    StatefulSet,
    /// apps/v1.
    DaemonSet,
    /// batch/v1: a Job is made from its template.
    CronJob,
    /// batch/v1: deleted and made again.
    Job,
    /// argoproj.io/v1alpha1.
    Rollout,
}

impl Kind {
    /// All.
    pub const ALL: [Self; 6] = [Self::Deployment, Self::StatefulSet, Self::DaemonSet, Self::CronJob, Self::Job, Self::Rollout];

    /// The kind's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deployment => "Deployment",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::CronJob => "CronJob",
            Self::Job => "Job",
            Self::Rollout => "Rollout",
        }
    }

    /// Its name in `--ignored-workload-types`.
    pub fn plural(self) -> String {
        format!("{}s", self.name().to_ascii_lowercase())
    }

    /// Its resource in the API.
    pub(crate) fn resource(self) -> ApiResource {
        match self {
            Self::Deployment => ApiResource::erase::<Deployment>(&()),
            Self::StatefulSet => ApiResource::erase::<StatefulSet>(&()),
            Self::DaemonSet => ApiResource::erase::<DaemonSet>(&()),
            Self::CronJob => ApiResource::erase::<CronJob>(&()),
            Self::Job => ApiResource::erase::<Job>(&()),
            Self::Rollout => ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("argoproj.io", "v1alpha1", "Rollout"), "rollouts"),
        }
    }

    /// The path of its Pod template.
    pub(crate) fn template(self) -> &'static str {
        match self {
            Self::CronJob => "/spec/jobTemplate/spec/template",
            _ => "/spec/template",
        }
    }

    /// `true` if a changed template replaces Pods one after another, so that the first new one shows that it works.
    pub(crate) fn is_rolling(self) -> bool {
        !matches!(self, Self::CronJob | Self::Job)
    }
}

/// One ConfigMap or Secret of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ContentId {
    /// Its kind.
    pub(crate) source: ContentKind,
    /// Its name.
    pub(crate) name: String,
}

impl ContentId {
    /// An id from its parts.
    pub(crate) fn new(source: ContentKind, name: impl Into<String>) -> Self {
        Self { source, name: name.into() }
    }
}

impl std::fmt::Display for ContentId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.source.name(), self.name)
    }
}

/// One workload of the cluster.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct WorkloadId {
    /// Its namespace.
    pub(crate) namespace: String,
    /// Its kind.
    pub(crate) kind: Kind,
    /// Its name.
    pub(crate) name: String,
}

impl std::fmt::Display for WorkloadId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}/{}", self.kind.name(), self.namespace, self.name)
    }
}
