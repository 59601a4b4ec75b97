//! The global settings of a build: the ConfigMap, the headers that it names, the profiles that are always there.

use std::sync::Arc;

use annotations::Config;

use super::{Basis, Builder, Data, settings};
use crate::fixed::GlobalHeaders;
use crate::key::ObjectRef;
use crate::modules::{collector_remark, withhold};
use crate::passes::globals;
use crate::problem::{Problem, ProblemKind, of_value};
use crate::profile::stock;
use crate::snapshot::Snapshot;

impl Builder {
    pub(super) fn read_config(&mut self, snapshot: &Snapshot, problems: &mut Vec<Problem>) -> (Config, Data) {
        let Some(key) = &self.settings.configmap else { return (Config::default(), Data::new()) };
        let object = ObjectRef::namespaced("ConfigMap", key);
        let empty = Data::new();
        let Some(map) = snapshot.config_maps.get(key) else {
            let detail = "the ConfigMap of --configmap does not exist; every setting has its default".to_owned();
            problems.push(Problem { object, field: String::new(), kind: ProblemKind::Configuration, detail });
            return (Config::default(), empty);
        };
        let data = self.refused.replace(map.data.as_ref().unwrap_or(&empty), &object, problems);
        let (mut config, findings) = Config::parse(&data);
        let problem = |key: &str, detail: String| Problem {
            object: object.clone(),
            field: format!("data[{key:?}]"),
            kind: ProblemKind::Configuration,
            detail,
        };
        problems.extend(findings.into_iter().map(|finding| problem(&finding.key, of_value(&finding.value, finding.detail))));
        for (key, module) in withhold(&mut config, &self.settings.missing) {
            problems.push(problem(key, format!("NGINX lacks {}; it is as if this was not set", module.describe())));
        }
        problems.extend(collector_remark(&config).map(|(key, detail)| problem(key, detail.to_owned())));
        (config, data.into_owned())
    }

    pub(super) fn read_headers(&self, config: &Config, snapshot: &Snapshot, problems: &mut Vec<Problem>) -> GlobalHeaders {
        let Some(key) = &self.settings.configmap else { return GlobalHeaders::default() };
        globals::headers(&ObjectRef::namespaced("ConfigMap", key), config, snapshot, problems)
    }

    pub(super) fn globals(&mut self, data: Data, headers: GlobalHeaders) {
        let built = &mut self.state.built;
        built.model.fixed.globals = Arc::new(settings::globals(&self.settings, (*self.state.config).clone(), headers.clone()));
        built.basis = Arc::new(Basis::new(self.settings.clone(), data, headers));
    }

    pub(super) fn stock_profiles(&mut self) {
        for profile in stock(&self.state.config) {
            let id = profile.id();
            self.state.profiles.add(&id);
            self.state.built.model.fixed.profiles.insert(id, Arc::new(profile));
        }
    }
}
