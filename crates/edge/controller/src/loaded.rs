//! The configuration that NGINX is known to run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use model::{Fixed, HostRecord, HostServer, Op, ProfileId};

use crate::port::WorkerId;

/// The configuration that NGINX is known to run.
#[derive(Debug, Clone, Default)]
pub struct Loaded {
    /// Counts starts of NGINX: after each, its dictionaries are empty. 0: not started yet, or it can't read our records yet.
    pub starts: u64,
    /// Revision of the confirmed configuration.
    pub revision: String,
    /// The locations that the new workers have.
    pub locations: Locations,
    /// The text they run; `None` of an NGINX that ran before this process did, until a text of ours is applied.
    pub fixed: Option<Fixed>,
    /// The revisions of workers that the last reload, and those before it, left behind. Some of them may have ended since.
    pub earlier: Arc<BTreeMap<WorkerId, Arc<str>>>,
}

/// The named locations of an NGINX: profiles of the default server, and of server blocks of single hosts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Locations {
    default: BTreeSet<ProfileId>,
    /// By each name of the host.
    host_servers: BTreeMap<Arc<str>, Arc<BTreeSet<ProfileId>>>,
}

impl Locations {
    /// The locations of the default server alone.
    pub fn new(default: BTreeSet<ProfileId>) -> Self {
        Self { default, host_servers: BTreeMap::new() }
    }

    /// The same with a server block that has these names.
    #[must_use]
    pub fn with_host_server(mut self, names: impl IntoIterator<Item = Arc<str>>, profiles: BTreeSet<ProfileId>) -> Self {
        let profiles = Arc::new(profiles);
        self.host_servers.extend(names.into_iter().map(|name| (name, profiles.clone())));
        self
    }

    /// The locations of a text.
    pub(crate) fn of(fixed: &Fixed) -> Self {
        fixed.host_servers.iter().fold(Self::new(fixed.profiles.keys().cloned().collect()), |locations, (host, host_server)| {
            let names = std::iter::once(host.clone()).chain(host_server.aliases.iter().cloned());
            locations.with_host_server(names, host_server.profiles.iter().cloned().chain([ProfileId::default()]).collect())
        })
    }

    /// Whether the server block of a host has all of these.
    pub(crate) fn have<'a>(&self, host: &str, profiles: impl IntoIterator<Item = &'a ProfileId>) -> bool {
        let known = self.host_servers.get(host).map_or(&self.default, |host_server| &**host_server);
        profiles.into_iter().all(|id| known.contains(id))
    }
}

impl Loaded {
    /// Whether the routes of a host wait for a reload: its server block lacks a profile that they use.
    pub fn holds_back(&self, host: &str, record: &HostRecord) -> bool {
        !self.locations.have(host, &record.profiles())
    }

    /// The revisions of old workers after a reload: those that this state does not know yet ran its revision.
    pub(crate) fn left_behind(&self, old: &BTreeSet<WorkerId>) -> Arc<BTreeMap<WorkerId, Arc<str>>> {
        let ran = |worker: &WorkerId| self.earlier.get(worker).cloned().unwrap_or_else(|| self.revision.as_str().into());
        Arc::new(old.iter().map(|worker| (*worker, ran(worker))).collect())
    }

    /// Whether NGINX can serve a record as soon as it has it. A new host that the server block of a pattern would catch waits until it is named beside
    /// that, unless the block does nothing else with its requests than the default server.
    pub(crate) fn serves(&self, op: &Op, wanted: &Fixed) -> bool {
        if !self.locations.have(&op.key, &op.needs) {
            return false;
        }
        let is_caught = op.table == model::Table::Host && op.old_crc == 0 && wanted.pinned_names.contains(&op.key);
        let Some(fixed) = self.fixed.as_ref().filter(|fixed| is_caught && !fixed.pinned_names.contains(&op.key)) else { return true };
        // Every block has the default profile, other ones only for its own routes.
        op.needs.iter().all(|id| *id == ProfileId::default())
            && fixed.host_servers.iter().all(|(host, host_server)| is_harmless(host, host_server))
    }
}

/// Whether a server block may serve a host that it catches: it has no pattern, or nothing in it but ciphers, which are then those of this host until
/// it is named.
fn is_harmless(host: &str, host_server: &HostServer) -> bool {
    let has_pattern = [host].into_iter().chain(host_server.aliases.iter().map(|alias| &**alias)).any(|name| name.starts_with(['*', '~']));
    !has_pattern || (host_server.snippet.is_none() && host_server.clients.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(names: &[&str]) -> BTreeSet<ProfileId> {
        names.iter().map(|name| ProfileId((*name).into())).collect()
    }

    #[test]
    fn a_worker_keeps_the_revision_that_it_ran_until_it_has_ended() {
        let of = |revision: &str, earlier| Loaded { revision: revision.into(), earlier, ..Loaded::default() };
        let first = of("one", Arc::default()).left_behind(&[(7, 1), (8, 1)].into());
        let second = of("two", first).left_behind(&[(8, 1), (9, 2)].into());
        assert_eq!(*second, [((8, 1), Arc::from("one")), ((9, 2), Arc::from("two"))].into());
    }

    #[test]
    fn a_host_with_a_server_block_needs_its_profiles_there() {
        let locations =
            Locations::new(ids(&["base", "a", "b"])).with_host_server(["x.example".into(), "y.example".into()], ids(&["base", "a"]));
        for host in ["x.example", "y.example"] {
            assert!(locations.have(host, &ids(&["base", "a"])) && !locations.have(host, &ids(&["b"])), "{host}");
        }
        assert!(locations.have("z.example", &ids(&["a", "b"])) && !locations.have("z.example", &ids(&["c"])));
    }

    #[test]
    fn a_new_host_below_a_pattern_with_a_server_block_waits_until_it_is_named_beside_it() {
        let op =
            |old_crc| Op { table: model::Table::Host, key: "a.x.example".into(), value: Some("{}".into()), old_crc, needs: Vec::new() };
        let mut wanted = Fixed::default();
        let with = |host_server: HostServer| Fixed {
            host_servers: [(Arc::from("*.x.example"), Arc::new(host_server))].into_iter().collect(),
            ..Fixed::default()
        };
        let text = HostServer { snippet: Some("return 204;".parse().unwrap()), ..HostServer::default() };
        let mut loaded = Loaded { fixed: Some(with(text)), locations: Locations::new(ids(&["base", "a"])), ..Loaded::default() };
        assert!(loaded.serves(&op(0), &wanted));
        wanted.pinned_names.insert("a.x.example".into());
        assert!(!loaded.serves(&op(0), &wanted) && loaded.serves(&op(1), &wanted));
        loaded.fixed = Some(wanted.clone());
        assert!(loaded.serves(&op(0), &wanted));
        // A block with ciphers alone serves what needs the default profile only.
        loaded.fixed = Some(with(HostServer { prefer_server_ciphers: Some(true), ..HostServer::default() }));
        assert!(loaded.serves(&op(0), &wanted));
        let needs = |profile: &str| Op { needs: ids(&[profile]).into_iter().collect(), ..op(0) };
        assert!(loaded.serves(&needs("base"), &wanted) && !loaded.serves(&needs("a"), &wanted));
    }
}
