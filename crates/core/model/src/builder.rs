//! The incremental build.
//!
//! The builder keeps what it derived from the last snapshot in persistent maps, with indexes from each object to what it
//! influences. A build takes the difference to the new snapshot, marks the Ingresses, hosts and backends that it touches,
//! and rebuilds these only. A build from nothing is the same code with the difference to the empty snapshot, so that there
//! is one path to test; a property test holds the two against each other.

mod backends;
mod built;
mod certificates;
mod changes;
mod claims;
mod config;
mod configmap;
mod dirty;
pub(crate) mod index;
mod ingresses;
mod last_readable;
mod names;
mod orphans;
mod owners;
mod passthrough_map;
mod pinned_names;
mod review;
mod room;
mod staples;
mod state;
mod stream_services;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::OrdMap;
use settings::Derived;

use crate::fixed::StreamPort;
use crate::ingress::accept::Classes;
use crate::key::{BackendId, BackendPort, ObjectKey};
use crate::last_readable::{LastReadable, follow};
use crate::live::BackendRecord;
use crate::object::Ingress;
use crate::options::BuildOptions;
use crate::passes::backend::{DEFAULT_KEY, DEFAULT_NAME, Users};
use crate::passes::certificate::Certificate;
use crate::passes::host;
use crate::problem::Problem;
use crate::rule::{CATCH_ALL, RuleSet};
use crate::shares;
use crate::snapshot::{Objects, Snapshot};
use built::Subject;
use changes::Changes;
use configmap::RefusedKeys;
use dirty::Dirty;
use state::{BuilderState, set, set_if_changed};
use stream_services::RefusedCertificates;

pub use built::Built;
pub use configmap::{Basis, Refusal};
pub use orphans::Lack;
pub use review::Review;
pub use values::{ConfigValues, Data, KeyValue};

/// Ingresses of which NGINX refused what they ask for, each with the reason.
pub type Quarantine = OrdMap<ObjectKey, Arc<str>>;

/// Keeps what the last build found, so that the next one costs what changed.
#[derive(Debug, Clone)]
pub struct Builder {
    options: Arc<BuildOptions>,
    fallback: Certificate,
    state: BuilderState,
    /// Ingresses whose quarantine began or ended since the last build.
    requarantined: BTreeSet<ObjectKey>,
    /// What the last configuration that NGINX confirmed was built from: the fallback of what is quarantined.
    last_confirmed: OrdMap<ObjectKey, Arc<RuleSet>>,
    /// The last accepted versions of Ingresses that were changed into something that is refused. As objects, not as what was made of them: read
    /// again under the settings of today, so that a version which these no longer allow does not outlive them.
    last_accepted: Objects<Ingress>,
    last_readable: LastReadable,
    refused: RefusedKeys,
    refused_certificates: RefusedCertificates,
    /// Ports of TCP and UDP services that could not be opened, each with the reason.
    closed_ports: BTreeMap<StreamPort, String>,
}

impl Builder {
    /// A builder that has seen nothing yet.
    ///
    /// # Panics
    /// If `settings.fallback_certificate` is neither empty nor a usable pair: the program generates it.
    pub fn new(options: BuildOptions) -> Self {
        let fallback = if options.fallback_certificate.chain.is_empty() {
            Certificate::empty()
        } else {
            Certificate::from_pem(options.fallback_certificate.clone()).expect("the generated fallback certificate is usable")
        };
        Self {
            options: Arc::new(options),
            fallback,
            state: BuilderState::default(),
            requarantined: BTreeSet::new(),
            last_confirmed: OrdMap::new(),
            last_accepted: Objects::new(),
            last_readable: LastReadable::default(),
            refused: RefusedKeys::default(),
            refused_certificates: RefusedCertificates::default(),
            closed_ports: BTreeMap::new(),
        }
    }

    /// The settings it builds with.
    pub fn options(&self) -> &BuildOptions {
        &self.options
    }

    /// Quarantines an Ingress, until it or the settings change: its last version that NGINX confirmed is used, or none.
    ///
    /// `built`: what NGINX refused. An Ingress that has changed since then is not meant, nor any after a change of the settings.
    pub fn quarantine(&mut self, ingress: &ObjectKey, reason: &str, built: &Built) {
        let (then, now) = (built.rules.get(ingress), self.state.built.rules.get(ingress));
        let same_settings = built.model.fixed.globals.config == *self.state.config;
        if same_settings && then.zip(now).is_some_and(|(then, now)| Arc::ptr_eq(then, now)) {
            self.state.built.quarantined.insert(ingress.clone(), reason.into());
            self.requarantined.insert(ingress.clone());
        }
    }

