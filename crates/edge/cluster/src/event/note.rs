//! One note, and the Event for it. Pure.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use kube::Resource;
use model::{ObjectKey, ObjectRef, Problem, Snapshot};

use super::EventWriterOptions;
use crate::hash::fnv1a;

/// The API server takes 1,024 bytes at most.
const MESSAGE_BYTES: usize = 1000;
/// A name has at most 253 characters, of which the digest takes 17.
const NAME_BYTES: usize = 236;

/// One note about an object.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Note {
    pub(super) object: ObjectRef,
    pub(super) warning: bool,
    pub(super) reason: &'static str,
    pub(super) message: String,
    /// Failed attempts to post it.
    pub(super) attempts: u32,
}

impl Note {
    pub(super) fn new(object: ObjectRef, warning: bool, reason: &'static str, message: String) -> Self {
        Self { object, warning, reason, message: cut(message), attempts: 0 }
    }

    pub(super) fn of_problem(problem: &Problem) -> Self {
        let message = match problem.field.as_str() {
            "" => problem.detail.clone(),
            field => format!("{field}: {}", problem.detail),
        };
        Self::new(problem.object.clone(), true, problem.kind.label(), message)
    }

    /// The Pod that it is about, if it is about one.
    pub(super) fn pod(&self) -> Option<ObjectKey> {
        let namespace = self.object.namespace.clone().filter(|_| self.object.kind == "Pod")?;
        Some(ObjectKey { namespace, name: self.object.name.clone() })
    }

    /// The uid of the object, when the snapshot holds it.
    pub(super) fn uid(&self, snapshot: &Snapshot) -> Option<String> {
        let name = &self.object.name;
        let key = self.object.namespace.as_ref().map(|namespace| ObjectKey { namespace: namespace.clone(), name: name.clone() });
        fn uid<K: Resource>(object: Option<&Arc<K>>) -> Option<String> {
            object.and_then(|object| object.meta().uid.clone())
        }
        let text = |uid: &Option<Box<str>>| uid.as_deref().map(str::to_owned);
        match (self.object.kind, key) {
            ("Ingress", Some(key)) => text(&snapshot.ingresses.get(&key)?.uid),
            ("Service", Some(key)) => text(&snapshot.services.get(&key)?.uid),
            ("EndpointSlice", Some(key)) => text(&snapshot.endpoint_slices.get(&key)?.uid),
            ("Secret", Some(key)) => uid(snapshot.secrets.get(&key)),
            ("ConfigMap", Some(key)) => uid(snapshot.config_maps.get(&key)),
            ("IngressClass", None) => uid(snapshot.ingress_classes.as_ref().and_then(|classes| classes.get(name))),
            ("Namespace", None) => uid(snapshot.namespaces.get(name)),
            _ => None,
        }
    }

    /// The Event, as `v1`: what `kubectl describe` reads.
    pub(super) fn event(&self, uid: Option<String>, options: &EventWriterOptions, now: Timestamp) -> Event {
        let kind = if self.warning { "Warning" } else { "Normal" };
        let namespace = self.object.namespace.as_deref().unwrap_or("default");
        let (version, uid_text) = (api_version(self.object.kind), uid.as_deref().unwrap_or_default());
        let digest =
            fnv1a([self.object.kind, namespace, &*self.object.name, uid_text, kind, self.reason, &self.message, &options.component]);
        let time = Some(Time(now));
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{}.{digest:016x}", stem(&self.object.name))),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            involved_object: ObjectReference {
                api_version: Some(version.to_owned()),
                kind: Some(self.object.kind.to_owned()),
                namespace: self.object.namespace.as_deref().map(str::to_owned),
                name: Some(self.object.name.to_string()),
                uid,
                ..ObjectReference::default()
            },
            type_: Some(kind.to_owned()),
            reason: Some(self.reason.to_owned()),
            message: Some(self.message.clone()),
            source: Some(EventSource { component: Some(options.component.clone()), host: None }),
            reporting_component: Some(options.component.clone()),
            reporting_instance: Some(options.instance.clone()),
            first_timestamp: time.clone(),
            last_timestamp: time,
            count: Some(1),
            ..Event::default()
        }
    }
}

fn api_version(kind: &str) -> &'static str {
    match kind {
        "Ingress" | "IngressClass" => "networking.k8s.io/v1",
        "EndpointSlice" => "discovery.k8s.io/v1",
        _ => "v1",
    }
}

fn cut(mut message: String) -> String {
    if message.len() > MESSAGE_BYTES {
        message.truncate(message.floor_char_boundary(MESSAGE_BYTES));
        message.push_str(" ...");
    }
    message
}

/// The object's name, short enough and ending so that a dot may follow.
fn stem(name: &str) -> &str {
    name[..name.floor_char_boundary(NAME_BYTES)].trim_end_matches(|end: char| !end.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(message: &str) -> Note {
        Note::new(ObjectRef::ingress(&ObjectKey::new("default", "shop")), true, "InvalidValue", message.into())
    }

    fn name(note: &Note, uid: Option<&str>) -> String {
        note.event(uid.map(str::to_owned), &EventWriterOptions::new("pod"), Timestamp::UNIX_EPOCH).metadata.name.unwrap()
    }

    #[test]
    fn the_same_finding_has_the_same_name_and_another_object_another() {
        assert_eq!(name(&note("x"), Some("1")), name(&note("x"), Some("1")));
        assert_ne!(name(&note("x"), Some("1")), name(&note("y"), Some("1")));
        assert_ne!(name(&note("x"), Some("1")), name(&note("x"), Some("2")));
        assert!(name(&note("x"), None).starts_with("shop."));
    }

    #[test]
    fn long_names_and_messages_fit() {
        let long = Note::new(ObjectRef::ingress(&ObjectKey::new("n", "a.".repeat(126) + "a")), false, "Sync", "ü".repeat(2000));
        assert!(name(&long, None).len() <= 253 && !name(&long, None).contains(".."));
        assert!(long.message.len() < 1024 && long.message.ends_with(" ..."));
    }

    #[test]
    fn the_event_of_a_cluster_scoped_object_is_in_default() {
        let note = Note::new(ObjectRef { kind: "IngressClass", namespace: None, name: "nginx".into() }, true, "Conflict", "x".into());
        let event = note.event(None, &EventWriterOptions::new("pod"), Timestamp::UNIX_EPOCH);
        assert_eq!(event.metadata.namespace.as_deref(), Some("default"));
        assert_eq!((event.involved_object.namespace, event.involved_object.api_version.as_deref()), (None, Some("networking.k8s.io/v1")));
    }
}
