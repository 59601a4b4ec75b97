//! One host: its locations from the rules of all objects that name it, and what becomes of each.

mod clients;
mod nameless;
mod passthrough;
mod policies;
mod surprises;
mod whole;

use std::collections::btree_map::Entry as MapEntry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ngx_value::PathRegex;
use settings::Config;

use super::choice::{self, Candidate, Primary};
use super::paths::{self, Location};
use crate::fixed::HostServer;
use crate::key::{BackendId, ObjectKey};
use crate::live::{HostRecord, Route};
use crate::problem::{Problem, ProblemKind};
use crate::profile::{Profile, ProfileId};
use crate::rule::{Backends, CATCH_ALL, Field, Match, Origin, PathKind, Policy, Position, Rule, RuleSet, Users};

use policies::Policies;
pub(crate) use whole::{asks_for, has_server_block};

/// What one host comes to.
#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) record: HostRecord,
    /// Profiles its routes use.
    pub(crate) profiles: Vec<(ProfileId, Arc<Profile>)>,
    /// Users that its routes ask for, without duplicates.
    pub(crate) users: Vec<Users>,
    pub(crate) host_server: Option<HostServer>,
    /// Where its TLS connections go undecrypted.
    pub(crate) passthrough: Option<BackendId>,
    /// Other names of it, without its own: literal ones, `*.` and a suffix, `~` and a regular expression.
    pub(crate) aliases: Vec<Arc<str>>,
    /// Its name with or without `www.`, whichever it is not, if everything there is to be redirected to it.
    pub(crate) www_alias: Option<Arc<str>>,
    /// Backends of its locations, with the choices that are offered beside them.
    pub(crate) choices: Vec<(BackendId, Candidate)>,
    pub(crate) problems: Vec<Problem>,
}

impl Host {
    fn add_users(&mut self, users: Option<&Users>) {
        if let Some(users) = users
            && !self.users.iter().any(|known| known.id == users.id)
        {
            self.users.push(users.clone());
        }
    }
}

/// The object that a location belongs to, and the policy of its rule.
#[derive(Clone, Copy)]
struct Owner<'a> {
    origin: &'a Origin,
    policy: &'a Policy,
}

/// A location before it is a route.
struct Draft<'a> {
    path: Arc<str>,
    kind: PathKind,
    /// None for the built-in catch-all location.
    owner: Option<Owner<'a>>,
    backends: &'a Backends,
    /// Made because a host needs an answer for `/`, not because a rule says so.
    placeholder: bool,
    /// Redirects and rewrites of the policy apply (not on a catch-all made by a fallback).
    redirects: bool,
    at: Option<Position>,
}

/// The first location of an object as it would be on a host of its own: what all of its routes have in common.
pub(crate) fn sample(rules: &RuleSet, config: &Config) -> Option<(Route, Arc<Profile>)> {
    let policies = &mut Policies::new(config);
    match (rules.rules.first(), rules.is_catch_all()) {
        (Some(rule), _) => Some(draft(rules, rule).route(policies)),
        (None, true) => Some(placeholder(CATCH_ALL, &[rules]).route(policies)),
        (None, false) => None,
    }
}

