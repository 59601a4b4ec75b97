//! The known state of the cluster. Changed by the watches and by our own patches; says which workloads that touches.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use crate::decide::{Object, Objects};
use crate::kind::{ContentId, ContentKind, Kind, WorkloadId};
use crate::options::Options;
use crate::rules::Rules;
use crate::workload::Workload;

/// One list and watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Feed {
    Content(ContentKind),
    Workloads(Kind),
    Namespaces,
}

impl Feed {
    /// The kind's name.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Content(source) => source.name(),
            Self::Workloads(kind) => kind.name(),
            Self::Namespaces => "Namespace",
        }
    }

    /// Objects per page of a list. ConfigMaps and Secrets may be up to a megabyte each.
    pub(crate) fn page(self) -> u32 {
        if matches!(self, Self::Content(_)) { 100 } else { 500 }
    }
}

/// The namespace that a watch is about; `None`: all.
pub(crate) type Scope = Option<String>;

/// A change that a watch reports.
#[derive(Debug)]
pub(crate) enum StateChange {
    /// A ConfigMap or Secret is as given, or is gone.
    Content { namespace: String, id: ContentId, object: Option<Object>, complaints: Vec<String> },
    /// A workload is as given, or is gone, or is none that is ever rolled out.
    Workload { id: WorkloadId, workload: Option<Box<Workload>> },
    /// A namespace has the labels that are asked for, or not (any more).
    Namespace { name: String, selected: bool },
    /// A list is complete: what it did not hold is gone. Namespace and name.
    Listed { feed: Feed, scope: Scope, seen: BTreeSet<(String, String)> },
}

/// The effect of a change.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Effect {
    /// Workloads to look at.
    pub(crate) touched: Vec<WorkloadId>,
    /// Objects whose content changed. Not reported for the first list.
    pub(crate) changed: Vec<(String, ContentId, ContentEvent)>,
}

/// The event of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ContentEvent {
    Created,
    Updated,
    Deleted,
}

/// One namespace.
#[derive(Debug, Default)]
pub(crate) struct Space {
    pub(crate) objects: Objects,
    pub(crate) workloads: BTreeMap<(Kind, String), Workload>,
}

#[derive(Debug)]
pub(crate) struct KnownState {
    rules: Arc<Rules>,
    ignored: BTreeSet<String>,
    /// The namespaces with the labels that are asked for; `None`: all.
    selected: Option<BTreeSet<String>>,
    /// The only namespaces that are watched, each by watches of its own; empty: all.
    namespaces: BTreeSet<String>,
    /// Feeds whose first list must be complete before anything is decided, and is not.
    missing: BTreeSet<(Feed, Scope)>,
    spaces: HashMap<String, Space>,
}

impl KnownState {
    pub(crate) fn new(options: &Options) -> Self {
        let selects = options.selects().is_some();
        let mut missing = BTreeSet::new();
        for scope in scopes(&options.namespaces) {
            missing.extend(options.rules.sources.iter().map(|source| (Feed::Content(*source), scope.clone())));
        }
        missing.extend(selects.then_some((Feed::Namespaces, None)));
        Self {
            rules: Arc::new(options.rules.clone()),
            ignored: options.ignored_namespaces.clone(),
            selected: selects.then(BTreeSet::new),
            namespaces: options.namespaces.clone(),
            missing,
            spaces: HashMap::new(),
        }
    }

    /// `true` if enough is known to decide.
    pub(crate) fn is_complete(&self) -> bool {
        self.missing.is_empty()
    }

    /// A workload and the objects of its namespace, unless that namespace is none of ours.
    pub(crate) fn get(&self, id: &WorkloadId) -> Option<(&Workload, &Objects)> {
        let space = self.spaces.get(&id.namespace).filter(|_| self.covers(&id.namespace))?;
        Some((space.workloads.get(&(id.kind, id.name.clone()))?, &space.objects))
    }

    /// All workloads of our namespaces.
    pub(crate) fn workloads(&self) -> impl Iterator<Item = &Workload> {
        self.spaces.iter().filter(|(namespace, _)| self.covers(namespace)).flat_map(|(_, space)| space.workloads.values())
    }

    pub(crate) fn covers(&self, namespace: &str) -> bool {
        !self.ignored.contains(namespace) && self.selected.as_ref().is_none_or(|selected| selected.contains(namespace))
    }

    pub(crate) fn take(&mut self, change: StateChange) -> Effect {
        match change {
            StateChange::Content { namespace, id, object, .. } => self.content(namespace, id, object),
            StateChange::Workload { id, workload } => self.workload(id, workload),
            StateChange::Namespace { name, selected } => self.namespace(name, selected),
            StateChange::Listed { feed, scope, seen } => self.listed(feed, scope, &seen),
        }
    }

