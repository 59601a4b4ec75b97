//! Everything that the source knows, and what a message does to it. Pure: no clock, no I/O; requests and snapshots are handed out.

use std::net::IpAddr;
use std::sync::Arc;

use imbl::OrdMap;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use k8s_openapi::api::networking::v1::IngressClass;
use model::{BuildOptions, EndpointSlice, Ingress, ObjectKey, ObjectRef, Problem, ProblemKind, Service, Snapshot, references};

use crate::feed::{Feed, Scope, feeds};
use crate::fetch::{FetchAnswer, Request};
use crate::kinds::{Key, Kind, Watched};
use crate::message::{Input, Message};
use crate::source::{FeedStatus, SourceStatus};
use crate::store::{Changes, Store};

mod held;
mod progress;
mod statuses;
mod withheld;

use held::Held;
use progress::{Progress, listed};
use statuses::StatusStore;
use withheld::{Named, Refers, Withheld};

pub use statuses::Statuses;

/// A change of the feeds, by their numbers.
#[derive(Debug)]
pub(crate) enum FeedChange {
    /// A further one.
    Start(usize, Feed),
    /// Its object is not named any more.
    End(usize),
}

/// All stores.
#[derive(Debug)]
pub(crate) struct ClusterState {
    feeds: Vec<Progress>,
    feed_changes: Vec<FeedChange>,
    ingresses: Store<Ingress>,
    withheld_ingresses: Withheld<Ingress>,
    classes: Store<IngressClass>,
    services: Store<Service>,
    withheld_services: Withheld<Service>,
    slices: Store<EndpointSlice>,
    secrets: Held<Secret>,
    config_maps: Held<ConfigMap>,
    /// The ConfigMap with the settings.
    main: Option<ObjectKey>,
    namespaces: Store<Namespace>,
    addresses: OrdMap<Arc<str>, Arc<[IpAddr]>>,
    statuses: StatusStore,
    requests: Vec<Request>,
    problems: Arc<Vec<Problem>>,
    /// Something differs from the last snapshot handed out.
    changed: bool,
    broken_changed: bool,
    ready: bool,
}

impl ClusterState {
    pub(crate) fn new(settings: &BuildOptions, now: Timestamp) -> Self {
        let feeds = feeds(settings).into_iter().map(|feed| Progress::new(feed, now));
        Self {
            feeds: feeds.collect(),
            feed_changes: Vec::new(),
            ingresses: Store::default(),
            withheld_ingresses: Withheld::default(),
            classes: Store::default(),
            services: Store::default(),
            withheld_services: Withheld::default(),
            slices: Store::default(),
            secrets: Held::new(references::secrets_of_settings(settings)),
            config_maps: Held::new(references::config_maps_of_settings(settings)),
            main: settings.configmap.clone(),
            namespaces: Store::default(),
            addresses: OrdMap::new(),
            statuses: StatusStore::default(),
            requests: Vec::new(),
            problems: Arc::default(),
            changed: true,
            broken_changed: false,
            ready: false,
        }
    }

    /// The feeds, in the order of the numbers that their messages carry.
    pub(crate) fn feeds(&self) -> impl Iterator<Item = &Feed> {
        self.feeds.iter().map(|progress| &progress.feed)
    }

    /// Takes one step of a feed.
    pub(crate) fn handle(&mut self, message: Message, now: Timestamp) {
        match message {
            Message::Ingress(feed, input) => self.ingress(feed, input, now),
            Message::IngressClass(feed, input) => {
                let progress = &mut self.feeds[feed];
                progress.note(&input, now);
                // The first list makes the difference between "can't be listed" and "there are none".
                self.changed |= matches!(input, Input::End);
                let changes = plain(&mut self.classes, progress, feed, input);
                self.note(changes);
            }
            Message::Service(feed, input) => {
                let progress = &mut self.feeds[feed];
                progress.note(&input, now);
                let changes = plain(&mut self.services, progress, feed, input);
                self.follow(&changes, |state| &mut state.withheld_services);
                self.note(changes);
            }
            Message::EndpointSlice(feed, input) => {
                let progress = &mut self.feeds[feed];
                progress.note(&input, now);
                let changes = plain(&mut self.slices, progress, feed, input);
                self.note(changes);
            }
            Message::Namespace(feed, input) => {
                let progress = &mut self.feeds[feed];
                progress.note(&input, now);
                let changes = plain(&mut self.namespaces, progress, feed, input);
                self.note(changes);
            }
            Message::Secret(feed, input) => {
                let progress = &mut self.feeds[feed];
                progress.note(&input, now);
                let changes = self.secrets.input(feed, input, &progress.feed.scope);
                self.note(changes);
            }
            Message::ConfigMap(feed, input) => {
                let progress = &mut self.feeds[feed];
                progress.note(&input, now);
                let changes = self.config_maps.input(feed, input, &progress.feed.scope);
                self.refer_of_main(&changes, now);
                self.note(changes);
            }
        }
    }

