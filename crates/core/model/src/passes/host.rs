//! One host: its locations from all Ingresses that name it, and what becomes of each.

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

use super::canary::{self, Candidate, Primary};
use super::ingress::{CATCH_ALL, Entry, Path};
use super::paths::{self, Location};
use super::resolve::Users;
use crate::fixed::Shell;
use crate::key::{BackendId, ObjectKey, ObjectRef};
use crate::live::{HostRecord, Route};
use crate::problem::{Problem, ProblemKind};
use crate::profile::{Profile, ProfileId};

use policies::Policies;
pub(crate) use whole::{SHELL, asks_for, has_server_block};

/// What one host comes to.
#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) record: HostRecord,
    /// Profiles its routes use.
    pub(crate) profiles: Vec<(ProfileId, Arc<Profile>)>,
    /// Users that its routes ask for, without duplicates.
    pub(crate) users: Vec<Users>,
    pub(crate) shell: Option<Shell>,
    /// Where its TLS connections go undecrypted.
    pub(crate) passthrough: Option<BackendId>,
    /// Other names of it, without its own: literal ones, `*.` and a suffix, `~` and a regular expression.
    pub(crate) aliases: Vec<Arc<str>>,
    /// Its name with or without `www.`, whichever it is not, if everything there is to be redirected to it.
    pub(crate) twin: Option<Arc<str>>,
    /// Backends of its locations, with what canaries offer as alternatives.
    pub(crate) alternatives: Vec<(BackendId, Candidate)>,
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

/// A location before it is a route.
struct Draft<'a> {
    path: Arc<str>,
    exact: bool,
    /// The Ingress it belongs to; none for the built-in catch-all location.
    entry: Option<&'a Entry>,
    backend: Option<&'a BackendId>,
    /// Made because a host needs an answer for `/`, not because a rule says so.
    placeholder: bool,
    /// Redirects and rewrites of the Ingress apply (not on a catch-all made by `spec.defaultBackend`).
    redirects: bool,
    at: Option<(u32, u32)>,
}

/// The first location of an Ingress as it would be on a host of its own: what all of its routes have in common.
pub(crate) fn sample(entry: &Entry, config: &Config) -> Option<(Route, Arc<Profile>)> {
    let policies = &mut Policies::new(config);
    let first = entry.rules.iter().flat_map(|rule| &rule.paths).next();
    match (first, entry.is_catch_all()) {
        (Some(path), _) => Some(draft(entry, path).route(policies)),
        (None, true) => Some(placeholder(CATCH_ALL, &[entry]).route(policies)),
        (None, false) => None,
    }
}

/// Builds a host from the Ingresses that name it, oldest first. False if none of them makes a server of it: then there are only Problems.
/// `held`: Secrets that NGINX has no room for. `passthrough`: whether connections can go on undecrypted.
pub(crate) fn build(host: &Arc<str>, entries: &[&Entry], config: &Config, held: &BTreeSet<ObjectKey>, passthrough: bool) -> (Host, bool) {
    let (canaries, entries): (Vec<&Entry>, Vec<&Entry>) = entries.iter().copied().partition(|entry| entry.is_canary());
    let mut result = Host::default();
    if entries.is_empty() && **host != *CATCH_ALL {
        canary::pair(host, &canaries, &[], &mut result.problems);
        return (result, false);
    }
    let drafts = drafts(host, &entries, &mut result.problems);
    let primaries: Vec<Primary<'_>> = drafts.iter().filter_map(Draft::primary).collect();
    result.alternatives = canary::pair(host, &canaries, &primaries, &mut result.problems);
    let regex_mode = drafts.iter().any(Draft::wants_regex);

    let host_tls = entries.iter().copied().find(|entry| entry.resolved.backend_tls.as_ref().is_some_and(|tls| tls.material.is_some()));
    let host_tls = host_tls.filter(|_| !config.proxy_ssl_location_only);
    let clients = clients::decide(host, &entries, &mut result.problems);
    let (mut locations, mut profiles) = (Vec::new(), BTreeSet::new());
    let mut policies = Policies::new(config);
    (policies.host_tls, policies.clients, policies.held) = (host_tls, Some(&clients), held);
    policies.closed = nameless::closed(host, &entries, &mut result.problems);
    for draft in &drafts {
        if regex_mode && !draft.check_regex(&mut result.problems) {
            continue;
        }
        let (route, profile) = draft.route(&mut policies);
        let users = draft.entry.and_then(|entry| entry.resolved.users.as_ref()).filter(|_| route.password.is_some());
        result.add_users(users.filter(|users| !held.contains(&users.secret)));
        locations.push(Location {
            path: draft.path.clone(),
            exact: draft.exact,
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

    result.twin = whole::twin(host, &drafts, &mut result.problems);
    result.aliases = whole::aliases(host, &entries);
    result.record.name = (!result.aliases.is_empty()).then(|| host.clone());
    result.shell = whole::shell(host, &entries, &result, clients.verification());
    if passthrough {
        result.passthrough = passthrough::target(host, &entries, &drafts, &mut result.problems);
    }
    surprises::find(host, &drafts, regex_mode, &mut result.problems);
    (result, true)
}

/// Locations in order of precedence. The placeholder for `/` comes first and is replaced by the first rule for `/` as Prefix.
fn drafts<'a>(host: &str, entries: &[&'a Entry], problems: &mut Vec<Problem>) -> Vec<Draft<'a>> {
    let mut drafts: Vec<Draft<'a>> = vec![placeholder(host, entries)];
    let mut known: BTreeMap<(&str, bool), usize> = BTreeMap::from([(("/", false), 0)]);
    for entry in entries {
        for rule in entry.rules.iter().filter(|rule| *rule.host == *host) {
            for path in &rule.paths {
                match known.entry((&path.path, path.exact)) {
                    MapEntry::Occupied(at) if drafts[*at.get()].placeholder => drafts[*at.get()] = draft(entry, path),
                    MapEntry::Occupied(at) => problems.extend(conflict(host, entry, path, &drafts[*at.get()])),
                    MapEntry::Vacant(free) => {
                        free.insert(drafts.len());
                        drafts.push(draft(entry, path));
                    }
                }
            }
        }
    }
    drafts
}