    /// Ends the quarantine of an Ingress.
    pub fn release(&mut self, ingress: &ObjectKey) {
        if self.state.built.quarantined.remove(ingress).is_some() {
            self.requarantined.insert(ingress.clone());
        }
    }

    /// Refuses this value of a key of the ConfigMap until it changes: its last value that NGINX confirmed is used, or its default.
    pub fn refuse_key(&mut self, key: &str, value: KeyValue, refusal: Refusal) {
        self.refused.refuse(key, value, refusal);
    }

    /// Accepts the value of a key again.
    pub fn release_key(&mut self, key: &str) {
        self.refused.release(key);
    }

    /// Refuses a certificate of TCP services, by its content address: the last one that NGINX confirmed is used, or connections are closed.
    pub fn refuse_certificate(&mut self, id: &str, reason: &str) {
        self.refused_certificates.refuse(id, reason);
    }

    /// Takes the ports of TCP and UDP services that could not be opened, in place of those of before.
    pub fn closed_ports(&mut self, ports: BTreeMap<StreamPort, String>) {
        for port in std::mem::replace(&mut self.closed_ports, ports).into_keys() {
            self.state.set_problems(Subject::ClosedPort(port), Vec::new());
        }
    }

    /// Accepts it again.
    pub fn release_certificate(&mut self, id: &str) {
        self.refused_certificates.release(id);
    }

    /// Goes on from the values of a ConfigMap that NGINX confirmed earlier.
    #[must_use]
    pub fn with_confirmed(mut self, values: &ConfigValues) -> Self {
        self.refused.confirm(values);
        self
    }

    /// The last accepted versions of Ingresses whose present one is refused: they are served instead.
    pub fn last_accepted(&self) -> &Objects<Ingress> {
        &self.last_accepted
    }

    /// The last readable versions of ConfigMaps and Secrets whose present one can't be used.
    pub fn last_readable(&self) -> &LastReadable {
        &self.last_readable
    }

    /// Goes on from the versions of ConfigMaps and Secrets that another builder has.
    #[must_use]
    pub fn with_last_readable(self, last_readable: LastReadable) -> Self {
        Self { last_readable, ..self }
    }

    /// Remembers that NGINX confirmed what this build came to.
    pub fn confirmed(&mut self, built: &Built) {
        self.last_confirmed = built.rules.clone();
        self.refused.confirm(built.basis.values());
        self.refused_certificates.confirm(&built.model.fixed.stream_services);
    }

    /// Brings the model up to `snapshot`. Cheap when little changed since the last call.
    pub fn build(&mut self, snapshot: &Snapshot) -> Built {
        let (changes, mut dirty) = self.follow(snapshot);
        let mut accepted = Vec::new();
        for key in &changes.ingresses {
            let (rules, problems) = self.parse(key, &mut accepted);
            self.replace(key, rules, problems, &mut dirty);
        }
        self.settle(&changes, accepted, dirty)
    }

