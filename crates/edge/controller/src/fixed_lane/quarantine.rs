//! The parts that NGINX refused, tested again from time to time: a module may have been installed since, or a file may be there now.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use model::{Built, KeyValue, ObjectKey};
use tokio::time::Instant;

use super::search::{Piece, parts_of};

const FIRST_LOOK: Duration = Duration::from_secs(30);
const LAST_LOOK: Duration = Duration::from_secs(30 * 60);
/// Parts that are tested in one turn: a test takes a while, and changes wait for it.
const AT_ONCE: usize = 4;
/// Time for which the parts of a namespace are tested alone first, after it made a test too slow.
const SUSPICION: Duration = Duration::from_secs(30 * 60);

/// The origin of a part that NGINX refuses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Subject {
    Ingress(ObjectKey),
    /// A key of the ConfigMap with its value.
    Setting(String, KeyValue),
    /// The certificate of a TCP service.
    Certificate {
        secret: ObjectKey,
        /// Its content address.
        id: Arc<str>,
    },
}

impl Subject {
    /// The namespace of an object.
    pub(super) fn namespace(&self) -> Option<&Arc<str>> {
        match self {
            Self::Ingress(key) | Self::Certificate { secret: key, .. } => Some(&key.namespace),
            Self::Setting(..) => None,
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ingress(key) => write!(f, "Ingress {key}"),
            Self::Setting(key, _) => write!(f, "the key {key:?} of the ConfigMap"),
            Self::Certificate { secret, .. } => write!(f, "the certificate of Secret {secret}"),
        }
    }
}

#[derive(Debug)]
struct Held {
    part: Piece,
    subjects: Vec<Subject>,
    next: Instant,
    pause: Duration,
}

/// The parts that NGINX refused, with what asked for them.
#[derive(Debug, Default)]
pub(super) struct HeldParts(Vec<Held>);

impl HeldParts {
    pub(super) fn add(&mut self, part: Piece, subjects: Vec<Subject>) {
        self.0.retain(|held| held.part != part);
        self.0.push(Held { part, subjects, next: Instant::now() + FIRST_LOOK, pause: FIRST_LOOK });
    }

    /// Forgets what NGINX accepts again.
    pub(super) fn remove(&mut self, part: &Piece) {
        self.0.retain(|held| held.part != *part);
    }

    /// Forgets what is not quarantined any more: its object has changed. A build that began before it was refused still has it.
    pub(super) fn follow(&mut self, built: &Built) {
        self.0.retain(|held| {
            let is_refused = held.subjects.iter().any(|subject| match subject {
                Subject::Ingress(ingress) => built.quarantined.contains_key(ingress),
                Subject::Setting(key, value) => {
                    built.refused_keys.get(key) == Some(value) || built.basis.values().get(key).as_ref() == Some(value)
                }
                Subject::Certificate { id, .. } => built.refused_certificates.contains(id),
            });
            is_refused || parts_of(&built.model.fixed).any(|part| part == held.part)
        });
    }

    /// Time of the next look.
    pub(super) fn next(&self) -> Option<Instant> {
        self.0.iter().map(|held| held.next).min()
    }

    /// The parts that are due; each is due again after a longer time.
    pub(super) fn due(&mut self) -> Vec<(Piece, Vec<Subject>)> {
        let now = Instant::now();
        let due = self.0.iter_mut().filter(|held| held.next <= now).take(AT_ONCE);
        due.map(|held| {
            held.pause = (held.pause * 2).min(LAST_LOOK);
            held.next = now + held.pause;
            (held.part.clone(), held.subjects.clone())
        })
        .collect()
    }
}

/// Namespaces that asked for what makes a test too slow. To find that takes long, and changes of others wait: so it is not to happen again and again.
#[derive(Debug, Default)]
pub(super) struct Suspects(BTreeMap<Arc<str>, Instant>);

impl Suspects {
    pub(super) fn add(&mut self, subjects: &[Subject]) {
        let now = Instant::now();
        self.0.retain(|_, since| *since + SUSPICION > now);
        self.0.extend(subjects.iter().filter_map(Subject::namespace).map(|namespace| (namespace.clone(), now)));
    }

    /// Whether nothing but them asks for something.
    pub(super) fn alone_ask(&self, subjects: &[Subject]) -> bool {
        let suspect = |subject: &Subject| subject.namespace().is_some_and(|namespace| self.has(namespace));
        !subjects.is_empty() && subjects.iter().all(suspect)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn has(&self, namespace: &Arc<str>) -> bool {
        self.0.get(namespace).is_some_and(|since| *since + SUSPICION > Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use model::{Profile, ProfileId};

    use super::*;

    #[test]
    fn a_refused_part_is_tested_again_although_a_build_of_before_it_was_refused_comes_after() {
        let (id, profile) = (ProfileId("p".into()), Arc::new(Profile::default()));
        let mut held = HeldParts::default();
        held.add(Piece::Profile(id.clone(), profile.clone()), vec![Subject::Ingress(ObjectKey::new("n", "i"))]);
        let mut before = Built::default();
        before.model.fixed.profiles.insert(id, profile);
        held.follow(&before);
        assert!(held.next().is_some());
        held.follow(&Built::default());
        assert!(held.next().is_none(), "it is not asked for any more");
    }
}
