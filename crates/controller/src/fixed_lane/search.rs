//! The search for what NGINX refuses in a configuration.
//!
//! An answer of NGINX blames a part only if something else shows that nothing outside of the configuration is wrong:
//!
//! 1. A doubtful complaint counts when what is known to be sound passes the same test at the same moment and the candidate fails again, twice.
//! 2. The settings are tested before any object: alone, on what is always there. No object is tried on settings that don't stand alone.
//! 3. Then the new parts of objects are added to the settings: all at once, without the one that NGINX points at, or by halves.
//!
//! A test that comes to no result ends the search without one.

use std::sync::Arc;

use model::{Basis, Data, Fixed, ObjectKey, Profile, ProfileId, Shell, Snippet};

use crate::port::{ApplyError, Culprit, Nginx};

/// How often a doubtful complaint must be seen beside a sound configuration.
const PROOFS: usize = 2;

/// A part of a configuration that an object or a key of the ConfigMap asks for.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    /// A key of the ConfigMap with its value.
    Setting(String, String),
    Profile(ProfileId, Arc<Profile>),
    Shell(Arc<str>, Arc<Shell>),
    Stream(ObjectKey, Arc<Snippet>),
}

impl Part {
    fn is(&self, culprit: &Culprit) -> bool {
        match (self, culprit) {
            (Self::Profile(id, _), Culprit::Profile(other)) => id == other,
            (Self::Shell(host, _), Culprit::Shell(other)) => host == other,
            (Self::Stream(ingress, _), Culprit::Stream(other)) => ingress == other,
            _ => false,
        }
    }

    /// Adds it to what an object can add to.
    pub(super) fn add_to(&self, fixed: &mut Fixed) {
        match self {
            Self::Setting(..) => {}
            Self::Profile(id, profile) => {
                fixed.profiles.insert(id.clone(), profile.clone());
            }
            Self::Shell(host, shell) => {
                fixed.shells.insert(host.clone(), shell.clone());
            }
            Self::Stream(ingress, text) => fixed.streams.push((ingress.clone(), text.clone())),
        }
    }
}

/// A part, and what NGINX says against it.
pub(super) type Faulty = (Part, String);

/// What NGINX says against a candidate, and which part of it it points at.
struct Refusal {
    message: String,
    culprit: Option<Culprit>,
}

/// A search beside what is known to be sound.
pub(super) struct Search<'a, N> {
    pub(super) nginx: &'a mut N,
    pub(super) basis: &'a Basis,
    /// What NGINX runs, as far as it is known.
    pub(super) running: Option<&'a Fixed>,
}

