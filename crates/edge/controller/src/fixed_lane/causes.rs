//! The namespaces that ask for a reload.
//!
//! What is charged to a namespace must be its own doing: it may use a path in a host of another one, or have a pattern that catches the hosts of others.

use std::collections::BTreeSet;
use std::sync::Arc;

use imbl::OrdSet;
use model::plan::Reason;
use model::{Built, Fixed, HostServer, ObjectKey, Part, StreamPort, StreamService};

/// The causes of a reload.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Causes {
    /// The namespaces to which the workers belong that it leaves behind.
    pub(super) namespaces: BTreeSet<Arc<str>>,
    /// The turns that it uses up. What can wait for another reload uses none: a host that is gone need not be named any more.
    pub(super) turns: BTreeSet<Turn>,
    /// Something besides that is of no namespace: settings, a start, an operator.
    pub(super) general: bool,
}

/// A turn to reload, of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Turn {
    /// For what its Ingresses and Services ask for.
    Own(Arc<str>),
    /// For a new host that must be named because of a pattern, which may be of another namespace.
    Caught(Arc<str>),
}

impl Causes {
    /// The causes, by the reasons for a reload of what runs. `before`: the build that this was made of.
    pub(super) fn of(running: &Fixed, wanted: &Fixed, reasons: &[Reason], now: &Built, before: Option<&Built>) -> Self {
        let world = World { running, wanted, now, before };
        let mut causes = Self::default();
        for reason in reasons {
            let ingresses = match reason.part() {
                Some(Part::Name(_)) => {
                    causes.turns.extend(world.new_pinned_names().into_iter().map(|ingress| Turn::Caught(ingress.namespace)));
                    causes.namespaces.extend(world.gone_pinned_names().into_iter().map(|ingress| ingress.namespace));
                    continue;
                }
                Some(Part::StreamService(port)) => match world.of_certificate(*port) {
                    Some(namespace) => {
                        causes.turns.insert(Turn::Own(namespace));
                        continue;
                    }
                    None => Vec::new(),
                },
                Some(Part::Server(host)) => world.of_host_server(host),
                Some(Part::Stream(_)) => world.of_streams(),
                part => part.map(|part| world.users_of(part)).unwrap_or_default(),
            };
            causes.general |= ingresses.is_empty();
            causes.turns.extend(ingresses.into_iter().map(|ingress| Turn::Own(ingress.namespace)));
        }
        causes.namespaces.extend(causes.turns.iter().map(|turn| turn.namespace().clone()));
        causes
    }
}

impl Causes {
    /// The namespaces that a reload is counted for: none where something else needs it as well.
    pub(super) fn charged(&self) -> &BTreeSet<Arc<str>> {
        static NONE: BTreeSet<Arc<str>> = BTreeSet::new();
        if self.general { &NONE } else { &self.namespaces }
    }
}

impl Turn {
    const fn namespace(&self) -> &Arc<str> {
        match self {
            Self::Own(namespace) | Self::Caught(namespace) => namespace,
        }
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
    fn of_host_server(&self, host: &Arc<str>) -> Vec<ObjectKey> {
        let of_itself = || self.users_of(&Part::Server(host.clone()));
        let (Some(old), Some(new)) = (self.running.host_servers.get(host), self.wanted.host_servers.get(host)) else { return of_itself() };
        let profiles = new.profiles.difference(&old.profiles).flat_map(|id| self.now.users_of_profile_on(host, id));
        let lost = old.aliases.iter().filter(|alias| !new.aliases.contains(alias));
        let mut found: Vec<ObjectKey> = profiles.chain(lost.flat_map(|alias| self.now.users_of(&Part::Name(alias.clone())))).collect();
        let same_text = HostServer { aliases: old.aliases.clone(), profiles: old.profiles.clone(), ..(**new).clone() } == **old;
        if found.is_empty() || !same_text || new.aliases.iter().any(|alias| !old.aliases.contains(alias)) {
            found.extend(of_itself());
        }
        found
    }

    /// The Ingresses of new hosts that must be named. One that was there before and still is begins or ceases to be named because of a pattern, whose server
    /// block is a reason of its own.
    fn new_pinned_names(&self) -> Vec<ObjectKey> {
        self.of_pinned_names(&self.wanted.pinned_names, &self.running.pinned_names, self.before)
    }

    fn gone_pinned_names(&self) -> Vec<ObjectKey> {
        self.of_pinned_names(&self.running.pinned_names, &self.wanted.pinned_names, Some(self.now))
    }

    /// The Ingresses of hosts that are named in one list and not in another, and that another build does not have.
    fn of_pinned_names(&self, named: &OrdSet<Arc<str>>, unnamed: &OrdSet<Arc<str>>, other: Option<&Built>) -> Vec<ObjectKey> {
        let stays = |host: &Arc<str>| other.is_some_and(|built| built.model.live.hosts.contains_key(host));
        let changed = named.iter().filter(|host| !unnamed.contains(*host) && !stays(host));
        changed.flat_map(|host| self.users_of(&Part::Name(host.clone()))).collect()
    }

    /// The namespace of a TCP service of which only the certificate changed. `None`: the entry itself did, which is of no namespace.
    fn of_certificate(&self, port: StreamPort) -> Option<Arc<str>> {
        let (old, new) = (self.running.stream_services.get(&port)?, self.wanted.stream_services.get(&port)?);
        let same_entry = StreamService { certificate: old.certificate.clone(), ..(**new).clone() } == **old;
        same_entry.then(|| new.backend.service.namespace.clone())
    }

    fn of_streams(&self) -> Vec<ObjectKey> {
        let (old, new) = (&self.running.streams, &self.wanted.streams);
        let changed = old.iter().filter(|stream| !new.contains(stream)).chain(new.iter().filter(|stream| !old.contains(stream)));
        changed.map(|(ingress, _)| ingress.clone()).collect()
    }
}