    fn content(&mut self, namespace: String, id: ContentId, object: Option<Object>) -> Effect {
        let scope = Some(namespace.clone()).filter(|namespace| self.namespaces.contains(namespace));
        let complete = !self.missing.contains(&(Feed::Content(id.source), scope));
        let covered = self.covers(&namespace);
        let space = self.spaces.entry(namespace.clone()).or_default();
        let old = space.objects.get(&id);
        let event = match (old, &object) {
            (None, Some(_)) => Some(ContentEvent::Created),
            (Some(old), Some(new)) if old.digest != new.digest => Some(ContentEvent::Updated),
            (Some(_), None) => Some(ContentEvent::Deleted),
            _ => None,
        };
        let born = complete && event == Some(ContentEvent::Created);
        let object = object.map(|new| Object { born: born || old.is_some_and(|old| old.born && old.uid == new.uid), ..new });
        if old == object.as_ref() {
            return Effect::default();
        }
        let ignored = object.as_ref().or(old).is_some_and(|object| object.ignored);
        match object {
            Some(object) => drop(space.objects.insert(id.clone(), object)),
            None => drop(space.objects.remove(&id)),
        }
        let touched = space.workloads.values().filter(|workload| workload.concerns(&id)).map(|workload| workload.id.clone()).collect();
        let changed = event.filter(|_| complete && covered && !ignored).map(|event| (namespace, id, event));
        Effect { touched, changed: changed.into_iter().collect() }
    }

    fn workload(&mut self, id: WorkloadId, workload: Option<Box<Workload>>) -> Effect {
        let space = self.spaces.entry(id.namespace.clone()).or_default();
        let key = (id.kind, id.name.clone());
        let Some(new) = workload else {
            space.workloads.remove(&key);
            return Effect::default();
        };
        if let Some(old) = space.workloads.get(&key) {
            if is_older(&new, old) {
                return Effect::default();
            }
            // Its status moves all the time.
            if *new == (Workload { resource_version: new.resource_version.clone(), ..old.clone() }) {
                space.workloads.insert(key, *new);
                return Effect::default();
            }
        }
        space.workloads.insert(key, *new);
        Effect { touched: vec![id], changed: Vec::new() }
    }

    fn namespace(&mut self, name: String, selected: bool) -> Effect {
        let Some(known) = &mut self.selected else { return Effect::default() };
        let is_new = selected && known.insert(name.clone());
        if !selected {
            known.remove(&name);
        }
        let workloads = self.spaces.get(&name).filter(|_| is_new).map(|space| space.workloads.values());
        Effect { touched: workloads.into_iter().flatten().map(|workload| workload.id.clone()).collect(), changed: Vec::new() }
    }

    fn listed(&mut self, feed: Feed, scope: Scope, seen: &BTreeSet<(String, String)>) -> Effect {
        let mut effect = Effect::default();
        let is_gone = |namespace: &str, name: &str| !seen.contains(&(namespace.to_owned(), name.to_owned()));
        let mut gone = Vec::new();
        for (namespace, space) in self.spaces.iter().filter(|(namespace, _)| scope.as_ref().is_none_or(|scope| scope == *namespace)) {
            match feed {
                Feed::Content(source) => {
                    let ids = space.objects.keys().filter(|id| id.source == source && is_gone(namespace, &id.name));
                    gone.extend(ids.map(|id| StateChange::Content {
                        namespace: namespace.clone(),
                        id: id.clone(),
                        object: None,
                        complaints: Vec::new(),
                    }));
                }
                Feed::Workloads(kind) => {
                    let workloads =
                        space.workloads.values().filter(|workload| workload.id.kind == kind && is_gone(namespace, &workload.id.name));
                    gone.extend(workloads.map(|workload| StateChange::Workload { id: workload.id.clone(), workload: None }));
                }
                Feed::Namespaces => {}
            }
        }
        if feed == Feed::Namespaces {
            let names = self.selected.iter().flatten().filter(|name| is_gone("", name));
            gone.extend(names.map(|name| StateChange::Namespace { name: name.clone(), selected: false }));
        }
        for change in gone {
            let more = self.take(change);
            effect.touched.extend(more.touched);
            effect.changed.extend(more.changed);
        }
        if self.missing.remove(&(feed, scope)) && self.missing.is_empty() {
            effect.touched = self.workloads().map(|workload| workload.id.clone()).collect();
        }
        effect
    }

    /// The rules that it was made with.
    pub(crate) fn rules(&self) -> &Rules {
        &self.rules
    }
}

/// The scopes that are watched: everything, or one namespace after the other.
pub(crate) fn scopes(namespaces: &BTreeSet<String>) -> Vec<Scope> {
    match namespaces.is_empty() {
        true => vec![None],
        false => namespaces.iter().cloned().map(Some).collect(),
    }
}

