//! What each name means: a host, the other name of one with or without `www.`, an alias, or nothing; and which certificate it has.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::built::Origin;
use super::state::{set, set_if_changed};
use super::{Builder, host};
use crate::fixed::Shell;
use crate::key::ObjectRef;
use crate::live::{HostRecord, NamePatterns};
use crate::passes::certificate::{self, Choice};
use crate::passes::ingress::CATCH_ALL;
use crate::problem::{Problem, ProblemKind};

/// Key of the record that lists the names which are patterns.
const PATTERNS: &str = "~";

impl Builder {
    /// Replaces the further names of a host. Returns those that it had or has.
    pub(super) fn set_names(&mut self, name: &Arc<str>, aliases: Vec<Arc<str>>, twin: Option<Arc<str>>) -> Vec<Arc<str>> {
        let state = &mut self.state;
        let old: Vec<Arc<str>> = state.host_aliases.get(name).iter().flat_map(|aliases| aliases.iter().cloned()).collect();
        for alias in &old {
            state.aliases.remove(alias, name);
        }
        for alias in &aliases {
            state.aliases.add(alias, name);
        }
        set(&mut state.host_aliases, name, (!aliases.is_empty()).then(|| aliases.clone().into()));

        let old_twin = state.host_twins.get(name).cloned();
        if let Some(old) = &old_twin {
            state.twins.remove(old, name);
        }
        if let Some(twin) = &twin {
            state.twins.add(twin, name);
        }
        set(&mut state.host_twins, name, twin.clone());
        old.into_iter().chain(aliases).chain(old_twin).chain(twin).collect()
    }

    /// Settles what a name means after hosts changed.
    pub(super) fn name(&mut self, name: &Arc<str>) {
        let is_host = self.is_host(name);
        let twin_of = if is_host { None } else { self.claimant(self.state.twins.values(name)) };
        let alias_of = if is_host || twin_of.is_some() { None } else { self.claimant(self.state.aliases.values(name)) };
        let hosts = &mut self.state.built.model.live.hosts;
        if let Some(host) = &twin_of {
            set_if_changed(hosts, name, HostRecord { redirect_to: Some(host.clone()), ..HostRecord::default() });
        } else if !is_host {
            let record = alias_of.as_ref().filter(|_| !is_pattern(name)).and_then(|host| hosts.get(host)).cloned();
            set(hosts, name, record);
        }
        let mut problems = if is_host { self.lost_names(name) } else { Vec::new() };
        let certificate = match twin_of.or(alias_of) {
            Some(host) => match self.choose(&host).0 {
                Choice::Own(certificate, _) if certificate.covers(name) => Some(certificate),
                _ => None,
            },
            None => {
                let (choice, problem) = self.choose(name);
                problems.extend(problem);
                match choice {
                    Choice::None => None,
                    Choice::Default(_) => self.state.default_certificate.clone(),
                    Choice::Own(certificate, _) => Some(certificate),
                }
            }
        };
        self.state.set_problems(Origin::Name(name.clone()), problems);
        self.state.set_certificate(name, certificate);
    }

    /// Takes from server blocks the aliases that mean something else: in NGINX the first block with a name has it, of any host.
    pub(super) fn keep_own_aliases(&mut self, hosts: &BTreeSet<Arc<str>>, names: &BTreeSet<Arc<str>>) {
        let claimants = names.iter().flat_map(|name| self.state.aliases.values(name).cloned());
        let touched: BTreeSet<Arc<str>> = hosts.iter().cloned().chain(claimants).collect();
        for host in touched {
            let Some(shell) = self.state.built.model.fixed.shells.get(&host).cloned() else { continue };
            let Some(wanted) = self.state.host_aliases.get(&host) else { continue };
            let aliases: Vec<Arc<str>> = wanted.iter().filter(|alias| self.is_alias_of(alias, &host)).cloned().collect();
            if shell.aliases != aliases {
                self.state.built.model.fixed.shells.insert(host, Arc::new(Shell { aliases, ..(*shell).clone() }));
            }
        }
    }