    /// Goes over to a snapshot: settings, indexes of what objects name, and which of them are to be read again.
    fn follow(&mut self, snapshot: &Snapshot) -> (Changes, Dirty) {
        let mut config_problems = Vec::new();
        let (config, data, named) = self.read_config(snapshot, &mut config_problems);
        let config = Arc::new(config);
        let classes = Classes::of(snapshot, &self.options);
        let changed_keys = config.changed_keys(&self.state.config);
        let everything = changed_keys.iter().any(|key| key.invalidates.contains(&Derived::Ingresses))
            || classes != self.state.classes
            || self.state.built.model.live.hosts.is_empty()
            || (!self.options.namespace_selector.is_empty() && snapshot.namespaces != self.state.snapshot.namespaces);
        let built = &self.state.built;
        let accepted = |key: &ObjectKey| built.rules.get(key).is_some_and(|rules| !rules.closed) && !built.quarantined.contains_key(key);
        for (key, forgotten) in follow(&mut self.last_accepted, &self.state.snapshot.ingresses, &snapshot.ingresses, accepted) {
            self.state.refer(&key, Some(&forgotten), None);
        }
        self.last_readable.follow(&self.state.snapshot, snapshot);
        if everything {
            // Quarantines end, too: what NGINX refused it refused beside the settings of then.
            let capacity = shares::capacity(&config);
            self.state = BuilderState { config: config.clone(), classes, capacity, ..BuilderState::default() };
        }
        let mut changes = Changes::between(&self.state.snapshot, snapshot);
        for key in changes.ingresses.iter() {
            self.state.built.quarantined.remove(key);
        }
        changes.ingresses.append(&mut self.requarantined);
        let mut dirty = Dirty { everything, ..Dirty::default() };
        if !everything && !changed_keys.is_empty() {
            self.replace_config(config, &changed_keys, &mut changes, &mut dirty);
        }
        for key in &changes.ingresses {
            let (old, new) = (self.state.snapshot.ingresses.get(key).cloned(), snapshot.ingresses.get(key));
            self.state.refer(key, old.as_deref(), new.map(|new| &**new));
            self.state.refer(key, None, self.last_accepted.get(key).map(|last| &**last));
        }
        let referrers: Vec<ObjectKey> =
            changes.references().flat_map(|reference| self.state.referrers.values(&reference).cloned().collect::<Vec<_>>()).collect();
        changes.ingresses.extend(referrers);
        self.state.snapshot = snapshot.clone();
        self.state.set_problems(Subject::Config, config_problems);
        let refused = self.refused.values();
        if refused != *self.state.built.refused_keys {
            self.state.built.refused_keys = Arc::new(refused);
        }

        let basis = &self.state.built.basis;
        if everything || named != *basis.named() || data != basis.values().data || *snapshot.databases != *basis.databases() {
            self.globals(data, named, snapshot.databases.clone());
        }
        if everything {
            self.prebuilt_profiles();
        }
        (changes, dirty)
    }

    /// Replaces the rules of an object, keeps the indexes true, and marks the hosts and backends that it names or named.
    fn replace(&mut self, key: &ObjectKey, rules: Option<Arc<RuleSet>>, mut problems: Vec<Problem>, dirty: &mut Dirty) {
        self.serve(key, None, dirty);
        let weighed = self.weigh(key, rules.as_ref());
        let rules = rules.filter(|_| weighed.is_ok());
        problems.extend(weighed.err());
        self.state.set_problems(Subject::Object(key.clone()), problems);
        self.state.set_problems(Subject::Share(key.clone()), Vec::new());
        self.claim(key, rules.as_deref(), dirty);
        self.serve(key, rules, dirty);
    }

    /// Builds what was marked, from rules alone. `accepted`: objects whose rules are those of their present version.
    fn settle(&mut self, changes: &Changes, accepted: Vec<ObjectKey>, mut dirty: Dirty) -> Built {
        self.settle_shares(accepted, &mut dirty);
        let streams = self.state.streams.iter().map(|(origin, text)| (origin.key().clone(), text.clone()));
        self.state.built.model.fixed.streams = streams.collect();
        self.index_slices(changes, &mut dirty);
        self.mark(changes, &mut dirty);
        self.settle_secrets(&mut dirty);
        if changes.is_later {
            self.judge_certificates();
            dirty.default_certificate = true;
        }
        self.default_certificate(&mut dirty);
        self.build_hosts(&mut dirty);
        changes.staples.iter().for_each(|id| self.state.set_staple(id));
        self.build_backends(&dirty);
        self.settle_endpoints();
        self.state.built.usage = self.state.usage();
        self.state.built.tenants = self.state.tenants();
        self.set_passthrough_map(&dirty);
        self.set_stream_services(changes, &dirty);
        self.forget_last_readable();
        self.state.built.clone()
    }

    fn index_slices(&mut self, changes: &Changes, dirty: &mut Dirty) {
        for (slice, old, new) in &changes.endpoint_slices {
            if old != new {
                if let Some(service) = old {
                    self.state.slices.remove(service, slice);
                }
                if let Some(service) = new {
                    self.state.slices.add(service, slice);
                }
            }
            dirty.services.extend(old.iter().chain(new).cloned());
        }
    }