    /// `true` if the answer to a request is still of interest.
    pub(crate) fn awaits(&self, request: &Request) -> bool {
        match request {
            Request::Secret(ticket) => self.secrets.awaits(ticket),
            Request::ConfigMap(ticket) => self.config_maps.awaits(ticket),
        }
    }

    /// The feeds to start and to end since the last call.
    pub(crate) fn take_feed_changes(&mut self) -> Vec<FeedChange> {
        std::mem::take(&mut self.feed_changes)
    }

    /// Takes the result of a request.
    pub(crate) fn answer(&mut self, answer: FetchAnswer, now: Timestamp) {
        // An object may have waited for it, also for the answer that there is none.
        self.changed |= self.is_withholding();
        match answer {
            FetchAnswer::Secret(ticket, outcome) => {
                let changes = self.secrets.answer(&ticket, outcome);
                self.note(changes);
            }
            FetchAnswer::ConfigMap(ticket, outcome) => {
                let changes = self.config_maps.answer(&ticket, outcome);
                self.refer_of_main(&changes, now);
                self.note(changes);
            }
        }
    }

    /// Takes the resolved addresses of ExternalName Services.
    pub(crate) fn set_addresses(&mut self, addresses: OrdMap<Arc<str>, Arc<[IpAddr]>>) {
        if self.addresses != addresses {
            self.addresses = addresses;
            self.changed = true;
        }
    }

    /// The objects to fetch since the last call.
    pub(crate) fn take_requests(&mut self) -> Vec<Request> {
        std::mem::take(&mut self.requests)
    }

    /// `true` if a fetch is under way that a snapshot waits for.
    pub(crate) fn is_fetching(&self) -> bool {
        self.secrets.is_waiting() || self.config_maps.is_waiting() || self.feeds.iter().any(|progress| progress.is_awaited)
    }

    /// Snapshots wait no longer for what is being fetched now.
    pub(crate) fn wait_no_longer(&mut self) {
        self.secrets.wait_no_longer();
        self.config_maps.wait_no_longer();
        self.feeds.iter_mut().for_each(|progress| progress.is_awaited = false);
    }

    /// `true` if the version of an object waits for what is being fetched.
    pub(crate) fn is_withholding(&self) -> bool {
        self.withheld_ingresses.any() || self.withheld_services.any()
    }

    /// Objects wait no longer for what is being fetched now.
    pub(crate) fn withhold_no_longer(&mut self) {
        self.secrets.withhold_no_longer();
        self.config_maps.withhold_no_longer();
        self.changed = true;
    }

    /// `true` if every Ingress list is complete, so that it is known which Secrets and ConfigMaps to keep.
    pub(crate) fn knows_references(&self) -> bool {
        self.feeds.iter().filter(|progress| progress.feed.kind == Kind::Ingress).all(|progress| progress.initialised)
    }

    /// `true` if something changed that [`ClusterState::take_snapshot`] would hand out.
    pub(crate) fn has_snapshot(&mut self) -> bool {
        self.ready |= self.feeds.iter().all(Progress::is_ready) && !self.is_fetching();
        self.ready && self.changed
    }