/// `true` if a version is one from before: events may arrive after the answer to our own patch, which is newer.
fn is_older(one: &Workload, other: &Workload) -> bool {
    let number = |workload: &Workload| workload.resource_version.parse::<u64>().ok();
    one.uid == other.uid && number(one).zip(number(other)).is_some_and(|(one, other)| one < other)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::content::Digest;
    use crate::workload::tests::workload;

    fn set(names: &[&str]) -> BTreeSet<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    fn state(ignored: &[&str], selects: bool) -> KnownState {
        let namespace_selector = selects.then(|| "a=b".to_owned());
        KnownState::new(&Options { ignored_namespaces: set(ignored), namespace_selector, ..Options::default() })
    }

    fn map(name: &str) -> ContentId {
        ContentId::new(ContentKind::ConfigMap, name)
    }

    fn content(name: &str, digest: &str) -> StateChange {
        let object = Object {
            digest: Digest::stored(digest),
            theirs: Box::default(),
            uid: "1".into(),
            ignored: false,
            found: false,
            check: None,
            born: false,
        };
        StateChange::Content { namespace: "default".into(), id: map(name), object: Some(object), complaints: Vec::new() }
    }

    fn listed(feed: Feed, names: &[(&str, &str)]) -> StateChange {
        StateChange::Listed {
            feed,
            scope: None,
            seen: names.iter().map(|(namespace, name)| ((*namespace).to_owned(), (*name).to_owned())).collect(),
        }
    }

    fn reader(version: &str) -> Workload {
        let container = json!([{"name": "app", "envFrom": [{"configMapRef": {"name": "a"}}]}]);
        workload(
            Kind::Deployment,
            json!({"metadata": {"resourceVersion": version}, "spec": {"template": {"spec": {"containers": container}}}}),
        )
    }

    fn change(workload: Workload) -> StateChange {
        StateChange::Workload { id: workload.id.clone(), workload: Some(Box::new(workload)) }
    }

    fn complete(state: &mut KnownState) {
        for source in ContentKind::ALL {
            state.take(listed(Feed::Content(source), &[("default", "a")]));
        }
    }

    #[test]
    fn the_complete_first_list_touches_everything() {
        let mut state = state(&[], false);
        let id = reader("1").id;
        state.take(change(reader("1")));
        state.take(content("a", "1"));
        assert_eq!(state.take(listed(Feed::Content(ContentKind::ConfigMap), &[("default", "a")])).touched, []);
        assert!(!state.is_complete());
        assert_eq!(state.take(listed(Feed::Content(ContentKind::Secret), &[])).touched, [id]);
        assert!(state.is_complete());
    }

    #[test]
    fn only_other_content_of_what_is_used_touches_a_workload() {
        let mut state = state(&[], false);
        state.take(change(reader("1")));
        state.take(content("a", "1"));
        complete(&mut state);
        assert_eq!(state.take(content("a", "1")), Effect::default());
        let effect = state.take(content("a", "2"));
        assert_eq!((effect.touched, effect.changed), (vec![reader("1").id], vec![("default".into(), map("a"), ContentEvent::Updated)]));
        let effect = state.take(content("b", "2"));
        assert_eq!((effect.touched.len(), effect.changed.len()), (0, 1));
        assert!(state.spaces["default"].objects[&map("b")].born && !state.spaces["default"].objects[&map("a")].born);
        let effect = state.take(listed(Feed::Content(ContentKind::ConfigMap), &[("default", "b")]));
        assert_eq!((effect.touched.len(), effect.changed), (1, vec![("default".into(), map("a"), ContentEvent::Deleted)]));
    }

    #[test]
    fn a_status_touches_nothing_and_an_older_version_is_dropped() {
        let mut state = state(&[], false);
        assert_eq!(state.take(change(reader("9"))).touched.len(), 1);
        assert_eq!(state.take(change(reader("10"))).touched.len(), 0);
        state.take(change(reader("9")));
        complete(&mut state);
        assert_eq!(state.get(&reader("9").id).unwrap().0.resource_version, "10");
    }

    #[test]
    fn each_of_several_namespaces_has_lists_of_its_own() {
        let mut state = KnownState::new(&Options { namespaces: set(&["default", "other"]), ..Options::default() });
        let list = |source, scope: &str, names: &[&str]| StateChange::Listed {
            feed: Feed::Content(source),
            scope: Some(scope.to_owned()),
            seen: names.iter().map(|name| (scope.to_owned(), (*name).to_owned())).collect(),
        };
        state.take(content("a", "1"));
        for source in ContentKind::ALL {
            state.take(list(source, "default", &["a"]));
            assert!(!state.is_complete());
        }
        assert_eq!(state.take(content("a", "2")).changed.len(), 1, "the list of this namespace is complete");
        for source in ContentKind::ALL {
            assert_eq!(state.take(list(source, "other", &[])).changed, [], "a list says nothing of other namespaces");
        }
        assert!(state.is_complete());
        assert_eq!(state.take(list(ContentKind::ConfigMap, "default", &[])).changed.len(), 1);
    }

    #[test]
    fn namespaces_are_left_out_by_name_or_by_label() {
        let mut ignoring = state(&["default"], false);
        ignoring.take(change(reader("1")));
        assert!(ignoring.get(&reader("1").id).is_none() && ignoring.workloads().next().is_none());
        let mut selecting = state(&[], true);
        selecting.take(change(reader("1")));
        assert!(selecting.get(&reader("1").id).is_none());
        let name = || "default".to_owned();
        assert_eq!(selecting.take(StateChange::Namespace { name: name(), selected: true }).touched.len(), 1);
        assert!(selecting.get(&reader("1").id).is_some());
        selecting.take(StateChange::Namespace { name: name(), selected: false });
        assert!(selecting.get(&reader("1").id).is_none());
    }
}
