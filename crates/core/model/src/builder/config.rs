//! The global settings of a build: the ConfigMap, the headers that it names, the profiles that are always there, and what a change invalidates.

use std::collections::BTreeSet;
use std::sync::Arc;

use ngx_value::Identifier;
use settings::{Config, ConfigEntry, Derived, sized_dictionaries};

use super::built::Subject;
use super::changes::Changes;
use super::dirty::Dirty;
use super::{Basis, Builder, ConfigValues, Data, configmap};
use crate::key::ObjectRef;
use crate::modules::{collector_remark, withhold};
use crate::options::Edition;
use crate::passes::globals::Named;
use crate::passes::weigh::weigh;
use crate::problem::{Problem, ProblemKind, of_value};
use crate::profile::prebuilt;
use crate::rule::{CATCH_ALL, RuleSet};
use crate::snapshot::Snapshot;

/// The owner of the profiles that are always there: no host has this name.
const NO_HOST: &str = "";

impl Builder {
    /// Reads the ConfigMap, and what it names: what is in effect, as typed settings and as written.
    pub(super) fn read_config(&mut self, snapshot: &Snapshot, problems: &mut Vec<Problem>) -> (Config, Data, Named) {
        let (mut config, data, named) = self.read_config_map(snapshot, problems);
        let given = Self::sized_by_user(&data);
        config.lua_shared_dicts.extend(self.sizes.clone().into_iter().filter(|(name, _)| !given.contains(name)));
        (config, data, named)
    }

    /// The dictionaries that have a size of the user.
    pub(super) fn sized_by_user(data: &Data) -> BTreeSet<Identifier> {
        data.get("lua-shared-dicts").map(|value| sized_dictionaries(value)).unwrap_or_default()
    }

    fn read_config_map(&mut self, snapshot: &Snapshot, problems: &mut Vec<Problem>) -> (Config, Data, Named) {
        let Some(key) = &self.options.configmap else { return Default::default() };
        let object = ObjectRef::namespaced("ConfigMap", key);
        let empty = Data::new();
        let Some(map) = snapshot.config_maps.get(key) else {
            let detail = "the ConfigMap of --configmap does not exist; every setting has its default".to_owned();
            problems.push(Problem { object, field: String::new(), kind: ProblemKind::Configuration, detail });
            return Default::default();
        };
        let present = map.data.as_ref().unwrap_or(&empty);
        let used = if self.refused.is_empty() { None } else { Some(self.replace_refused(present, &object, snapshot, problems)) };
        let data = used.as_ref().map_or(present, |used| &used.data);
        let (mut config, findings) = Config::parse(data);
        let problem = |key: &str, detail: String| Problem {
            object: object.clone(),
            field: format!("data[{key:?}]"),
            kind: ProblemKind::Configuration,
            detail,
        };
        problems.extend(findings.into_iter().map(|finding| problem(&finding.key, of_value(&finding.value, finding.detail))));
        for (key, module) in withhold(&mut config, &self.options.missing) {
            problems.push(problem(key, format!("NGINX lacks {}; it is as if this was not set", module.describe())));
        }
        let absent = if config.use_geoip2 { self.options.geoip.missing(&snapshot.databases) } else { Vec::new() };
        if !absent.is_empty() {
            let names: Vec<&str> = absent.into_iter().map(Edition::name).collect();
            let (names, place) = (names.join(", "), self.options.geoip.directory.display());
            problems.push(problem("use-geoip2", format!("no usable database {names} in {place}; their variables are empty")));
        }
        problems.extend(collector_remark(&config).map(|(key, detail)| problem(key, detail.to_owned())));
        let present_named = Named::read(&object, &config, snapshot, problems);
        let named = used.as_ref().map_or(present_named, |used| Named::of(&used.named, &config));
        (config, data.clone(), named)
    }

    /// The values that are used where NGINX refuses some of the present ones.
    fn replace_refused(&mut self, data: &Data, object: &ObjectRef, snapshot: &Snapshot, problems: &mut Vec<Problem>) -> ConfigValues {
        let named = Named::read(object, &Config::parse(data).0, snapshot, &mut Vec::new());
        let present = ConfigValues { data: data.clone(), named: named.contents() };
        self.refused.replace(&present, object, problems)
    }

    pub(super) fn globals(&mut self, data: Data, named: Named, databases: Arc<BTreeSet<Edition>>) {
        let built = &mut self.state.built;
        let globals = configmap::globals(&self.options, (*self.state.config).clone(), named.clone(), &databases);
        built.model.fixed.globals = Arc::new(globals);
        built.basis = Arc::new(Basis::new(self.options.clone(), data, named, databases));
    }

    /// Goes over to other settings, and marks what the keys that changed invalidate; none of them has a say in how annotations are read.
    pub(super) fn replace_config(&mut self, config: Arc<Config>, changed: &[&ConfigEntry], changes: &mut Changes, dirty: &mut Dirty) {
        let invalidates = |part| changed.iter().any(|key| key.invalidates.contains(&part));
        let state = &mut self.state;
        state.config = config;
        // What NGINX refused it refused beside the settings of then.
        changes.ingresses.extend(std::mem::take(&mut state.built.quarantined).keys().cloned());
        if invalidates(Derived::Routes) || changed.iter().any(|key| key.is_default_of_annotations()) {
            changes.ingresses.extend(state.built.problems.keys().filter_map(Subject::object).cloned());
        }
        if invalidates(Derived::Routes) {
            let has_other_weight = |rules: &&Arc<RuleSet>| weigh(rules, &state.config) != *rules.claim;
            changes.ingresses.extend(state.built.rules.values().filter(has_other_weight).map(|rules| rules.key().clone()));
            dirty.hosts.extend(state.hosts.keys().cloned().chain([CATCH_ALL.into()]));
            self.prebuilt_profiles();
        }
        if invalidates(Derived::Backends) {
            dirty.backends.extend(self.state.backends.keys().cloned());
            dirty.default_backend = true;
        }
    }

    /// Brings the profiles that are always there up to date.
    pub(super) fn prebuilt_profiles(&mut self) {
        let state = &mut self.state;
        let profiles = prebuilt(&state.config).map(|profile| (profile.id(), Arc::new(profile))).collect();
        state.profiles.replace_in(&mut state.built.model.fixed.profiles, &NO_HOST.into(), profiles);
    }
}