    fn is_alias_of(&self, name: &Arc<str>, host: &Arc<str>) -> bool {
        let state = &self.state;
        !state.host_profiles.contains_key(name) && !state.twins.has(name) && state.aliases.values(name).next() == Some(host)
    }

    /// Lists the names that are patterns anew.
    pub(super) fn list_patterns(&mut self) {
        let state = &self.state;
        let aliases = |from: &str| {
            let from: Arc<str> = from.into();
            let keys: Vec<Arc<str>> = state.aliases.keys_from(&from).take_while(|key| key.starts_with(&*from)).cloned().collect();
            keys.into_iter().filter_map(|key| Some((key.clone(), self.claimant(state.aliases.values(&key))?)))
        };
        let suffixes = aliases("*.").filter(|(name, _)| !self.is_host(name) && !state.twins.has(name));
        let suffixes = suffixes.map(|(name, host)| (name[1..].into(), host)).collect();
        // In the order of the hosts, as NGINX would find them in its configuration.
        let mut regexes: Vec<(Arc<str>, Arc<str>)> = aliases("~").map(|(name, host)| (name[1..].into(), host)).collect();
        regexes.sort_by(|(a, of_a), (b, of_b)| of_a.cmp(of_b).then_with(|| a.cmp(b)));
        let patterns = NamePatterns { suffixes, regexes };
        let hosts = &mut self.state.built.model.live.hosts;
        if patterns == NamePatterns::default() {
            hosts.remove(PATTERNS);
        } else {
            set_if_changed(hosts, &PATTERNS.into(), HostRecord { patterns: Some(patterns), ..HostRecord::default() });
        }
    }

    /// Whether a name is a host, or belongs to an Ingress that claims it as one.
    fn is_host(&self, name: &Arc<str>) -> bool {
        self.state.host_profiles.contains_key(name) || self.owner(name).is_some()
    }

    /// What other hosts wanted of a name that is a host itself.
    fn lost_names(&self, name: &Arc<str>) -> Vec<Problem> {
        let state = &self.state;
        let lost = |annotation: &'static str, host: &Arc<str>, what: &str| {
            let owner = self.entries_of(host).filter(|entry| !entry.is_canary()).find(|entry| host::asks_for(entry, annotation))?;
            Some(Problem {
                object: ObjectRef::ingress(owner.key()),
                field: format!("metadata.annotations[{:?}]", format!("{}/{annotation}", self.settings.annotations_prefix)),
                kind: ProblemKind::Conflict,
                detail: format!("{name:?} is a host of its own, which keeps its name; {what}"),
            })
        };
        let twins = state.twins.values(name).filter_map(|host| lost("from-to-www-redirect", host, "nothing is redirected"));
        let aliases = state.aliases.values(name).filter_map(|host| lost("server-alias", host, "the alias has no effect"));
        twins.chain(aliases).collect()
    }

    /// The certificate of a host, from the first of its Ingresses that has a TLS section.
    fn choose(&self, name: &Arc<str>) -> (Choice, Option<Problem>) {
        if **name == *CATCH_ALL {
            return (Choice::Default(None), None);
        }
        let entries = self.entries_of(name);
        let Some(entry) = entries.filter(|entry| !entry.is_canary()).find(|entry| !entry.tls.is_empty()) else {
            return (Choice::None, None);
        };
        let choice = certificate::choose(name, entry, |key| self.certificate(key));
        let problem = match &choice {
            Choice::Default(Some((field, detail))) | Choice::Own(_, Some((field, detail))) => Some(Problem {
                object: ObjectRef::ingress(entry.key()),
                field: field.clone(),
                kind: ProblemKind::Certificate,
                detail: detail.clone(),
            }),
            _ => None,
        };
        (choice, problem)
    }
}

/// Whether a name stands for others: `*.` and a suffix, or `~` and a regular expression.
pub(super) fn is_pattern(name: &str) -> bool {
    name.starts_with(['*', '~'])
}