/// Builds a host from the objects that name it, oldest first. False if none of them makes a server of it: then there are only Problems.
/// `held`: Secrets that NGINX has no room for. `passthrough`: whether connections can go on undecrypted.
pub(crate) fn build(host: &Arc<str>, sets: &[&RuleSet], config: &Config, held: &BTreeSet<ObjectKey>, passthrough: bool) -> (Host, bool) {
    let (adding, sets): (Vec<&RuleSet>, Vec<&RuleSet>) = sets.iter().copied().partition(|rules| rules.adds);
    let mut result = Host::default();
    if sets.is_empty() && **host != *CATCH_ALL {
        choice::pair(host, &adding, &[], &mut result.problems);
        return (result, false);
    }
    let drafts = drafts(host, &sets, &mut result.problems);
    let primaries: Vec<Primary<'_>> = drafts.iter().filter_map(|draft| draft.primary(host)).collect();
    result.choices = choice::pair(host, &adding, &primaries, &mut result.problems);
    let regex_mode = drafts.iter().any(Draft::wants_regex);

    let has_authorities = |policy: &&Policy| policy.resolved.backend_tls.as_ref().is_some_and(|tls| tls.material.is_some());
    let host_tls = sets.iter().map(|rules| &*rules.policy).find(has_authorities).filter(|_| !config.proxy_ssl_location_only);
    let clients = clients::decide(host, &sets, &mut result.problems);
    let (mut locations, mut profiles) = (Vec::new(), BTreeSet::new());
    let mut policies = Policies::new(config);
    (policies.host_tls, policies.clients, policies.held) = (host_tls, Some(&clients), held);
    policies.closed = nameless::closed(host, &sets, &mut result.problems);
    for draft in &drafts {
        if regex_mode && !draft.check_regex(&mut result.problems) {
            continue;
        }
        let (route, profile) = draft.route(&mut policies);
        let users = draft.owner.and_then(|owner| owner.policy.resolved.users.as_ref()).filter(|_| route.password.is_some());
        result.add_users(users.filter(|users| !held.contains(&users.secret)));
        locations.push(Location {
            path: draft.path.clone(),
            exact: draft.kind == PathKind::Exact,
            own_regex: draft.own_regex(),
            route: result.record.routes.len() as u32,
        });
        if profiles.insert(route.profile.clone()) {
            result.profiles.push((route.profile.clone(), profile));
        }
        result.record.routes.push(Arc::new(route));
    }
    let matches = if regex_mode { paths::regex(&locations) } else { paths::plain(&locations) };
    result.record.exact = matches.exact;
    result.record.prefix = matches.prefix;
    result.record.regex = matches.regex;

    result.record.app_root = whole::app_root(&drafts);
    result.record.auth_tls_error_page = clients.error_page();

    result.www_alias = whole::www_alias(host, &drafts, &mut result.problems);
    result.aliases = whole::aliases(host, &sets);
    result.record.name = (!result.aliases.is_empty()).then(|| host.clone());
    result.host_server = whole::host_server(host, &sets, &result, clients.verification());
    if passthrough {
        result.passthrough = passthrough::target(host, &sets, &drafts, &mut result.problems);
    }
    surprises::find(host, &drafts, regex_mode, &mut result.problems);
    (result, true)
}

/// Locations in order of precedence. The placeholder for `/` comes first and is replaced by the first rule for `/` as Prefix.
fn drafts<'a>(host: &str, sets: &[&'a RuleSet], problems: &mut Vec<Problem>) -> Vec<Draft<'a>> {
    let mut drafts: Vec<Draft<'a>> = vec![placeholder(host, sets)];
    let mut known: BTreeMap<(&str, PathKind), usize> = BTreeMap::from([(("/", PathKind::Prefix), 0)]);
    for rules in sets {
        for rule in rules.rules_of(host) {
            match known.entry((&rule.matches.path, rule.matches.kind)) {
                MapEntry::Occupied(at) if drafts[*at.get()].placeholder => drafts[*at.get()] = draft(rules, rule),
                MapEntry::Occupied(at) => problems.extend(conflict(host, rules, rule, &drafts[*at.get()])),
                MapEntry::Vacant(free) => {
                    free.insert(drafts.len());
                    drafts.push(draft(rules, rule));
                }
            }
        }
    }
    drafts
}

fn draft<'a>(rules: &'a RuleSet, rule: &'a Rule) -> Draft<'a> {
    Draft {
        path: rule.matches.path.clone(),
        kind: rule.matches.kind,
        owner: Some(Owner { origin: &rules.origin, policy: &rule.policy }),
        backends: &rule.backends,
        placeholder: false,
        redirects: true,
        at: Some(rule.at),
    }
}

fn placeholder<'a>(host: &str, sets: &[&'a RuleSet]) -> Draft<'a> {
    static NONE: Backends = Backends { primary: None, choice: None };
    let catch_all = host == CATCH_ALL;
    let owner = sets.iter().copied().find(|rules| !catch_all || rules.is_catch_all());
    Draft {
        path: "/".into(),
        kind: PathKind::Prefix,
        owner: owner.map(|rules| Owner { origin: &rules.origin, policy: &rules.policy }),
        backends: owner.map_or(&NONE, |rules| &rules.fallback),
        placeholder: true,
        redirects: !catch_all,
        at: None,
    }
}