fn draft<'a>(entry: &'a Entry, path: &'a Path) -> Draft<'a> {
    Draft {
        path: path.path.clone(),
        exact: path.exact,
        entry: Some(entry),
        backend: Some(&path.backend),
        placeholder: false,
        redirects: true,
        at: Some(path.at),
    }
}

fn placeholder<'a>(host: &str, entries: &[&'a Entry]) -> Draft<'a> {
    let catch_all = host == CATCH_ALL;
    let owner = entries.iter().copied().find(|entry| !catch_all || entry.is_catch_all());
    Draft {
        path: "/".into(),
        exact: false,
        entry: owner,
        backend: owner.and_then(|owner| owner.default_backend.as_ref()),
        placeholder: true,
        redirects: !catch_all,
        at: None,
    }
}

fn conflict(host: &str, loser: &Entry, path: &Path, winner: &Draft<'_>) -> Option<Problem> {
    let owner = winner.entry?;
    let kind = if path.exact { "Exact" } else { "Prefix" };
    let is_own = owner.key() == loser.key();
    let who = if is_own { "an earlier rule of the same Ingress".to_owned() } else { owner.order.before(&loser.order) };
    Some(Problem {
        object: ObjectRef::ingress(loser.key()),
        field: field(path.at),
        kind: ProblemKind::Conflict,
        detail: format!(
            "{kind} path {:?} of host {host:?} is already defined by {who}, which keeps it; this rule has no effect",
            path.path
        ),
    })
}

fn field(at: (u32, u32)) -> String {
    format!("spec.rules[{}].http.paths[{}].path", at.0, at.1)
}

impl<'a> Draft<'a> {
    /// What a canary could add to.
    fn primary(&self) -> Option<Primary<'_>> {
        Some(Primary { path: &self.path, exact: self.exact, backend: self.backend? })
    }

    /// The rewrite target where it is in effect: one that equals the path is none.
    fn rewrite(&self) -> Option<String> {
        let target = self.entry.filter(|_| self.redirects)?.spec.path.rewrite_target.as_ref()?.to_string();
        (!target.is_empty() && *target != *self.path).then_some(target)
    }

    fn wants_regex(&self) -> bool {
        let use_regex = self.redirects && self.entry.is_some_and(|entry| entry.spec.path.use_regex);
        use_regex || self.rewrite().is_some()
    }

    fn own_regex(&self) -> bool {
        self.wants_regex()
    }

    /// Whether the path can be used as a regex; a Problem if it can't.
    fn check_regex(&self, problems: &mut Vec<Problem>) -> bool {
        let Err(error) = self.path.parse::<PathRegex>() else { return true };
        if let (Some(entry), Some(at)) = (self.entry, self.at) {
            problems.push(Problem {
                object: ObjectRef::ingress(entry.key()),
                field: field(at),
                kind: ProblemKind::InvalidValue,
                detail: format!("{:?} is not a usable regular expression ({error}), which every path of a host with use-regex or rewrite-target must be; the path is left out", self.path),
            });
        }
        false
    }

    fn route(&self, policies: &mut Policies<'a>) -> (Route, Arc<Profile>) {
        let (namespace, ingress): (Arc<str>, Arc<str>) = match self.entry {
            Some(entry) => (entry.key().namespace.clone(), entry.key().name.clone()),
            None => Default::default(),
        };
        let (policy, id, profile) = policies.of(self);
        let mut route = Route { namespace, ingress, path: self.path.clone(), profile: id, policy, ..Route::default() };
        if let Some(backend) = self.backend {
            route.service = backend.service.name.clone();
            route.port = backend.port.to_string().into();
            route.backend = backend.wire().into();
        }
        if let Some((entry, target)) = self.entry.zip(self.rewrite()) {
            route.rewrite_target = Some(target.into());
            route.x_forwarded_prefix = entry.spec.path.x_forwarded_prefix.as_ref().map(|prefix| prefix.as_str().into());
        }
        (route, profile)
    }
}

/// Ingresses whose routes are in a record, without duplicates, in the order of the routes.
pub(crate) fn owners(record: &HostRecord, wanted: impl Fn(&Route) -> bool) -> Vec<ObjectKey> {
    let mut known = BTreeSet::new();
    let routes = record.routes.iter().filter(|route| !route.ingress.is_empty() && wanted(route));
    let keys = routes.filter(|route| known.insert((&route.namespace, &route.ingress)));
    keys.map(|route| ObjectKey::new(route.namespace.clone(), route.ingress.clone())).collect()
}