impl<N: Nginx> Search<'_, N> {
    /// The parts of `wanted` that NGINX refuses, after it said `error`; none if it accepts everything after all.
    ///
    /// # Errors
    /// When a test comes to no result, or the fault lies outside of the configuration.
    pub(super) async fn faulty(&mut self, wanted: &Fixed, confirmed: &Data, error: ApplyError) -> Result<Vec<Faulty>, ApplyError> {
        if self.proven(wanted, error).await?.is_none() {
            return Ok(Vec::new());
        }
        let known = self.running.filter(|running| running.globals == wanted.globals);
        let mut base = Fixed { literals: wanted.literals.clone(), globals: wanted.globals.clone(), ..self.basis.alone(self.basis.data()) };
        if known.is_none() && self.refusal(&base).await?.is_some() {
            return self.faulty_settings(confirmed).await;
        }
        let mut parts = Vec::new();
        for part in parts_of(wanted) {
            let runs = known.is_some_and(|running| parts_of(running).any(|known| known == part));
            if runs { part.add_to(&mut base) } else { parts.push(part) }
        }
        self.faulty_parts(base, parts).await
    }

    /// The keys of the ConfigMap that NGINX refuses, beside those that it has confirmed.
    async fn faulty_settings(&mut self, confirmed: &Data) -> Result<Vec<Faulty>, ApplyError> {
        let (mut base, mut new) = (Data::new(), Vec::new());
        for (key, value) in self.basis.data() {
            if confirmed.get(key) == Some(value) {
                base.insert(key.clone(), value.clone());
            } else {
                new.push((key.clone(), value.clone()));
            }
        }
        // What was confirmed together with something that is gone now need not stand without it.
        if !base.is_empty() && self.refusal(&self.basis.alone(&base)).await?.is_some() {
            new.extend(std::mem::take(&mut base));
        }
        let mut faulty = Vec::new();
        // Twice: a key may need another one that comes after it.
        for _ in 0..2 {
            faulty.clear();
            let mut groups = vec![std::mem::take(&mut new)];
            while let Some(group) = groups.pop() {
                let mut candidate = base.clone();
                candidate.extend(group.iter().cloned());
                let Some(refusal) = self.refusal(&self.basis.alone(&candidate)).await? else {
                    base = candidate;
                    continue;
                };
                match <[(String, String); 1]>::try_from(group) {
                    Ok([(key, value)]) => faulty.push((key, value, refusal.message)),
                    Err(mut group) => {
                        let half = group.split_off(group.len() / 2);
                        groups.extend([half, group].into_iter().filter(|group| !group.is_empty()));
                    }
                }
            }
            new = faulty.iter().map(|(key, value, _)| (key.clone(), value.clone())).collect();
            if new.is_empty() {
                break;
            }
        }
        Ok(faulty.into_iter().map(|(key, value, message)| (Part::Setting(key, value), message)).collect())
    }

    /// Those of `parts` that NGINX refuses beside `base` and beside those that it accepts.
    async fn faulty_parts(&mut self, mut base: Fixed, parts: Vec<Part>) -> Result<Vec<Faulty>, ApplyError> {
        let mut faulty = Vec::new();
        let mut groups = vec![parts];
        while let Some(mut group) = groups.pop() {
            let mut candidate = base.clone();
            group.iter().for_each(|part| part.add_to(&mut candidate));
            let Some(refusal) = self.refusal(&candidate).await? else {
                base = candidate;
                continue;
            };
            let named = refusal.culprit.as_ref().and_then(|culprit| group.iter().position(|part| part.is(culprit)));
            match (named, group.len()) {
                (_, 0) => {}
                (Some(at), _) => {
                    faulty.push((group.remove(at), refusal.message));
                    groups.push(group);
                }
                (None, 1) => faulty.extend(group.pop().map(|part| (part, refusal.message))),
                (None, length) => {
                    let half = group.split_off(length / 2);
                    groups.extend([half, group]);
                }
            }
        }
        Ok(faulty)
    }

    /// Whether NGINX accepts a part again, beside what it runs.
    ///
    /// # Errors
    /// When the test comes to no result.
    pub(super) async fn accepts(&mut self, part: &Part) -> Result<bool, ApplyError> {
        let candidate = match part {
            Part::Setting(key, value) => {
                let mut data = self.basis.data().clone();
                data.insert(key.clone(), value.clone());
                self.basis.alone(&data)
            }
            part => {
                let mut candidate = self.running.cloned().unwrap_or_else(|| self.basis.alone(self.basis.data()));
                part.add_to(&mut candidate);
                candidate
            }
        };
        Ok(self.refusal(&candidate).await?.is_none())
    }

    /// What NGINX says against a candidate; `None`: it accepts it.
    async fn refusal(&mut self, candidate: &Fixed) -> Result<Option<Refusal>, ApplyError> {
        match self.nginx.test(candidate).await {
            Ok(()) => Ok(None),
            Err(error) => self.proven(candidate, error).await,
        }
    }

    /// A refusal as it is, and a doubtful complaint that is seen again while what is sound passes; `None`: the candidate passes after all.
    async fn proven(&mut self, candidate: &Fixed, error: ApplyError) -> Result<Option<Refusal>, ApplyError> {
        let (message, culprit) = match error {
            ApplyError::Refused { message, culprit } => return Ok(Some(Refusal { message, culprit })),
            ApplyError::Doubtful { message, culprit } => (message, culprit),
            error => return Err(error),
        };
        let sound = self.running.cloned().unwrap_or_else(|| self.basis.alone(&Data::new()));
        for _ in 0..PROOFS {
            if self.nginx.test(&sound).await.is_err() {
                return Err(ApplyError::Failed(format!("{message} (and so it says of what it runs)")));
            }
            match self.nginx.test(candidate).await {
                Ok(()) => return Ok(None),
                Err(ApplyError::Refused { .. } | ApplyError::Doubtful { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Refusal { message, culprit }))
    }
}

/// What objects ask for in a configuration.
fn parts_of(fixed: &Fixed) -> impl Iterator<Item = Part> {
    let profiles = fixed.profiles.iter().map(|(id, profile)| Part::Profile(id.clone(), profile.clone()));
    let shells = fixed.shells.iter().map(|(host, shell)| Part::Shell(host.clone(), shell.clone()));
    let streams = fixed.streams.iter().map(|(ingress, text)| Part::Stream(ingress.clone(), text.clone()));
    profiles.chain(shells).chain(streams)
}
