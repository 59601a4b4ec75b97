//! Which version of an Ingress is served: the present one, the last one that NGINX took, the last one that was accepted, or none.
//!
//! The part of the builder that knows Ingresses. All others have the rules that are made here.

use std::sync::Arc;

use settings::Guards;

use super::Builder;
use super::state::BuilderState;
use crate::ingress::{self, World, accept};
use crate::key::{ObjectKey, ObjectRef};
use crate::object::Ingress;
use crate::problem::{Problem, ProblemKind};
use crate::rule::{Origin, Policy, Resolved, RuleSet};

impl Builder {
    /// Makes the rules of an Ingress; without any it is not served. `accepted`: Ingresses whose present version is.
    pub(super) fn parse(&mut self, key: &ObjectKey, accepted: &mut Vec<ObjectKey>) -> (Option<Arc<RuleSet>>, Vec<Problem>) {
        let Some(object) = self.state.snapshot.ingresses.get(key).cloned() else { return (None, Vec::new()) };
        if !accept::namespace_matches(&key.namespace, &self.state.snapshot, &self.options) {
            self.forget_last_accepted(key);
            return (None, Vec::new());
        }
        let classes = self.state.classes.as_ref();
        if !accept::class_matches(&object, classes, &self.options) {
            let unclaimed = classes.and_then(|classes| classes.unclaimed(&object, &self.options));
            self.forget_last_accepted(key);
            return (
                None,
                unclaimed.map(|(field, detail)| Problem { field, ..about(key, ProblemKind::Unclaimed, detail) }).into_iter().collect(),
            );
        }
        if self.options.disable_catch_all && object.default_backend.is_some() {
            self.forget_last_accepted(key);
            let detail = "default backends are switched off by --disable-catch-all; the Ingress is not served".to_owned();
            return (None, vec![Problem { field: "spec.defaultBackend".to_owned(), ..about(key, ProblemKind::Refused, detail) }]);
        }
        if let Some(reason) = self.state.built.quarantined.get(key) {
            let detail = format!("NGINX refuses what it asks for: {reason}");
            let last = self.last_confirmed.get(key).cloned();
            return self.quarantined(key, &object, &detail, last);
        }
        let (rules, mut problems) = self.read(key, &object);
        let too_large = rules.as_ref().and_then(|rules| rules.claim.too_large());
        let rules = rules.filter(|_| too_large.is_none());
        problems.extend(too_large.map(|detail| about(key, ProblemKind::NoRoom, format!("{detail}; it is refused"))));
        if rules.is_none() {
            let (instead, problem) = self.instead(key, &object);
            problems.extend(problem);
            return (instead.map(Arc::new), problems);
        }
        accepted.push(key.clone());
        (rules.map(Arc::new), problems)
    }

    /// What is served of an Ingress that NGINX refuses: its last good version if the same clients may pass, else 503 where it protects.
    fn quarantined(
        &self,
        key: &ObjectKey,
        object: &Ingress,
        refusal: &str,
        last: Option<Arc<RuleSet>>,
    ) -> (Option<Arc<RuleSet>>, Vec<Problem>) {
        let (present, _) = self.read(key, object);
        let last = last.and_then(|last| match present {
            _ if !self.protects(object) => Some(last),
            Some(present) if last.guards == present.guards => with_users_of(&last, &present.policy).map(Arc::new),
            _ => None,
        });
        let closed = || ingress::close(key, object, &self.world()).map(Arc::new);
        let (rules, instead) = match last {
            Some(last) => (Some(last), "its last good version is served"),
            None => closed().map_or((None, "it is not served"), |closed| (Some(closed), "as it protects its paths, they answer 503")),
        };
        (rules, vec![about(key, ProblemKind::Quarantined, format!("{refusal}; {instead} until it or the settings change"))])
    }