    /// Marks what is reached through Services, Secrets and resolved names.
    fn mark(&mut self, changes: &Changes, dirty: &mut Dirty) {
        dirty.services.extend(changes.services.iter().cloned());
        for service in &dirty.services {
            let from = BackendId { service: service.clone(), port: BackendPort::Number(0) };
            let of_service = self.state.backends.keys_from(&from).take_while(|id| id.service == *service);
            dirty.backends.extend(of_service.cloned());
            if self.options.default_backend_service.as_ref() == Some(service) {
                dirty.default_backend = true;
            }
        }
        for name in &changes.addresses {
            for id in self.state.built.external_names.claimants.values(name) {
                dirty.default_backend |= id.port == BackendPort::First;
                dirty.backends.insert(id.clone());
            }
        }
        let secrets: BTreeSet<&ObjectKey> = changes.secrets.iter().chain(&changes.issuers).collect();
        dirty.secrets.extend(secrets.iter().copied().cloned());
        for secret in secrets {
            for key in self.state.secrets.values(secret) {
                if let Some(rules) = self.state.built.rules.get(key) {
                    dirty.hosts.extend(rules.hosts());
                }
            }
            dirty.default_certificate |= self.options.default_ssl_certificate.as_ref() == Some(secret);
        }
        if dirty.everything {
            dirty.hosts.insert(CATCH_ALL.into());
            dirty.default_backend = true;
            dirty.default_certificate = true;
        }
    }

    fn build_hosts(&mut self, dirty: &mut Dirty) {
        let host_servers = self.state.built.model.fixed.host_servers.clone();
        let mut names: BTreeSet<Arc<str>> = dirty.hosts.clone();
        for name in &dirty.hosts {
            names.extend(self.build_host(name, &mut dirty.backends));
        }
        names.extend(self.below(&names));
        for name in &names {
            self.name(name);
        }
        if names.iter().any(|name| names::is_pattern(name)) {
            self.list_patterns();
        }
        self.keep_own_aliases(&dirty.hosts, &names);
        pinned_names::settle(&mut self.state.built.model, &host_servers, &names);
    }

    /// Builds one host's record, and marks the backends whose alternatives it decides about. Returns the further names that it had or has.
    fn build_host(&mut self, name: &Arc<str>, backends: &mut BTreeSet<BackendId>) -> Vec<Arc<str>> {
        let sets: Vec<&RuleSet> = self.rules_on(name).map(|rules| &**rules).collect();
        let (sets, crowded) = room::fit(name, sets);
        let (mut host, exists) =
            host::build(name, &sets, &self.state.config, &self.state.held_secrets, self.options.passthrough().is_some());
        host.problems.extend(self.strangers(name).into_iter().chain(crowded));
        // One that only an object claims which is refused is served by no wildcard, which may be another namespace's.
        let exists = exists || (!names::is_pattern(name) && self.owner(name).is_some());
        let state = &mut self.state;
        state.passthrough.replace(name, host.passthrough.into_iter().collect());
        backends.extend(state.set_choices(name, host.choices));
        state.profiles.replace_in(&mut state.built.model.fixed.profiles, name, host.profiles);
        let users = host.users.into_iter().map(|users| (users.id, users.record)).collect();
        state.users.replace_in(&mut state.built.model.live.users, name, users);
        set(&mut state.built.model.fixed.host_servers, name, host.host_server.map(Arc::new));
        if exists {
            set_if_changed(&mut state.built.model.live.hosts, name, host.record);
        } else {
            state.built.model.live.hosts.remove(name);
        }

        state.set_problems(Subject::Host(name.clone()), host.problems);
        self.set_names(name, host.aliases, host.www_alias)
    }

    fn build_backends(&mut self, dirty: &Dirty) {
        for id in &dirty.backends {
            if self.state.backends.has(id) {
                self.put_backend(id);
                continue;
            }
            self.state.built.model.live.backends.remove(&*id.wire());
            self.state.backend_shares.set(id, None);
            self.state.cut_backends.remove(id);
            self.state.set_problems(Subject::Backend(id.clone()), Vec::new());
            // The default backend of all may be the same Service.
            if id.port != BackendPort::First || self.options.default_backend_service.as_ref() != Some(&id.service) {
                self.state.set_external_name(id, None);
            }
        }
        if dirty.default_backend {
            let key: Arc<str> = DEFAULT_KEY.into();
            let mut record = BackendRecord::default();
            if let Some(service) = &self.options.default_backend_service {
                let id = BackendId { service: service.clone(), port: BackendPort::First };
                let (built, problems) = self.backend(&id, &Users::default());
                self.state.set_external_name(&id, self.external_name(service));
                self.state.set_problems(Subject::Backend(id), problems);
                record = built;
            }
            record.name = DEFAULT_NAME.into();
            set_if_changed(&mut self.state.built.model.live.backends, &key, record);
        }
    }
}

#[cfg(test)]
mod tests;
