//! What each name means: a host, the other name of one with or without `www.`, an alias, or nothing; and which certificate it has.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::built::Subject;
use super::state::{BuilderState, Shown, set, set_if_changed};
use super::{Builder, host};
use crate::fixed::HostServer;
use crate::live::{HostRecord, NamePatterns};
use crate::passes::certificate::{self, TlsChoice};
use crate::problem::{Problem, ProblemKind};
use crate::rule::{CATCH_ALL, Field};

/// Key of the record that lists the names which are patterns.
const PATTERNS: &str = "~";

impl Builder {
    /// Replaces the further names of a host. Returns those that it had or has.
    pub(super) fn set_names(&mut self, name: &Arc<str>, aliases: Vec<Arc<str>>, www_alias: Option<Arc<str>>) -> Vec<Arc<str>> {
        let BuilderState { aliases: of_hosts, www_aliases, .. } = &mut self.state;
        let (_, lost_aliases) = of_hosts.replace(name, aliases);
        let (_, lost_www_alias) = www_aliases.replace(name, www_alias.into_iter().collect());
        let lost = lost_aliases.into_iter().chain(lost_www_alias);
        lost.chain(of_hosts.items(name).iter().chain(www_aliases.items(name)).cloned()).collect()
    }

    /// Settles what a name means after hosts changed.
    pub(super) fn name(&mut self, name: &Arc<str>) {
        let is_host = self.is_host(name);
        let (www_alias_of, alias_of) = self.stands_for(name);
        let hosts = &mut self.state.built.model.live.hosts;
        if let Some(host) = &www_alias_of {
            set_if_changed(hosts, name, HostRecord { redirect_to: Some(host.clone()), ..HostRecord::default() });
        } else if !is_host {
            let record = alias_of.as_ref().filter(|_| !is_pattern(name)).and_then(|host| hosts.get(host)).cloned();
            set(hosts, name, record);
        }
        let mut problems = if is_host { self.lost_names(name) } else { Vec::new() };
        let host = www_alias_of.or(alias_of);
        let certificate = match &host {
            Some(host) => match self.choose(host).0 {
                TlsChoice::Own(certificate, _) if certificate.covers(name) => Some(certificate),
                _ => None,
            },
            None => {
                let (choice, problem) = self.choose(name);
                problems.extend(problem);
                match choice {
                    TlsChoice::None => None,
                    TlsChoice::Default(_) => self.state.default_certificate.clone(),
                    TlsChoice::Own(certificate, _) => Some(certificate),
                }
            }
        };
        self.state.set_problems(Subject::Name(name.clone()), problems);
        let shown = match certificate {
            Some(certificate) => Shown::Own(certificate),
            None if self.is_below_stranger(name, host.as_ref().unwrap_or(name)) => Shown::NotAbove,
            None => Shown::Above,
        };
        self.state.set_certificate(name, shown);
    }

    /// The host that is redirected to, and the host whose alias it is, if a name is one of these.
    fn stands_for(&self, name: &Arc<str>) -> (Option<Arc<str>>, Option<Arc<str>>) {
        let state = &self.state;
        let is_host = self.is_host(name);
        let www_alias_of = if is_host { None } else { self.claimant(state.www_aliases.claimants.values(name)) };
        let alias_of = if is_host || www_alias_of.is_some() { None } else { self.claimant(state.aliases.claimants.values(name)) };
        (www_alias_of, alias_of)
    }

    /// Where hosts are owned: whether the wildcard above a name of `host` has TLS, and is another namespace's.
    fn is_below_stranger(&self, name: &Arc<str>, host: &Arc<str>) -> bool {
        let (false, Some((_, parent)), Some(owner)) = (is_pattern(name), name.split_once('.'), self.owner(host)) else { return false };
        let wildcard: Arc<str> = format!("*.{parent}").into();
        let (www_alias_of, alias_of) = self.stands_for(&wildcard);
        let above = www_alias_of.or(alias_of).unwrap_or(wildcard);
        let is_stranger = self.owner(&above).is_some_and(|above| above.key().namespace != owner.key().namespace);
        is_stranger && self.rules_on(&above).any(|rules| !rules.adds && !rules.tls.is_empty())
    }