    /// The new snapshot: `None` while a store has never been complete, and when nothing changed since the last one.
    pub(crate) fn take_snapshot(&mut self) -> Option<Arc<Snapshot>> {
        if !self.has_snapshot() {
            return None;
        }
        self.changed = false;
        let (ingresses, former) =
            self.withheld_ingresses.next(self.ingresses.objects(), |named| awaits(named, &self.secrets, &self.config_maps));
        let (services, former_of_services) =
            self.withheld_services.next(self.services.objects(), |named| awaits(named, &self.secrets, &self.config_maps));
        for named in former.into_iter().chain(former_of_services) {
            self.refer(named, Named::default());
        }
        if std::mem::take(&mut self.broken_changed) {
            self.problems = Arc::new(self.find_problems());
        }
        let classes_known = self.feeds.iter().any(|progress| progress.feed.kind == Kind::IngressClass && progress.initialised);
        Some(Arc::new(Snapshot {
            ingresses,
            ingress_classes: classes_known.then(|| self.classes.objects().clone()),
            services,
            endpoint_slices: self.slices.objects().clone(),
            secrets: self.secrets.store().objects().clone(),
            config_maps: self.config_maps.store().objects().clone(),
            namespaces: self.namespaces.objects().clone(),
            addresses: self.addresses.clone(),
            databases: Arc::default(),
            problems: self.problems.clone(),
            ..Snapshot::default()
        }))
    }

    /// The addresses in the status of every Ingress, when they changed since the last call.
    pub(crate) fn take_statuses(&mut self) -> Option<Statuses> {
        self.statuses.take()
    }

    /// The progress of everything.
    pub(crate) fn status(&self) -> SourceStatus {
        let feeds = self.feeds.iter().filter(|progress| !progress.has_ended).map(|progress| FeedStatus {
            kind: progress.feed.kind,
            scope: progress.feed.scope.describe(),
            initialised: progress.initialised,
            forbidden: progress.forbidden,
            objects: self.count(progress.feed.kind),
            error: progress.error.clone(),
            since: progress.since,
        });
        SourceStatus { feeds: feeds.collect(), fetching: self.secrets.waiting() + self.config_maps.waiting(), ready: self.ready }
    }

    fn count(&self, kind: Kind) -> usize {
        match kind {
            Kind::Ingress => self.ingresses.objects().len(),
            Kind::IngressClass => self.classes.objects().len(),
            Kind::Service => self.services.objects().len(),
            Kind::EndpointSlice => self.slices.objects().len(),
            Kind::Secret => self.secrets.store().objects().len(),
            Kind::ConfigMap => self.config_maps.store().objects().len(),
            Kind::Namespace => self.namespaces.objects().len(),
        }
    }

    /// Follows what the ConfigMap with the settings names.
    fn refer_of_main(&mut self, changes: &Changes<ConfigMap>, now: Timestamp) {
        let main = self.main.clone();
        for change in changes.objects.iter().filter(|change| main.as_ref() == Some(&change.key)) {
            let refer = |of: fn(&ConfigMap) -> Vec<ObjectKey>| {
                let of = |object: Option<&ConfigMap>| object.map(of).unwrap_or_default();
                (of(change.old.as_deref()), of(change.new.as_deref()))
            };
            let mut tickets = Vec::new();
            let references = refer(references::config_maps_of_config);
            self.watch_named(Kind::ConfigMap, &references, now);
            let dropped = self.config_maps.refer(references, |key| listed(&self.feeds, Kind::ConfigMap, key), &mut tickets);
            self.broken_changed |= dropped.broken;
            self.requests.extend(tickets.drain(..).map(Request::ConfigMap));
            let references = refer(references::secrets_of_config);
            self.watch_named(Kind::Secret, &references, now);
            let dropped = self.secrets.refer(references, |key| listed(&self.feeds, Kind::Secret, key), &mut tickets);
            self.changed |= dropped.any();
            self.broken_changed |= dropped.broken;
            self.requests.extend(tickets.drain(..).map(Request::Secret));
        }
    }