    /// What is served of an Ingress that is refused, and what to say of that. Its last accepted version never stands for what it protects now:
    /// that version is served with the protection of this one, or the paths answer 503.
    fn instead(&mut self, key: &ObjectKey, object: &Arc<Ingress>) -> (Option<RuleSet>, Option<Problem>) {
        if let Some(rules) = self.version_before(key) {
            let detail = "it is refused as it is now; its last accepted version stays active until the controller restarts";
            return (Some(rules), Some(about(key, ProblemKind::Refused, detail.to_owned())));
        }
        self.forget_last_accepted(key);
        let closed = ingress::close(key, object, &self.world());
        let problem = closed.is_some().then(|| {
            let detail = "it is refused, and its annotations protect its paths; they answer 503 until it is accepted";
            about(key, ProblemKind::AnnotationParsingFailed, detail.to_owned())
        });
        (closed, problem)
    }

    /// The rules of the last accepted version of an Ingress, with the protection of the present one. `None`: there is none that can be used so.
    pub(super) fn version_before(&mut self, key: &ObjectKey) -> Option<RuleSet> {
        let object = self.state.snapshot.ingresses.get(key).cloned()?;
        let protects = self.protects(&object);
        let serves_the_same = |last: &Arc<Ingress>| last.rules == object.rules && last.default_backend == object.default_backend;
        let last = self.last_accepted.get(key).cloned().filter(|last| !protects || serves_the_same(last))?;
        let version = if protects { self.guarded(&last, &object) } else { last.clone() };
        let (Some(rules), _) = self.read(key, &version) else { return None };
        self.state.refer(key, Some(&last), Some(&version));
        self.state.refer(key, None, Some(&object));
        self.last_accepted.insert(key.clone(), version);
        Some(rules)
    }

    /// A version of an Ingress with the annotations of another one that control access.
    fn guarded(&self, last: &Ingress, present: &Ingress) -> Arc<Ingress> {
        let prefix = &self.options.annotations_prefix;
        let annotations = Guards::of(&present.annotations, prefix).put_into(&last.annotations, prefix);
        Arc::new(Ingress { annotations, ..last.clone() })
    }

    fn protects(&self, object: &Ingress) -> bool {
        Guards::of(&object.annotations, &self.options.annotations_prefix).protect()
    }

    fn world(&self) -> World<'_> {
        let BuilderState { config, snapshot, .. } = &self.state;
        World { config, options: &self.options, snapshot, last_readable: &self.last_readable }
    }

    pub(super) fn read(&self, key: &ObjectKey, object: &Ingress) -> (Option<RuleSet>, Vec<Problem>) {
        ingress::parse(key, object, &self.world())
    }

    pub(super) fn forget_last_accepted(&mut self, key: &ObjectKey) {
        if let Some(forgotten) = self.last_accepted.remove(key) {
            let present = self.state.snapshot.ingresses.get(key).cloned();
            self.state.refer(key, Some(&forgotten), present.as_deref());
        }
    }

    /// What an Ingress that is not served claims of hosts.
    pub(super) fn claimed_unserved(&self, key: &ObjectKey) -> Vec<(Arc<str>, Origin)> {
        let ingress = self.state.snapshot.ingresses.get(key).filter(|ingress| self.would_claim(key, ingress));
        let claimed = |ingress: &Arc<Ingress>| {
            let origin = ingress::origin(key, ingress);
            ingress::claimed_hosts(ingress).into_iter().map(|host| (host, origin.clone())).collect()
        };
        ingress.map(claimed).unwrap_or_default()
    }

    fn would_claim(&self, key: &ObjectKey, ingress: &Ingress) -> bool {
        let canary = format!("{}/canary", self.options.annotations_prefix);
        accept::namespace_matches(&key.namespace, &self.state.snapshot, &self.options)
            && accept::class_matches(ingress, self.state.classes.as_ref(), &self.options)
            && ingress.annotations.get(&canary).is_none_or(|value| value != "true")
    }
}

/// The rules of an earlier version with the users of the present one. `None`: they trust other clients.
fn with_users_of(last: &RuleSet, present: &Policy) -> Option<RuleSet> {
    let Policy { spec, resolved, denied } = &*last.policy;
    let resolved = Resolved { users: present.resolved.users.clone(), ..resolved.clone() };
    let policy = Policy { spec: spec.clone(), denied: *denied || present.denied, resolved };
    (last.policy.resolved.client_trust == present.resolved.client_trust).then(|| last.with_policy(policy))
}

fn about(key: &ObjectKey, kind: ProblemKind, detail: String) -> Problem {
    Problem { object: ObjectRef::ingress(key), field: String::new(), kind, detail }
}
