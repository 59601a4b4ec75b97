//! The review of an object before it is stored: what a build would come to with it, and nothing is kept of that.
//!
//! The object is merged into a clone of the builder, which shares everything with the original, so a review costs what the object touches.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use settings::Config;

use super::Builder;
use super::built::Subject;
use super::state::BuilderState;
use crate::ingress::accept;
use crate::key::{ObjectKey, ObjectRef};
use crate::object::Ingress;
use crate::options::BuildOptions;
use crate::problem::{Problem, ProblemKind};
use crate::rule::{Position, RuleSet};
use crate::shares::Resource;

const DEFAULT_PREFIX: &str = "nginx.ingress.kubernetes.io";

/// The result of a review.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Review {
    /// Findings that keep the object out. Empty: it is accepted.
    pub refusals: Vec<Problem>,
    /// Findings that do not.
    pub remarks: Vec<Problem>,
    /// Bytes of NGINX's memory that an Ingress asks for.
    pub bytes: u64,
}

impl Builder {
    /// Reviews a version of an Ingress. `None`: it is not ours, by its namespace or its class.
    ///
    /// It is refused where the controller would not take it, and for some rules that count only before an object is stored: paths that another
    /// Ingress has, snippets that would be left out, characters of paths (`strict-validate-path-type`), and annotations with the default prefix
    /// where another one is set.
    pub fn review(&self, key: &ObjectKey, object: Ingress) -> Option<Review> {
        let BuilderState { snapshot, classes, .. } = &self.state;
        if !accept::namespace_matches(&key.namespace, snapshot, &self.options)
            || !accept::class_matches(&object, classes.as_ref(), &self.options)
        {
            return None;
        }
        let mut review = Review::default();
        let config = &self.state.config;
        if self.options.disable_catch_all && object.default_backend.is_some() {
            let detail = "default backends are switched off by --disable-catch-all".to_owned();
            review.refusals.push(problem(key, "spec.defaultBackend", ProblemKind::Refused, detail));
        }
        let odd_paths = odd_paths(key, &object);
        if config.strict_validate_path_type { &mut review.refusals } else { &mut review.remarks }.extend(odd_paths);
        review.refusals.extend(unusable_annotations(key, &object, config, &self.options));

        let object = Arc::new(Ingress { created_seconds: self.age_of(key, &object), ..object });
        let mut next = self.clone();
        next.release(key);
        let mut with = snapshot.clone();
        with.ingresses.insert(key.clone(), object.clone());
        next.build(&with);
        let (rules, found) = next.read(key, &object);
        let rules = rules.filter(|rules| rules.claim.too_large().is_none());
        if let Some(rules) = &rules {
            review.bytes = rules.claim.own.of(Resource::State);
            review.refusals.extend(next.overlaps(key, &object, rules));
            let strangers = rules.hosts().into_iter().flat_map(|host| next.strangers(&host));
            review.refusals.extend(strangers.filter(|stranger| is_about(stranger, key)));
        } else {
            let reasons = found.into_iter().filter(|found| !matches!(found.kind, ProblemKind::Surprise | ProblemKind::UnknownAnnotation));
            let before = review.refusals.len();
            review.refusals.extend(reasons);
            if review.refusals.len() == before {
                review.refusals.extend(next.problems_of(key, None));
            }
        }
        review.remarks.extend(next.problems_of(key, rules.as_ref()));
        let known: BTreeSet<Problem> = review.refusals.iter().cloned().collect();
        review.remarks.retain(|remark| !known.contains(remark));
        Some(review)
    }

    /// Reviews a version of a ConfigMap: findings about the settings. `None`: it is not the one with the settings. None of them keeps it out, as
    /// each key has a fallback.
    pub fn review_settings(&self, key: &ObjectKey, map: ConfigMap) -> Option<Review> {
        if self.options.configmap.as_ref() != Some(key) {
            return None;
        }
        let mut snapshot = self.state.snapshot.clone();
        snapshot.config_maps.insert(key.clone(), Arc::new(map));
        let mut remarks = Vec::new();
        self.clone().read_config(&snapshot, &mut remarks);
        Some(Review { remarks, ..Review::default() })
    }

    /// The Ingresses that the last build served.
    pub fn served(&self) -> usize {
        self.state.built.rules.len()
    }

    /// The age that counts: an Ingress that is new comes after all others.
    fn age_of(&self, key: &ObjectKey, object: &Ingress) -> i64 {
        match (object.created_seconds, self.state.snapshot.ingresses.get(key)) {
            (_, Some(stored)) => stored.created_seconds,
            (0, None) => i64::MAX,
            (seconds, None) => seconds,
        }
    }