    /// Has a feed for each object that the settings name and that no other feed covers: with `--watch-namespace` those of other namespaces.
    fn watch_named(&mut self, kind: Kind, (old, new): &(Vec<ObjectKey>, Vec<ObjectKey>), now: Timestamp) {
        for key in old.iter().filter(|key| !new.contains(key)) {
            if let Some(number) = self.feeds.iter().position(|progress| progress.is_later_for(kind, key)) {
                self.feeds[number].has_ended = true;
                self.feeds[number].is_awaited = false;
                self.feed_changes.push(FeedChange::End(number));
            }
        }
        for key in new {
            if !self.feeds.iter().any(|progress| progress.delivers(kind, key)) {
                let feed = Feed { kind, scope: Scope::Object(key.clone()) };
                self.feed_changes.push(FeedChange::Start(self.feeds.len(), feed.clone()));
                self.feeds.push(Progress::later(feed, now));
            }
        }
    }

    fn ingress(&mut self, feed: usize, input: Input<Ingress>, now: Timestamp) {
        self.feeds[feed].note(&input, now);
        self.statuses.input(&input);
        let changes = plain(&mut self.ingresses, &self.feeds[feed], feed, input);
        self.follow(&changes, |state| &mut state.withheld_ingresses);
        self.note(changes);
    }

    /// Changes references as their objects did.
    fn follow<T: Refers>(&mut self, changes: &Changes<T>, withheld: fn(&mut Self) -> &mut Withheld<T>) {
        for change in &changes.objects {
            let named = |object: Option<&T>| object.map_or_else(Named::default, |object| object.named(&change.key));
            let (old, new) = (named(change.old.as_deref()), named(change.new.as_deref()));
            // What is new first: the version before is used as long as that is fetched.
            self.refer(Named::default(), new.clone());
            let is_awaited = awaits(&new, &self.secrets, &self.config_maps);
            let kept = if is_awaited { withheld(self).keep(&change.key, old) } else { Err(old) };
            if let Err(old) = kept {
                self.refer(old, Named::default());
            }
        }
    }

    /// Changes the references of an object.
    fn refer(&mut self, old: Named, new: Named) {
        let mut tickets = Vec::new();
        let dropped = self.secrets.refer((old.secrets, new.secrets), |key| listed(&self.feeds, Kind::Secret, key), &mut tickets);
        self.broken_changed |= dropped.broken;
        self.requests.extend(tickets.drain(..).map(Request::Secret));
        let references = (old.config_maps, new.config_maps);
        let dropped = self.config_maps.refer(references, |key| listed(&self.feeds, Kind::ConfigMap, key), &mut tickets);
        self.broken_changed |= dropped.broken;
        self.requests.extend(tickets.drain(..).map(Request::ConfigMap));
    }

    fn note<K: Watched>(&mut self, changes: Changes<K>) {
        self.changed |= changes.any();
        self.broken_changed |= changes.broken;
    }

    fn find_problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        collect(&mut problems, &self.ingresses);
        collect(&mut problems, &self.classes);
        collect(&mut problems, &self.services);
        collect(&mut problems, &self.slices);
        collect(&mut problems, self.secrets.store());
        collect(&mut problems, self.config_maps.store());
        collect(&mut problems, &self.namespaces);
        problems.sort();
        problems
    }
}

/// `true` if a version that refers to these waits for one.
fn awaits(named: &Named, secrets: &Held<Secret>, config_maps: &Held<ConfigMap>) -> bool {
    named.secrets.iter().any(|key| secrets.withholds(key)) || named.config_maps.iter().any(|key| config_maps.withholds(key))
}

fn plain<K: Watched>(store: &mut Store<K>, progress: &Progress, feed: usize, input: Input<K>) -> Changes<K> {
    store.input(feed, input, |_| true, |key| key.is_in(&progress.feed.scope))
}

fn collect<K: Watched>(problems: &mut Vec<Problem>, store: &Store<K>) {
    problems.extend(store.broken().map(|(key, error)| {
        let held = store.objects().contains_key(key);
        let (namespace, name) = key.parts();
        Problem {
            object: ObjectRef { kind: K::KIND.name(), namespace: namespace.cloned(), name: name.clone() },
            field: String::new(),
            kind: ProblemKind::Unreadable,
            detail: match held {
                true => format!("does not decode: {error}; its last readable version is used"),
                false => format!("does not decode: {error}; it is left out"),
            },
        }
    }));
}

#[cfg(test)]
mod tests;
