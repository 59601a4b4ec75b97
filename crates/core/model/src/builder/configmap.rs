//! The main ConfigMap as it is in effect: without what NGINX refuses.
//!
//! A key whose value NGINX refuses is treated as an Ingress is: its last confirmed value (or none) is used until it changes, and all other keys go on.
//! The value is what is written and the content of what that names: both can be bad, and each can be mended.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use settings::Config;

use super::values::{ConfigValues, Data, KeyValue};
use crate::fixed::{Fixed, Globals, Listen};
use crate::key::ObjectRef;
use crate::modules::withhold;
use crate::options::{BuildOptions, Edition, HostOwnership};
use crate::passes::globals::Named;
use crate::problem::{Problem, ProblemKind, of_value};
use crate::profile::prebuilt;

/// What the globals of a build are made of.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Basis {
    options: Arc<BuildOptions>,
    /// The keys that are in effect.
    values: ConfigValues,
    named: Named,
    /// The databases of places that are there.
    databases: Arc<BTreeSet<Edition>>,
}

impl Basis {
    pub(super) fn new(options: Arc<BuildOptions>, data: Data, named: Named, databases: Arc<BTreeSet<Edition>>) -> Self {
        Self { options, values: ConfigValues { data, named: named.contents() }, named, databases }
    }

    /// Whether a host has the Ingresses of one namespace only.
    pub(super) fn hosts_are_owned(&self) -> bool {
        self.options.host_ownership == HostOwnership::Namespace
    }

    /// The keys that are in effect, with their values.
    pub fn values(&self) -> &ConfigValues {
        &self.values
    }

    /// What the keys name.
    pub(super) fn named(&self) -> &Named {
        &self.named
    }

    /// The databases of places that are there.
    pub(super) fn databases(&self) -> &BTreeSet<Edition> {
        &self.databases
    }

    /// What NGINX runs where there is no Ingress: the globals of these values, which need not be that of the build, and the profiles that are always there.
    ///
    /// With no value at all it is known to be sound, so that only something outside of the configuration can be wrong where NGINX refuses it.
    pub fn alone(&self, values: &ConfigValues) -> Fixed {
        let (mut config, _) = Config::parse(&values.data);
        withhold(&mut config, &self.options.missing);
        let named = Named::of(&values.named, &config);
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

/// Why a key is not used as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// NGINX refuses the value.
    Found(Arc<str>),
    /// NGINX refuses it together with others, and it is being found out which of them.
    Suspected(Arc<str>),
}

impl Refusal {
    fn describe(&self, instead: &str) -> String {
        match self {
            Self::Found(reason) => format!("NGINX refuses it: {reason}; {instead} until it changes"),
            Self::Suspected(reason) => {
                format!("NGINX refuses this or another key that changed: {reason}; {instead} until it is known which")
            }
        }
    }
}

/// Keys that NGINX refuses, and what it last confirmed.
#[derive(Debug, Clone, Default)]
pub(super) struct RefusedKeys {
    /// Each with the value that is refused, and why.
    keys: BTreeMap<String, (KeyValue, Refusal)>,
    confirmed: ConfigValues,
}

impl RefusedKeys {
    pub(super) fn confirm(&mut self, values: &ConfigValues) {
        if self.confirmed != *values {
            self.confirmed = values.clone();
        }
    }

    pub(super) fn refuse(&mut self, key: &str, value: KeyValue, refusal: Refusal) {
        self.keys.insert(key.to_owned(), (value, refusal));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// The refused values.
    pub(super) fn values(&self) -> BTreeMap<String, KeyValue> {
        self.keys.iter().map(|(key, (value, _))| (key.clone(), value.clone())).collect()
    }

    pub(super) fn release(&mut self, key: &str) {
        self.keys.remove(key);
    }

    /// The values that are used instead of these. Forgets keys whose value, or the content of what it names, has changed.
    pub(super) fn replace(&mut self, present: &ConfigValues, object: &ObjectRef, problems: &mut Vec<Problem>) -> ConfigValues {
        self.keys.retain(|key, (value, _)| present.get(key).as_ref() == Some(value));
        let mut used = present.clone();
        for (key, (value, refusal)) in &self.keys {
            let instead = match self.confirmed.get(key).filter(|last| last != value) {
                Some(last) => {
                    used.set(key, &last);
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
                detail: of_value(&settings::shown(key, &value.text), refusal.describe(instead)),
            });
        }
        used
    }
}
