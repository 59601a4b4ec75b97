//! What the annotations of an Ingress name, read: Secrets, ConfigMaps and Services become typed values of ours.
//!
//! It belongs to parsing an Ingress: the builder parses it again when something that it names changes ([`crate::references`]).

mod auth_headers;
mod backend_tls;
mod client_ca;
mod default_backend;
mod fastcgi;
mod headers;
mod modules;
mod targets;
mod users;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use ngx_value::Invalid;
use settings::{Config, Reference, Spec};

use super::Problems;
use crate::key::ObjectKey;
use crate::last_readable::{self, INSTEAD, LastReadable};
use crate::options::BuildOptions;
use crate::problem::ProblemKind;
use crate::references::Reference as Named;
use crate::rule::Resolved;
use crate::snapshot::Snapshot;

/// Where to look.
pub(super) struct Lookup<'a> {
    /// The Ingress that names the objects.
    pub(super) ingress: &'a ObjectKey,
    /// Its annotations.
    pub(super) spec: &'a Spec,
    /// The global settings.
    pub(super) config: &'a Config,
    /// The flags.
    pub(super) options: &'a BuildOptions,
    /// All objects.
    pub(super) snapshot: &'a Snapshot,
    /// The last readable versions of objects whose present one is not.
    pub(super) last_readable: &'a LastReadable,
}

impl Lookup<'_> {
    /// The object that an annotation names. An error if it may not name one of that namespace.
    fn key(&self, reference: &Reference) -> Result<ObjectKey, Invalid> {
        let (namespace, name) = reference.resolve(&self.ingress.namespace, self.config.allow_cross_namespace_resources)?;
        Ok(ObjectKey::new(namespace, name))
    }

    /// Reads a ConfigMap; of one that can't be read any more the last version that could. `None`: there is none.
    fn config_map<T>(
        &self,
        key: &ObjectKey,
        annotation: &str,
        outcome: &mut Resolution<'_>,
        read: impl Fn(&ConfigMap) -> Result<T, String>,
    ) -> Option<Result<T, String>> {
        let present = self.snapshot.config_maps.get(key)?;
        let found = last_readable::read(key, &**present, &self.last_readable.config_maps, read);
        Some(found.map(|found| outcome.note_last_readable(annotation, "ConfigMap", Named::ConfigMap(key.clone()), found)))
    }

    /// The same for a Secret.
    fn secret<T>(
        &self,
        key: &ObjectKey,
        annotation: &str,
        outcome: &mut Resolution<'_>,
        read: impl Fn(&Secret) -> Result<T, String>,
    ) -> Option<Result<T, String>> {
        let present = self.snapshot.secrets.get(key)?;
        let found = last_readable::read(key, &**present, &self.last_readable.secrets, read);
        Some(found.map(|found| outcome.note_last_readable(annotation, "Secret", Named::Secret(key.clone()), found)))
    }
}

/// What is found besides values.
pub(super) struct Resolution<'a> {
    prefix: &'a str,
    /// Every location of the Ingress answers 503.
    pub(super) denied: bool,
    /// The Ingress is not served.
    pub(super) refused: bool,
    /// `mirror-target` leads where it may not.
    pub(super) mirror_refused: bool,
    /// What was read in its last readable version.
    last_readable: Vec<Named>,
    problems: &'a mut Problems,
}

impl<'a> Resolution<'a> {
    pub(super) fn new(prefix: &'a str, problems: &'a mut Problems) -> Self {
        Self { prefix, denied: false, refused: false, mirror_refused: false, last_readable: Vec::new(), problems }
    }

    /// Reports something about an annotation: what was expected and what happens instead.
    pub(super) fn problem(&mut self, annotation: &str, kind: ProblemKind, detail: impl Into<String>) {
        self.problems.push(format!("metadata.annotations[{:?}]", format!("{}/{annotation}", self.prefix)), kind, detail.into());
    }

    /// Reports that the last readable version of an object was read, if it was.
    fn note_last_readable<T>(&mut self, annotation: &str, kind: &str, object: Named, (value, fault): (T, Option<String>)) -> T {
        if let Some(fault) = fault {
            let (Named::ConfigMap(key) | Named::Secret(key) | Named::Service(key)) = &object;
            self.problem(annotation, ProblemKind::InvalidValue, format!("{kind} {key}: {fault}; {INSTEAD}"));
            self.last_readable.push(object);
        }
        value
    }

    /// Reports that something which protects the locations is unavailable, and closes them.
    pub(super) fn deny(&mut self, annotation: &str, detail: &str) {
        self.denied = true;
        self.problem(annotation, ProblemKind::AnnotationParsingFailed, format!("{detail}; its locations answer 503"));
    }

    /// Reports that something is unavailable without which the Ingress would mean something else, and refuses it.
    pub(super) fn refuse(&mut self, annotation: &str, detail: &str) {
        self.refused = true;
        self.problem(annotation, ProblemKind::Refused, format!("{detail}; the Ingress is not served"));
    }
}

/// Reads what the annotations name.
pub(super) fn resolve(lookup: &Lookup<'_>, outcome: &mut Resolution<'_>) -> Resolved {
    modules::check(lookup, outcome);
    let resolved = Resolved {
        backend_tls: backend_tls::read(lookup, outcome),
        fastcgi: fastcgi::read(lookup, outcome),
        headers: headers::resolve(lookup, outcome),
        default_backend: default_backend::resolve(lookup, outcome),
        client_trust: client_ca::resolve(lookup, outcome),
        users: users::resolve(lookup, outcome),
        auth_headers: auth_headers::resolve(lookup, outcome),
        last_readable: Vec::new(),
    };
    targets::check(lookup, outcome);
    Resolved { last_readable: std::mem::take(&mut outcome.last_readable), ..resolved }
}
