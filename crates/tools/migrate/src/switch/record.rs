//! The record of a switch: enough to go on with it and to undo it exactly.

use std::fmt;

use model::ObjectKey;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Longest record, in bytes of JSON. A ConfigMap holds 1 MiB with everything about it.
pub const MOST_BYTES: usize = 900_000;

/// A switch. Serialised as JSON, in a ConfigMap and maybe a file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Form of this record; 1.
    pub version: u32,
    /// Its name: letters, digits and dashes.
    pub id: String,
    /// Start of the switch, RFC 3339.
    pub created: String,
    /// The goal. A later run with the same goal goes on with this record.
    pub goal: Goal,
    /// The progress.
    pub status: SwitchStatus,
    /// The reason why it stopped, where it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The objects, in the order in which they move.
    pub entries: Vec<Entry>,
}

/// The goal of a switch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Goal {
    /// Ingresses get another class.
    Class {
        /// The new class.
        to: String,
        /// Only Ingresses of this class.
        from: Option<String>,
        /// Only those of this namespace.
        namespace: Option<String>,
        /// Only those with these labels.
        selector: String,
    },
    /// A Service gets another selector.
    Service {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// The new selector, `k=v,...` in order of keys.
        to: String,
    },
}

/// The progress of a switch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SwitchStatus {
    /// The switch runs, or was interrupted.
    Running,
    /// A check failed, or the server refused; it can go on or back.
    Stopped,
    /// Everything is moved and checked.
    Done,
    /// Everything is as it was.
    RolledBack,
}

/// One object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The step that it moves in, from 1.
    pub step: usize,
    /// The kind of the object.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its identity: another object of the same name is not touched.
    pub uid: String,
    /// The field that moves.
    pub field: Field,
    /// The field's value before.
    pub old: Value,
    /// The field's value after.
    pub new: Value,
    /// The progress of the object.
    pub state: EntryState,
}

impl Entry {
    /// Namespace and name.
    pub fn key(&self) -> ObjectKey {
        ObjectKey::new(self.namespace.as_str(), self.name.as_str())
    }

    /// `true` if it is the same object.
    pub fn is(&self, other: &Self) -> bool {
        (self.kind, &self.namespace, &self.name) == (other.kind, &other.namespace, &other.name)
    }
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind.label(), self.namespace, self.name)
    }
}

/// Kinds that are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Kind {
    /// By its class.
    Ingress,
    /// By its selector.
    Service,
}

impl Kind {
    /// The name in Kubernetes.
    pub fn label(self) -> &'static str {
        match self {
            Self::Ingress => "Ingress",
            Self::Service => "Service",
        }
    }
}

/// Fields that are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Field {
    /// `spec.ingressClassName`.
    ClassName,
    /// The annotation `kubernetes.io/ingress.class`.
    ClassAnnotation,
    /// `spec.selector`.
    Selector,
}

impl Field {
    /// The place as a JSON pointer.
    pub fn pointer(self) -> &'static str {
        match self {
            Self::ClassName => "/spec/ingressClassName",
            Self::ClassAnnotation => "/metadata/annotations/kubernetes.io~1ingress.class",
            Self::Selector => "/spec/selector",
        }
    }

    /// The name for people.
    pub fn label(self) -> &'static str {
        match self {
            Self::ClassName => "spec.ingressClassName",
            Self::ClassAnnotation => "annotation kubernetes.io/ingress.class",
            Self::Selector => "spec.selector",
        }
    }
}

/// The progress of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EntryState {
    /// Not touched.
    Planned,
    /// About to be patched; maybe it was.
    Moving,
    /// Patched, not checked.
    Moved,
    /// Patched, and the step's checks passed.
    Checked,
    /// Not moved, because another client changed or deleted it.
    Left,
    /// Its old value again.
    Restored,
}

impl EntryState {
    /// `true` if a rollback has to look at it.
    pub fn is_touched(self) -> bool {
        matches!(self, Self::Moving | Self::Moved | Self::Checked)
    }
}

/// A record that can't be kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{objects} objects are too many for one record ({bytes} bytes, at most {MOST_BYTES} fit into a ConfigMap): \
     move fewer at a time with --namespace or --selector"
)]
pub struct TooLarge {
    objects: usize,
    bytes: usize,
}