    /// Where hosts are owned: the names right below those of these that are wildcards.
    pub(super) fn below(&self, names: &BTreeSet<Arc<str>>) -> Vec<Arc<str>> {
        let parents: BTreeSet<&str> =
            names.iter().filter(|name| self.hosts_are_owned() && is_pattern(name)).filter_map(|name| name.strip_prefix("*.")).collect();
        if parents.is_empty() {
            return Vec::new();
        }
        let is_below = |name: &&Arc<str>| name.split_once('.').is_some_and(|(_, parent)| parents.contains(parent));
        // One that is claimed only, by an Ingress that is refused, has no record.
        let (hosts, claimed) = (self.state.built.model.live.hosts.keys(), self.state.host_claims.claimants.keys());
        hosts.chain(claimed).filter(is_below).cloned().collect()
    }

    /// Takes from server blocks the aliases that mean something else: in NGINX the first block with a name has it, of any host.
    pub(super) fn keep_own_aliases(&mut self, hosts: &BTreeSet<Arc<str>>, names: &BTreeSet<Arc<str>>) {
        let claimants = names.iter().flat_map(|name| self.state.aliases.claimants.values(name).cloned());
        let touched: BTreeSet<Arc<str>> = hosts.iter().cloned().chain(claimants).collect();
        for host in touched {
            let Some(host_server) = self.state.built.model.fixed.host_servers.get(&host).cloned() else { continue };
            let aliases: Vec<Arc<str>> =
                self.state.aliases.items(&host).iter().filter(|alias| self.is_alias_of(alias, &host)).cloned().collect();
            if host_server.aliases != aliases {
                self.state.built.model.fixed.host_servers.insert(host, Arc::new(HostServer { aliases, ..(*host_server).clone() }));
            }
        }
    }

    fn is_alias_of(&self, name: &Arc<str>, host: &Arc<str>) -> bool {
        let state = &self.state;
        !state.profiles.has_owner(name)
            && !state.www_aliases.claimants.has(name)
            && state.aliases.claimants.values(name).next() == Some(host)
    }

    /// Lists the names that are patterns again.
    pub(super) fn list_patterns(&mut self) {
        let state = &self.state;
        let aliases = |from: &str| {
            let from: Arc<str> = from.into();
            let keys: Vec<Arc<str>> = state.aliases.claimants.keys_from(&from).take_while(|key| key.starts_with(&*from)).cloned().collect();
            keys.into_iter().filter_map(|key| Some((key.clone(), self.claimant(state.aliases.claimants.values(&key))?)))
        };
        let suffixes = aliases("*.").filter(|(name, _)| !self.is_host(name) && !state.www_aliases.claimants.has(name));
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

    /// Whether a name is a host, or belongs to an object that claims it as one.
    fn is_host(&self, name: &Arc<str>) -> bool {
        self.state.profiles.has_owner(name) || self.owner(name).is_some()
    }

    /// What other hosts wanted of a name that is a host itself.
    fn lost_names(&self, name: &Arc<str>) -> Vec<Problem> {
        let state = &self.state;
        let lost = |annotation: &'static str, host: &Arc<str>, what: &str| {
            let owner = self.rules_on(host).filter(|rules| !rules.adds).find(|rules| host::asks_for(&rules.policy, annotation))?;
            let field = Field::Setting(&self.options.annotations_prefix, annotation);
            let detail = format!("{name:?} is a host of its own, which keeps its name; {what}");
            Some(owner.origin.problem(field, ProblemKind::Conflict, detail))
        };
        let www_aliases =
            state.www_aliases.claimants.values(name).filter_map(|host| lost("from-to-www-redirect", host, "nothing is redirected"));
        let aliases = state.aliases.claimants.values(name).filter_map(|host| lost("server-alias", host, "the alias has no effect"));
        www_aliases.chain(aliases).collect()
    }

    /// The certificate of a host, from the first of its objects that has a TLS section.
    fn choose(&self, name: &Arc<str>) -> (TlsChoice, Option<Problem>) {
        if **name == *CATCH_ALL {
            return (TlsChoice::Default(None), None);
        }
        let Some(rules) = self.rules_on(name).filter(|rules| !rules.adds).find(|rules| !rules.tls.is_empty()) else {
            return (TlsChoice::None, None);
        };
        let choice = certificate::choose(name, rules, |key| self.certificate(key));
        let problem = match &choice {
            TlsChoice::Default(problem) | TlsChoice::Own(_, problem) => problem.clone(),
            TlsChoice::None => None,
        };
        (choice, problem)
    }
}

/// Whether a name stands for others: `*.` and a suffix, or `~` and a regular expression.
pub(super) fn is_pattern(name: &str) -> bool {
    name.starts_with(['*', '~'])
}
