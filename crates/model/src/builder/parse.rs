//! Which version of an Ingress is served: the present one, the last one that NGINX took, the last one that was accepted, or none.

use std::sync::Arc;

use super::Builder;
use super::state::State;
use crate::key::{ObjectKey, ObjectRef};
use crate::object::Ingress;
use crate::passes::ingress::Entry;
use crate::passes::{accept, ingress};
use crate::problem::{Problem, ProblemKind};

impl Builder {
    /// Reads an Ingress; without an entry it is not served.
    pub(super) fn parse(&mut self, key: &ObjectKey) -> (Option<Arc<Entry>>, Vec<Problem>) {
        let Some(object) = self.state.snapshot.ingresses.get(key).cloned() else { return (None, Vec::new()) };
        if !accept::namespace_matches(&key.namespace, &self.state.snapshot, &self.settings) {
            self.forget_kept(key, &object);
            return (None, Vec::new());
        }
        let classes = self.state.classes.as_ref();
        if !accept::class_matches(&object, classes, &self.settings) {
            let unclaimed = classes.and_then(|classes| classes.unclaimed(&object, &self.settings));
            self.forget_kept(key, &object);
            return (
                None,
                unclaimed.map(|(field, detail)| Problem { field, ..about(key, ProblemKind::Unclaimed, detail) }).into_iter().collect(),
            );
        }
        if self.settings.disable_catch_all && object.default_backend.is_some() {
            self.forget_kept(key, &object);
            let detail = "default backends are switched off by --disable-catch-all; the Ingress is not served".to_owned();
            return (None, vec![Problem { field: "spec.defaultBackend".to_owned(), ..about(key, ProblemKind::Refused, detail) }]);
        }
        if let Some(reason) = self.state.built.quarantined.get(key) {
            let last = self.good.get(key).cloned();
            let instead = if last.is_some() { "its last good version is served" } else { "it is not served" };
            let detail = format!("NGINX refuses what it asks for: {reason}; {instead} until it or the settings change");
            return (last, vec![about(key, ProblemKind::Quarantined, detail)]);
        }
        let (entry, mut problems) = self.read(key, &object);
        if entry.is_none()
            && let Some(kept) = self.kept.get(key)
            && let (Some(last), _) = self.read(key, kept)
        {
            let detail = "it is refused as it is now; its last accepted version goes on being served, until the controller starts anew";
            problems.push(about(key, ProblemKind::Refused, detail.to_owned()));
            return (Some(Arc::new(last)), problems);
        }
        self.forget_kept(key, &object);
        (entry.map(Arc::new), problems)
    }

    fn read(&self, key: &ObjectKey, object: &Ingress) -> (Option<Entry>, Vec<Problem>) {
        let State { config, snapshot, .. } = &self.state;
        ingress::parse(key, object, config, &self.settings, snapshot, &self.last)
    }

    fn forget_kept(&mut self, key: &ObjectKey, object: &Ingress) {
        if let Some(forgotten) = self.kept.forget(key) {
            self.state.refer(key, Some(&forgotten), Some(object));
        }
    }
}

fn about(key: &ObjectKey, kind: ProblemKind, detail: String) -> Problem {
    Problem { object: ObjectRef::ingress(key), field: String::new(), kind, detail }
}