impl Record {
    /// The record as JSON.
    ///
    /// # Errors
    /// [`TooLarge`].
    pub fn json(&self) -> Result<String, TooLarge> {
        let text = serde_json::to_string(self).unwrap_or_default();
        match text.len() {
            bytes if bytes > MOST_BYTES => Err(TooLarge { objects: self.entries.len(), bytes }),
            _ => Ok(text),
        }
    }

    /// `true` if a later run with the same goal goes on with it.
    pub fn is_open(&self) -> bool {
        matches!(self.status, SwitchStatus::Running | SwitchStatus::Stopped)
    }

    /// The number of steps.
    pub fn steps(&self) -> usize {
        self.entries.iter().map(|entry| entry.step).max().unwrap_or(0)
    }

    /// Entries that are in one of these states.
    pub fn in_state<'a>(&'a self, states: &'a [EntryState]) -> impl Iterator<Item = &'a Entry> {
        self.entries.iter().filter(|entry| states.contains(&entry.state))
    }

    /// Goes on with a new plan: what was moved stays as it is remembered, everything else is planned again, as steps of its own.
    pub fn resume(&mut self, entries: Vec<Entry>) {
        self.entries.retain(|entry| entry.state.is_touched());
        let steps = self.steps();
        let mut numbers: Vec<usize> = Vec::new();
        for mut entry in entries {
            match self.entries.iter_mut().find(|own| own.is(&entry)) {
                // It is where it was before: it was moved back, or it never moved. Which value to restore is known from then.
                Some(own) if own.uid == entry.uid => own.state = EntryState::Planned,
                _ => {
                    if !numbers.contains(&entry.step) {
                        numbers.push(entry.step);
                    }
                    entry.step = steps + numbers.len();
                    self.entries.push(entry);
                }
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use serde_json::json;

    pub(crate) fn entry(step: usize, name: &str) -> Entry {
        Entry {
            step,
            kind: Kind::Ingress,
            namespace: "n".into(),
            name: name.into(),
            uid: format!("uid-{name}"),
            field: Field::ClassName,
            old: json!("nginx"),
            new: json!("narthex"),
            state: EntryState::Planned,
        }
    }

    pub(crate) fn record(entries: Vec<Entry>) -> Record {
        let goal = Goal::Class { to: "narthex".into(), from: None, namespace: None, selector: String::new() };
        Record {
            version: 1,
            id: "1".into(),
            created: "2026-11-21T18:00:00Z".into(),
            goal,
            status: SwitchStatus::Running,
            reason: None,
            entries,
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let record = record(vec![entry(1, "a"), entry(2, "b")]);
        assert_eq!(serde_json::from_str::<Record>(&record.json().unwrap()).unwrap(), record);
    }

    #[test]
    fn a_record_that_no_config_map_holds_is_refused() {
        let many = record((0..8000).map(|number| entry(1, &number.to_string())).collect());
        let refused = many.json().err().map(|error| error.to_string()).unwrap_or_default();
        assert!(refused.starts_with("8000 objects are too many for one record"), "{refused}");
        assert!(record((0..4000).map(|number| entry(1, &number.to_string())).collect()).json().is_ok());
    }

    #[test]
    fn what_has_moved_is_kept_and_the_rest_is_planned_again() {
        let state = |state, entry: Entry| Entry { state, ..entry };
        let mut record = record(vec![
            state(EntryState::Checked, entry(1, "a")),
            state(EntryState::Moving, entry(2, "b")),
            state(EntryState::Left, entry(2, "c")),
            state(EntryState::Planned, entry(3, "d")),
            state(EntryState::Moved, entry(3, "e")),
        ]);
        record.resume(vec![entry(1, "b"), entry(2, "c"), entry(2, "d"), entry(5, "f")]);
        let steps: Vec<_> = record.entries.iter().map(|entry| (entry.name.as_str(), entry.step, entry.state)).collect();
        let expected = [
            ("a", 1, EntryState::Checked),
            ("b", 2, EntryState::Planned),
            ("e", 3, EntryState::Moved),
            ("c", 4, EntryState::Planned),
            ("d", 4, EntryState::Planned),
            ("f", 5, EntryState::Planned),
        ];
        assert_eq!(steps, expected);
    }
}
