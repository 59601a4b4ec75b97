//! Which namespaces ask for a reload.
//!
//! What is charged to a namespace must be its own doing: it may use a path in a host of another one, or have a pattern that catches the hosts of others.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::plan::Reason;
use model::{Built, Fixed, ObjectKey, Part, Shell};

/// What asks for a reload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Causes {
    pub(super) namespaces: BTreeSet<Arc<str>>,
    /// Something besides that is of no namespace: settings, a start, an operator.
    pub(super) general: bool,
}

impl Causes {
    /// From the reasons for a reload of what runs. `before`: the build that this was made of.
    pub(super) fn of(running: &Fixed, wanted: &Fixed, reasons: &[Reason], now: &Built, before: Option<&Built>) -> Self {
        let world = World { running, wanted, now, before };
        let mut causes = Self::default();
        for reason in reasons {
            let ingresses = match reason.part() {
                Some(Part::Server(host)) => world.of_shell(host),
                Some(Part::Name(_)) => world.of_literals(),
                Some(Part::Stream(_)) => world.of_streams(),
                part => part.map(|part| world.users_of(part)).unwrap_or_default(),
            };
            causes.general |= ingresses.is_empty() && !matches!(reason.part(), Some(Part::Name(_)));
            causes.namespaces.extend(ingresses.into_iter().map(|ingress| ingress.namespace));
        }
        causes
    }
}

struct World<'a> {
    running: &'a Fixed,
    wanted: &'a Fixed,
    now: &'a Built,
    before: Option<&'a Built>,
}

impl World<'_> {
    /// The Ingresses that ask for a part; for what is gone the build of before says it.
    fn users_of(&self, part: &Part) -> Vec<ObjectKey> {
        let users = self.now.users_of(part);
        if users.is_empty() { self.before.map(|before| before.users_of(part)).unwrap_or_default() } else { users }
    }

    /// A server block may need a profile for a path of another namespace, and lose an alias to a host of one.
    fn of_shell(&self, host: &Arc<str>) -> Vec<ObjectKey> {
        let of_itself = || self.users_of(&Part::Server(host.clone()));
        let (Some(old), Some(new)) = (self.running.shells.get(host), self.wanted.shells.get(host)) else { return of_itself() };
        let profiles = new.profiles.difference(&old.profiles).flat_map(|id| self.now.users_of_profile_on(host, id));
        let lost = old.aliases.iter().filter(|alias| !new.aliases.contains(alias));
        let mut found: Vec<ObjectKey> = profiles.chain(lost.flat_map(|alias| self.now.users_of(&Part::Name(alias.clone())))).collect();
        let same_text = Shell { aliases: old.aliases.clone(), profiles: old.profiles.clone(), ..(**new).clone() } == **old;
        if found.is_empty() || !same_text || new.aliases.iter().any(|alias| !old.aliases.contains(alias)) {
            found.extend(of_itself());
        }
        found
    }

    /// A host that was there before and still is begins or ceases to be named because of a pattern, whose server block is a reason of its own.
    fn of_literals(&self) -> Vec<ObjectKey> {
        let changed = self.running.literals.iter().chain(&self.wanted.literals);
        let changed = changed.filter(|host| self.running.literals.contains(*host) != self.wanted.literals.contains(*host));
        let has = |built: &Built, host: &Arc<str>| built.model.live.hosts.contains_key(host);
        let stays = |host: &Arc<str>| has(self.now, host) && self.before.is_some_and(|before| has(before, host));
        changed.filter(|host| !stays(host)).flat_map(|host| self.users_of(&Part::Name(host.clone()))).collect()
    }

    fn of_streams(&self) -> Vec<ObjectKey> {
        let (old, new) = (&self.running.streams, &self.wanted.streams);
        let changed = old.iter().filter(|stream| !new.contains(stream)).chain(new.iter().filter(|stream| !old.contains(stream)));
        changed.map(|(ingress, _)| ingress.clone()).collect()
    }
}
