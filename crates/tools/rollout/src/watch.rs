//! The watches: lists and events become [`StateChange`].

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use cluster::{Closed, ListWatch, Retry, Sink, Step};
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{Api, DynamicObject};
use kube::{Client, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::complaint::of_object;
use crate::content::{Digests, of_config_map, of_secret};
use crate::decide::Object;
use crate::kind::{ContentId, ContentKind, Kind, WorkloadId};
use crate::options::Options;
use crate::rules::{CHECK, Rules};
use crate::state::{Feed, Scope, StateChange, scopes};
use crate::workload::Workload;

/// The wait where a right is missing.
const FORBIDDEN_RETRY: Duration = Duration::from_secs(10);

/// Starts all watches; none ends before the receiver does.
pub(crate) fn start(client: &Client, options: &Options, changes: &mpsc::Sender<StateChange>, tasks: &mut JoinSet<&'static str>) {
    for scope in scopes(&options.namespaces) {
        contents(client, options, &scope, changes, tasks);
        // In the mode that only notifies a webhook, nothing is known of workloads.
        if options.webhook.is_none() {
            workloads(client, options, &scope, changes, tasks);
        }
    }
    if let Some(selector) = options.selects() {
        let read = |namespace: Namespace, gone: bool| StateChange::Namespace { name: namespace.name_any(), selected: !gone };
        tasks.spawn(follow(Api::all(client.clone()), Some(selector.to_owned()), (Feed::Namespaces, None), changes.clone(), read));
    }
}

fn contents(client: &Client, options: &Options, scope: &Scope, changes: &mpsc::Sender<StateChange>, tasks: &mut JoinSet<&'static str>) {
    let rules = Arc::new(options.rules.clone());
    let labels = &options.resource_selector;
    for source in rules.sources.iter().copied() {
        let (feed, rules) = ((Feed::Content(source), scope.clone()), rules.clone());
        match source {
            ContentKind::ConfigMap => {
                let read = move |map: ConfigMap, gone| {
                    let digests = of_config_map(map.data.as_ref(), map.binary_data.as_ref());
                    content(source, &map, digests, gone, &rules)
                };
                tasks.spawn(follow(api(client, scope), labels.clone(), feed, changes.clone(), read));
            }
            ContentKind::Secret => {
                let read = move |secret: Secret, gone| content(source, &secret, of_secret(secret.data.as_ref()), gone, &rules);
                tasks.spawn(follow(api(client, scope), labels.clone(), feed, changes.clone(), read));
            }
        }
    }
}

fn workloads(client: &Client, options: &Options, scope: &Scope, changes: &mpsc::Sender<StateChange>, tasks: &mut JoinSet<&'static str>) {
    let rules = Arc::new(options.rules.clone());
    for kind in rules.kinds.iter().copied() {
        let (resource, rules) = (kind.resource(), rules.clone());
        let api: Api<DynamicObject> = match scope {
            Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
            None => Api::all_with(client.clone(), &resource),
        };
        let read = move |object: DynamicObject, gone| workload(kind, &object, gone, &rules);
        tasks.spawn(follow(api, None, (Feed::Workloads(kind), scope.clone()), changes.clone(), read));
    }
}

fn api<K>(client: &Client, scope: &Scope) -> Api<K>
where
    K: Resource<Scope = kube::core::NamespaceResourceScope, DynamicType = ()>,
{
    match scope {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    }
}

async fn follow<K>(
    api: Api<K>,
    labels: Option<String>,
    (feed, scope): (Feed, Scope),
    changes: mpsc::Sender<StateChange>,
    read: impl Fn(K, bool) -> StateChange + Send,
) -> &'static str
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
{
    let watch = ListWatch {
        api,
        kind: feed.kind(),
        scope: scope.as_ref().map_or_else(|| "everywhere".to_owned(), |namespace| format!("in {namespace}")),
        labels,
        fields: None,
        page: feed.page(),
        retry: Retry::default(),
        forbidden_retry: Some(FORBIDDEN_RETRY),
    };
    let Closed = watch.run(Outlet { feed, scope, changes, read, seen: BTreeSet::new() }).await;
    "watch"
}

/// The receiver of the steps of a watch.
struct Outlet<F> {
    feed: Feed,
    scope: Scope,
    changes: mpsc::Sender<StateChange>,
    /// Reads an object that is there, or gone.
    read: F,
    /// Namespaces and names of the list that is being read.
    seen: BTreeSet<(String, String)>,
}

impl<K: Resource + Send + 'static, F: Fn(K, bool) -> StateChange + Send> Sink<K> for Outlet<F> {
    async fn take(&mut self, step: Step<K>) -> Result<(), Closed> {
        match step {
            Step::Begin => self.seen.clear(),
            Step::Page(objects) => {
                for object in objects {
                    self.seen.insert((object.namespace().unwrap_or_default(), object.name_any()));
                    self.send((self.read)(object, false)).await?;
                }
            }
            Step::End => {
                let seen = std::mem::take(&mut self.seen);
                self.send(StateChange::Listed { feed: self.feed, scope: self.scope.clone(), seen }).await?;
            }
            Step::Apply(object) => self.send((self.read)(object, false)).await?,
            Step::Delete(object) => self.send((self.read)(object, true)).await?,
            Step::Failed { .. } | Step::Running => {}
        }
        Ok(())
    }
}

impl<F> Outlet<F> {
    async fn send(&mut self, change: StateChange) -> Result<(), Closed> {
        self.changes.send(change).await.map_err(|_| Closed)
    }
}

fn content(source: ContentKind, object: &impl ResourceExt, digests: Digests, gone: bool, rules: &Rules) -> StateChange {
    let is_true = |name: &str| object.annotations().get(name).is_some_and(|value| value == "true");
    let read = Object {
        digest: digests.ours,
        theirs: digests.theirs,
        uid: object.uid().unwrap_or_default(),
        ignored: is_true(&rules.names.ignore),
        found: is_true(&rules.names.found),
        check: object.annotations().get(CHECK).cloned(),
        born: false,
    };
    StateChange::Content {
        namespace: object.namespace().unwrap_or_default(),
        id: ContentId::new(source, object.name_any()),
        object: (!gone).then_some(read),
        complaints: if gone { Vec::new() } else { of_object(object.annotations(), &rules.names) },
    }
}

fn workload(kind: Kind, object: &DynamicObject, gone: bool, rules: &Rules) -> StateChange {
    let read = Workload::read(kind, object, &rules.names).filter(|_| !gone);
    let id = WorkloadId { namespace: object.namespace().unwrap_or_default(), kind, name: object.name_any() };
    StateChange::Workload { id, workload: read.map(Box::new) }
}
