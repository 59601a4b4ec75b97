//! The main ConfigMap as it is in effect: without what NGINX refuses.
//!
//! A key whose value NGINX refuses is treated as an Ingress is: its last confirmed value (or none) is used until it changes, and all other keys go on.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use settings::Config;

use crate::fixed::{Fixed, Globals, Listen};
use crate::key::ObjectRef;
use crate::modules::withhold;
use crate::options::{BuildOptions, Edition, HostOwnership};
use crate::passes::globals::Named;
use crate::problem::{Problem, ProblemKind, of_value};
use crate::profile::prebuilt;

/// The data of a ConfigMap.
pub type Data = BTreeMap<String, String>;

/// What the globals of a build are made of.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Basis {
    options: Arc<BuildOptions>,
    /// The keys that are in effect, as written.
    data: Data,
    named: Named,
    /// The databases of places that are there.
    databases: Arc<BTreeSet<Edition>>,
}

impl Basis {
    pub(super) fn new(options: Arc<BuildOptions>, data: Data, named: Named, databases: Arc<BTreeSet<Edition>>) -> Self {
        Self { options, data, named, databases }
    }

    /// Whether a host has the Ingresses of one namespace only.
    pub(super) fn hosts_are_owned(&self) -> bool {
        self.options.host_ownership == HostOwnership::Namespace
    }

    /// The keys that are in effect, with their values.
    pub fn data(&self) -> &Data {
        &self.data
    }

    /// What the keys name.
    pub(super) fn named(&self) -> &Named {
        &self.named
    }

    /// The databases of places that are there.
    pub(super) fn databases(&self) -> &BTreeSet<Edition> {
        &self.databases
    }

    /// What NGINX runs where there is no Ingress: the globals of this data, which need not be that of the build, and the profiles that are always there.
    ///
    /// With no data at all it is known to be sound, so that only something outside of the configuration can be wrong where NGINX refuses it.
    pub fn alone(&self, data: &Data) -> Fixed {
        let (mut config, _) = Config::parse(data);
        withhold(&mut config, &self.options.missing);
        let named = self.named.of(&config);
        let profiles = prebuilt(&config).map(|profile| (profile.id(), Arc::new(profile))).collect();
        Fixed { globals: Arc::new(globals(&self.options, config, named, &self.databases)), profiles, ..Fixed::default() }
    }
}

/// The globals of these settings.
pub(super) fn globals(options: &BuildOptions, config: Config, named: Named, databases: &BTreeSet<Edition>) -> Globals {
    Globals {
        databases: if config.use_geoip2 { options.geoip.databases(databases) } else { Vec::new() },
        config,
        headers: named.headers,
        dh_parameters: named.dh_parameters,
        listen: Listen {
            http: options.http_port,
            https: options.https_port,
            passthrough: options.passthrough(),
            stream: options.stream_port,
        },
        static_certificate: options.fallback_certificate.clone(),
        health_check_path: options.health_check_path.clone(),
        counting: options.counting.clone(),
        allows_local: options.local.allowed,
        control_ports: options.local.control_ports.clone(),
        places: Default::default(),
    }
}

/// Keys that NGINX refuses, and what it last confirmed.
#[derive(Debug, Clone, Default)]
pub(super) struct RefusedKeys {
    /// Each with the value that is refused, and why.
    keys: BTreeMap<String, (String, Arc<str>)>,
    confirmed: Data,
}

impl RefusedKeys {
    pub(super) fn confirm(&mut self, data: &Data) {
        if self.confirmed != *data {
            self.confirmed = data.clone();
        }
    }

    pub(super) fn refuse(&mut self, key: &str, value: &str, reason: &str) {
        self.keys.insert(key.to_owned(), (value.to_owned(), reason.into()));
    }

    pub(super) fn names(&self) -> BTreeSet<String> {
        self.keys.keys().cloned().collect()
    }

    pub(super) fn release(&mut self, key: &str) {
        self.keys.remove(key);
    }

    /// The data that is used instead of this. Forgets keys whose value has changed.
    pub(super) fn replace<'a>(&mut self, data: &'a Data, object: &ObjectRef, problems: &mut Vec<Problem>) -> Cow<'a, Data> {
        self.keys.retain(|key, (value, _)| data.get(key) == Some(value));
        if self.keys.is_empty() {
            return Cow::Borrowed(data);
        }
        let mut used = data.clone();
        for (key, (value, reason)) in &self.keys {
            let last = self.confirmed.get(key).filter(|last| *last != value);
            let instead = match last {
                Some(last) => {
                    used.insert(key.clone(), last.clone());
                    "its last accepted value stays active"
                }
                None => {
                    used.remove(key);
                    "its default is used"
                }
            };
            problems.push(Problem {
                object: object.clone(),
                field: format!("data[{key:?}]"),
                kind: ProblemKind::Configuration,
                detail: of_value(&settings::shown(key, value), format!("NGINX refuses it: {reason}; {instead} until it changes")),
            });
        }
        Cow::Owned(used)
    }
}
