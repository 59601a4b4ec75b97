//! The search for what NGINX refuses in a configuration.
//!
//! An answer of NGINX blames a part only if something else shows that nothing outside of the configuration is wrong:
//!
//! 1. A doubtful complaint counts when what is known to be sound passes the same test at the same moment and the candidate fails again, twice.
//! 2. The settings are tested before any object: alone, on what is always there. No object is tried on settings that don't stand alone; which key is at
//!    fault is found out [later](super::keys).
//! 3. Then the new parts of objects are added to the settings: all at once, without the one that NGINX points at, or by halves.
//! 4. Slowness is a doubtful complaint, and what is known to be sound must pass quickly beside it: a machine that is starved is slow with any text. Parts of
//!    namespaces that ask for little are added first, so that where only the sum is too slow it is the largest that is blamed.
//!
//! A test that comes to no result ends the search without one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use model::{Built, ConfigValues, Fixed, HostServer, KeyValue, ObjectKey, Part, Profile, ProfileId, Snippet, StreamPort, StreamService};

use super::quarantine::Subject;
use crate::port::{ApplyError, Nginx};

/// Number of times that a doubtful complaint must be seen beside a sound configuration.
const PROOFS: usize = 2;
/// Divisors of the time that a test may take: what the search adds to nothing any more, and within what the sound configuration must pass beside a slow
/// one.
const SLOW: u32 = 2;
pub(super) const FAST: u32 = 4;
/// Parts of one namespace that are looked for one by one when they are too slow.
const MOST_OF_ONE: usize = 2;

/// A part of a configuration that an object or a key of the ConfigMap asks for, with its content.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Piece {
    /// A key of the ConfigMap with its value.
    Setting(String, KeyValue),
    Profile(ProfileId, Arc<Profile>),
    HostServer(Arc<str>, Arc<HostServer>),
    Stream(ObjectKey, Arc<Snippet>),
    /// A TCP service with a certificate.
    StreamService(StreamPort, Arc<StreamService>),
}

impl Piece {
    fn is(&self, part: &Part) -> bool {
        match (self, part) {
            (Self::Profile(id, _), Part::Profile(other)) => id == other,
            (Self::HostServer(host, _), Part::Server(other)) => host == other,
            (Self::Stream(ingress, _), Part::Stream(other)) => ingress == other,
            (Self::StreamService(port, _), Part::StreamService(other)) => port == other,
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
            Self::HostServer(host, host_server) => {
                fixed.host_servers.insert(host.clone(), host_server.clone());
            }
            Self::Stream(ingress, text) => fixed.streams.push((ingress.clone(), text.clone())),
            Self::StreamService(port, service) => {
                fixed.stream_services.insert(*port, service.clone());
            }
        }
    }

    /// Its origin.
    pub(super) fn subjects(&self, built: &Built) -> Vec<Subject> {
        let ingresses = match self {
            Self::Setting(key, value) => return vec![Subject::Setting(key.clone(), value.clone())],
            Self::Profile(id, _) => built.users_of_profile(id),
            Self::HostServer(host, _) => built.users_of_host_server(host),
            Self::Stream(ingress, _) => vec![ingress.clone()],
            Self::StreamService(_, service) => {
                let certificate = service.certificate.iter();
                return certificate.map(|found| Subject::Certificate { secret: found.secret.clone(), id: found.id.clone() }).collect();
            }
        };
        ingresses.into_iter().map(Subject::Ingress).collect()
    }

    /// The namespace of the first object that asked for it.
    fn owner(&self, built: &Built) -> Option<Arc<str>> {
        self.subjects(built).into_iter().find_map(|subject| subject.namespace().cloned())
    }

    /// Bytes of what is special about it.
    fn bytes(&self) -> u64 {
        match self {
            Self::Setting(_, value) => value.text.len() as u64,
            Self::Profile(_, profile) => profile.text_bytes(),
            Self::HostServer(_, host_server) => host_server.text_bytes(),
            Self::Stream(_, text) => text.as_str().len() as u64,
            Self::StreamService(_, service) => service.certificate.as_ref().map_or(0, |found| found.pair.chain.len() as u64),
        }
    }
}

/// What NGINX refuses.
#[derive(Debug)]
pub(super) enum Fault {
    /// The settings alone, with what NGINX says.
    Settings(String),
    /// Parts that objects ask for; none if it accepts everything after all.
    Parts(Vec<Faulty>),
}

/// A part, and what NGINX says against it.
#[derive(Debug)]
pub(super) struct Faulty {
    pub(super) part: Piece,
    pub(super) message: String,
    /// Its test takes too long.
    pub(super) slow: bool,
}

/// The complaint of NGINX about a candidate, and the part of it that it points at.
struct Refusal {
    message: String,
    culprit: Option<Part>,
    slow: bool,
}