fn conflict(host: &str, rules: &RuleSet, loser: &Rule, winner: &Draft<'_>) -> Option<Problem> {
    let origin = winner.owner?.origin;
    let Match { path, kind, .. } = &loser.matches;
    let who = match *origin == rules.origin {
        true => format!("an earlier rule of the same {}", origin.object().kind),
        false => origin.before(&rules.origin),
    };
    let detail = format!("{kind:?} path {path:?} of host {host:?} is already defined by {who}, which keeps it; this rule has no effect");
    Some(rules.origin.problem(Field::Path(loser.at), ProblemKind::Conflict, detail))
}

impl<'a> Draft<'a> {
    /// What a choice could be added to.
    fn primary(&self, host: &Arc<str>) -> Option<Primary<'_>> {
        let own = self.owner.zip(self.backends.choice.as_ref()).map(|(owner, choice)| Candidate {
            origin: owner.origin.clone(),
            at: self.at,
            host: host.clone(),
            choice: choice.clone(),
        });
        Some(Primary { path: &self.path, kind: self.kind, backend: self.backends.primary.as_ref()?, own })
    }

    /// A finding about its path. None for a location that no rule made.
    fn problem(&self, kind: ProblemKind, detail: String) -> Option<Problem> {
        Some(self.owner?.origin.problem(Field::Path(self.at?), kind, detail))
    }

    /// The rewrite target where it is in effect: one that equals the path is none.
    fn rewrite(&self) -> Option<String> {
        let target = self.owner.filter(|_| self.redirects)?.policy.spec.path.rewrite_target.as_ref()?.to_string();
        (!target.is_empty() && *target != *self.path).then_some(target)
    }

    fn wants_regex(&self) -> bool {
        let use_regex = self.redirects && self.owner.is_some_and(|owner| owner.policy.spec.path.use_regex);
        use_regex || self.rewrite().is_some()
    }

    fn own_regex(&self) -> bool {
        self.wants_regex()
    }

    /// Whether the path can be used as a regex; a Problem if it can't.
    fn check_regex(&self, problems: &mut Vec<Problem>) -> bool {
        let Err(error) = self.path.parse::<PathRegex>() else { return true };
        let detail = format!(
            "{:?} is not a usable regular expression ({error}), which every path of a host with use-regex or rewrite-target must be; the path is left out",
            self.path
        );
        problems.extend(self.problem(ProblemKind::InvalidValue, detail));
        false
    }

    fn route(&self, policies: &mut Policies<'a>) -> (Route, Arc<Profile>) {
        let (namespace, ingress): (Arc<str>, Arc<str>) = match self.owner {
            Some(Owner { origin, .. }) => (origin.key().namespace.clone(), origin.key().name.clone()),
            None => Default::default(),
        };
        let (policy, id, profile) = policies.of(self);
        let mut route = Route { namespace, ingress, path: self.path.clone(), profile: id, policy, ..Route::default() };
        if let Some(backend) = &self.backends.primary {
            route.service = backend.service.name.clone();
            route.port = backend.port.to_string().into();
            route.backend = backend.wire().into();
        }
        if let Some((owner, target)) = self.owner.zip(self.rewrite()) {
            route.rewrite_target = Some(target.into());
            route.x_forwarded_prefix = owner.policy.spec.path.x_forwarded_prefix.as_ref().map(|prefix| prefix.as_str().into());
        }
        (route, profile)
    }
}

/// Objects whose routes are in a record, without duplicates, in the order of the routes.
pub(crate) fn owners(record: &HostRecord, wanted: impl Fn(&Route) -> bool) -> Vec<ObjectKey> {
    let mut known = BTreeSet::new();
    let routes = record.routes.iter().filter(|route| !route.ingress.is_empty() && wanted(route));
    let keys = routes.filter(|route| known.insert((&route.namespace, &route.ingress)));
    keys.map(|route| ObjectKey::new(route.namespace.clone(), route.ingress.clone())).collect()
}