    /// The paths of an Ingress that another one has on the same host. As in ingress-nginx, the type of the path does not count, and a canary
    /// may share the path of an Ingress that is none.
    fn overlaps(&self, key: &ObjectKey, object: &Ingress, rules: &RuleSet) -> Vec<Problem> {
        let annotation = format!("{}/canary", self.options.annotations_prefix);
        let names_canary = |object: &Ingress| object.annotations.contains_key(&annotation);
        let mut found = Vec::new();
        for host in rules.hosts() {
            let others = self.state.hosts.values(&host).filter(|origin| origin.key() != key);
            let others = others.filter_map(|origin| self.state.built.rules.get(origin.key()));
            // Where hosts are owned, rules of other namespaces have no effect.
            let owner = self.owner(&host).map(|owner| owner.key().namespace.clone());
            let others = others.filter(|other| owner.as_ref().is_none_or(|owner| *owner == other.key().namespace));
            let mut taken: BTreeMap<&str, &RuleSet> = BTreeMap::new();
            for other in others {
                let Some(stored) = self.state.snapshot.ingresses.get(other.key()) else { continue };
                let neither = !names_canary(object) && !names_canary(stored);
                if neither || rules.adds && other.adds {
                    for rule in other.rules_of(&host) {
                        taken.entry(&rule.matches.path).or_insert(other);
                    }
                }
            }
            for rule in rules.rules_of(&host) {
                let path = &rule.matches.path;
                if let Some(other) = taken.get(&**path) {
                    let detail = format!(
                        "path {path:?} of host {host:?} is already defined by Ingress {}, expected a path that no other Ingress has on this host",
                        other.key()
                    );
                    let Position { rule, item } = rule.at;
                    let field = format!("spec.rules[{rule}].http.paths[{item}].path");
                    found.push(problem(key, &field, ProblemKind::Conflict, detail));
                }
            }
        }
        found
    }

    /// The findings of the last build about an Ingress, without duplicates.
    fn problems_of(&self, key: &ObjectKey, rules: Option<&RuleSet>) -> Vec<Problem> {
        let mut subjects = vec![Subject::Object(key.clone()), Subject::Share(key.clone())];
        if let Some(rules) = rules {
            subjects.extend(rules.hosts().into_iter().flat_map(|host| [Subject::Host(host.clone()), Subject::Name(host)]));
            subjects.extend(rules.backends().into_iter().map(Subject::Backend));
            subjects.extend(rules.secrets().into_iter().map(Subject::Secret));
        }
        let problems = subjects.iter().filter_map(|subject| self.state.built.problems.get(subject)).flat_map(|problems| problems.iter());
        let about: BTreeSet<Problem> = problems.filter(|problem| is_about(problem, key)).cloned().collect();
        about.into_iter().collect()
    }
}

fn is_about(problem: &Problem, ingress: &ObjectKey) -> bool {
    let ObjectRef { kind, namespace, name } = &problem.object;
    *kind == "Ingress" && namespace.as_ref() == Some(&ingress.namespace) && *name == ingress.name
}

fn problem(key: &ObjectKey, field: &str, kind: ProblemKind, detail: String) -> Problem {
    Problem { object: ObjectRef::ingress(key), field: field.to_owned(), kind, detail }
}

/// Paths of the types Exact and Prefix, or of none, with characters beside letters, digits and `. _ - /`.
fn odd_paths(key: &ObjectKey, object: &Ingress) -> Vec<Problem> {
    let is_plain = |path: &str| {
        path.is_empty() || path.starts_with('/') && path.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-/".contains(&byte))
    };
    let mut found = Vec::new();
    for (i, rule) in object.rules.iter().enumerate() {
        for (j, path) in rule.paths.iter().enumerate() {
            if &*path.path_type != "ImplementationSpecific" && !is_plain(&path.path) {
                let detail = format!(
                    "{:?} of type {:?}: expected / and then letters, digits and . _ - / only, or the type ImplementationSpecific \
                     (strict-validate-path-type)",
                    path.path, path.path_type
                );
                found.push(problem(key, &format!("spec.rules[{i}].http.paths[{j}].path"), ProblemKind::InvalidValue, detail));
            }
        }
    }
    found
}

/// Annotations that would be left out without a word.
fn unusable_annotations(key: &ObjectKey, object: &Ingress, config: &Config, options: &BuildOptions) -> Vec<Problem> {
    let mut found = Vec::new();
    for annotation in object.annotations.keys() {
        let Some((prefix, name)) = annotation.split_once('/') else { continue };
        let detail = if prefix == options.annotations_prefix {
            if !name.ends_with("-snippet") || config.allow_snippet_annotations {
                continue;
            }
            "snippets are switched off by the administrator (allow-snippet-annotations)".to_owned()
        } else if prefix == DEFAULT_PREFIX {
            format!("expected the prefix {:?} (--annotations-prefix)", options.annotations_prefix)
        } else {
            continue;
        };
        found.push(problem(key, &format!("metadata.annotations[{annotation:?}]"), ProblemKind::Refused, detail));
    }
    found
}