/// A search beside what is known to be sound.
pub(super) struct Search<'a, N> {
    pub(super) nginx: &'a mut N,
    pub(super) built: &'a Built,
    /// The text that NGINX runs, as far as it is known.
    pub(super) running: Option<&'a Fixed>,
}

impl<N: Nginx> Search<'_, N> {
    /// What of `wanted` NGINX refuses, after it said `error`.
    ///
    /// # Errors
    /// When a test comes to no result, or the fault lies outside of the configuration.
    pub(super) async fn fault(&mut self, wanted: &Fixed, error: ApplyError) -> Result<Fault, ApplyError> {
        let slow = matches!(error, ApplyError::Slow(_));
        // What is blamed in the end is proven again.
        if self.proven(wanted, error, 1, self.nginx.patience()).await?.is_none() {
            return Ok(Fault::Parts(Vec::new()));
        }
        let known = self.running.filter(|running| running.globals == wanted.globals);
        let mut base = Fixed { pinned_names: wanted.pinned_names.clone(), globals: wanted.globals.clone(), ..self.alone() };
        if known.is_none()
            && let Some(refusal) = self.refusal_of_settings(&base).await?
        {
            return Ok(Fault::Settings(refusal));
        }
        let mut parts = Vec::new();
        for part in parts_of(wanted) {
            let runs = known.is_some_and(|running| parts_of(running).any(|known| known == part));
            if runs { part.add_to(&mut base) } else { parts.push(part) }
        }
        if slow {
            parts = self.least_first(parts);
        }
        self.faulty_parts(base, parts).await.map(Fault::Parts)
    }

    /// What NGINX says against settings alone, seen once: which of them it is about is found out afterwards.
    async fn refusal_of_settings(&mut self, candidate: &Fixed) -> Result<Option<String>, ApplyError> {
        let refusal = match self.nginx.test(candidate, self.limit()).await {
            Ok(_) => None,
            Err(error) => self.proven(candidate, error, 1, self.limit()).await?,
        };
        Ok(refusal.map(|refusal| refusal.message))
    }

    /// What NGINX says against these values of the ConfigMap alone.
    ///
    /// # Errors
    /// When a test comes to no result.
    pub(super) async fn refusal_of(&mut self, values: &ConfigValues) -> Result<Option<String>, ApplyError> {
        let candidate = self.built.basis.alone(values);
        match self.nginx.test(&candidate, self.limit()).await {
            Ok(_) => Ok(None),
            Err(error) => Ok(self.proven(&candidate, error, PROOFS, self.limit()).await?.map(|refusal| refusal.message)),
        }
    }

    /// The members of `parts` that NGINX refuses beside `base` and beside those that it accepts.
    async fn faulty_parts(&mut self, mut base: Fixed, parts: Vec<Piece>) -> Result<Vec<Faulty>, ApplyError> {
        let first = base.clone();
        let mut faulty = Vec::new();
        let mut groups = vec![parts];
        while let Some(mut group) = groups.pop() {
            let mut candidate = base.clone();
            group.iter().for_each(|part| part.add_to(&mut candidate));
            let refusal = match self.nginx.test(&candidate, self.limit()).await {
                Ok(_) => None,
                // Only what is blamed needs a proof.
                Err(ApplyError::Slow(message)) if group.len() > 1 => Some(Refusal { message, culprit: None, slow: true }),
                Err(error) => self.proven(&candidate, error, PROOFS, self.limit()).await?,
            };
            let Some(Refusal { message, culprit, slow }) = refusal else {
                base = candidate;
                continue;
            };
            let named = culprit.as_ref().and_then(|culprit| group.iter().position(|part| part.is(culprit)));
            match (named, group.len()) {
                (_, 0) => {}
                (Some(at), _) => {
                    faulty.push(Faulty { part: group.remove(at), message, slow });
                    groups.push(group);
                }
                (None, 1) if slow => {
                    let owner = group[0].owner(self.built);
                    if self.is_one_of_many(&first, &group[0], &owner, &faulty).await? {
                        group.extend(groups.iter_mut().flat_map(|group| group.extract_if(.., |part| part.owner(self.built) == owner)));
                    }
                    let about = |part: &Piece| format!("{message}; it has {} KiB of the text", part.bytes().div_ceil(1 << 10));
                    faulty.extend(group.into_iter().map(|part| Faulty { message: about(&part), part, slow }));
                }
                (None, 1) => faulty.extend(group.pop().map(|part| Faulty { part, message, slow })),
                (None, length) => {
                    let half = group.split_off(length / 2);
                    groups.extend([half, group]);
                }
            }
        }
        Ok(faulty)
    }

    /// Whether what is left of a namespace is to blame with a part that is too slow: it is the sum, or there have been some already and each costs a search.
    async fn is_one_of_many(
        &mut self,
        first: &Fixed,
        part: &Piece,
        owner: &Option<Arc<str>>,
        faulty: &[Faulty],
    ) -> Result<bool, ApplyError> {
        if faulty.iter().filter(|faulty| faulty.slow && faulty.part.owner(self.built) == *owner).count() >= MOST_OF_ONE {
            return Ok(true);
        }
        let mut candidate = first.clone();
        part.add_to(&mut candidate);
        match self.nginx.test(&candidate, self.limit()).await {
            Ok(_) => Ok(true),
            Err(ApplyError::Slow(_)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Whether NGINX accepts a part again, beside what it runs.
    ///
    /// # Errors
    /// When the test comes to no result.
    pub(super) async fn accepts(&mut self, part: &Piece) -> Result<bool, ApplyError> {
        let candidate = match part {
            Piece::Setting(key, value) => {
                let mut values = self.built.basis.values().clone();
                values.set(key, value);
                self.built.basis.alone(&values)
            }
            part => {
                let mut candidate = self.running.cloned().unwrap_or_else(|| self.alone());
                part.add_to(&mut candidate);
                candidate
            }
        };
        match self.nginx.test(&candidate, self.limit()).await {
            Ok(_) => Ok(true),
            Err(error @ ApplyError::Slow(_)) => Err(error),
            Err(error) => Ok(self.proven(&candidate, error, PROOFS, self.limit()).await?.is_none()),
        }
    }

    /// The settings alone.
    fn alone(&self) -> Fixed {
        self.built.basis.alone(self.built.basis.values())
    }

    /// Longest test of a candidate: less than that of a text that is applied, so that what is left has time.
    fn limit(&self) -> Duration {
        self.nginx.patience() / SLOW
    }

    /// The parts in order: namespaces that ask for the least text first, and of each the smallest first.
    fn least_first(&self, parts: Vec<Piece>) -> Vec<Piece> {
        let mut parts: Vec<(Option<Arc<str>>, Piece)> = parts.into_iter().map(|part| (part.owner(self.built), part)).collect();
        let mut sums: BTreeMap<Option<Arc<str>>, u64> = BTreeMap::new();
        for (owner, part) in &parts {
            *sums.entry(owner.clone()).or_default() += part.bytes();
        }
        parts.sort_by_cached_key(|(owner, part)| (sums[owner], owner.clone(), part.bytes()));
        parts.into_iter().map(|(_, part)| part).collect()
    }

    /// A refusal as it is, and a doubtful complaint that is seen again while what is sound passes; `None`: the candidate passes after all.
    async fn proven(
        &mut self,
        candidate: &Fixed,
        error: ApplyError,
        proofs: usize,
        limit: Duration,
    ) -> Result<Option<Refusal>, ApplyError> {
        let (mut message, culprit, slow) = match error {
            ApplyError::Refused { message, culprit } => return Ok(Some(Refusal { message, culprit, slow: false })),
            ApplyError::Doubtful { message, culprit } => (message, culprit, false),
            ApplyError::Slow(message) => (message, None, true),
            error => return Err(error),
        };
        let sound = self.running.cloned().unwrap_or_else(|| self.built.basis.alone(&ConfigValues::default()));
        let patience = self.nginx.patience();
        for _ in 0..proofs {
            let Ok(took) = self.nginx.test(&sound, if slow { patience / FAST } else { patience }).await else {
                return Err(ApplyError::Failed(format!("{message} (and so it is with what it runs)")));
            };
            match self.nginx.test(candidate, limit).await {
                Ok(_) => return Ok(None),
                Err(ApplyError::Slow(_)) if slow => {
                    let took = took.as_secs_f64();
                    message = format!(
                        "with it the test of the configuration takes longer than {limit:?}, and {took:.1} s without; it may take {patience:?}"
                    );
                }
                Err(ApplyError::Refused { .. } | ApplyError::Doubtful { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(Some(Refusal { message, culprit, slow }))
    }
}

/// The parts of a configuration that objects ask for.
pub(super) fn parts_of(fixed: &Fixed) -> impl Iterator<Item = Piece> {
    let profiles = fixed.profiles.iter().map(|(id, profile)| Piece::Profile(id.clone(), profile.clone()));
    let host_servers = fixed.host_servers.iter().map(|(host, host_server)| Piece::HostServer(host.clone(), host_server.clone()));
    let streams = fixed.streams.iter().map(|(ingress, text)| Piece::Stream(ingress.clone(), text.clone()));
    let decrypted = fixed.stream_services.iter().filter(|(_, service)| service.certificate.is_some());
    let decrypted = decrypted.map(|(port, service)| Piece::StreamService(*port, service.clone()));
    profiles.chain(host_servers).chain(streams).chain(decrypted)
}
