//! Locations of one host.
//!
//! NGINX looks up as the router does: an exact path, then the regexes in order, else the longest prefix; and it answers 301
//! where only a slash is missing. Two things it does not share:
//!
//! - It redirects `/foo` also where `/foo/` is only an exact location, and `/foo/` where there is `/foo//`, to which no request
//!   comes: slashes are merged. So `= "/foo"` is written out, with the route that `/foo` has otherwise.
//! - A path that nothing matches is not found. The router has a default, so it is written out as `"/"`.

mod access;
mod errors;
mod headers;
mod limits;
mod redirect;
mod tracing;

use std::collections::BTreeMap;
use std::sync::Arc;

use model::profile::BackendTls;
use model::{BackendRecord, HostRecord, Model, Policy, Profile, Route};
use serde::Serialize;

use self::access::AccessView;
use self::errors::ErrorsView;
use self::limits::LimitsView;
use self::tracing::TracingView;
use super::names::{CATCH_ALL, Group};
use super::serving::meant;
use crate::firewall::FirewallView;
use crate::mirror::MirrorView;
use crate::pass::PassView;
use crate::print::Printed;
use crate::proxy::{HeadersView, ProxyView};
use crate::{Paths, RenderError};

pub(super) use self::errors::{ErrorLocation, ErrorLocations};
pub(super) use self::limits::ZonesView;

/// What `equivalent/location.conf` prints.
#[derive(Serialize)]
pub(super) struct LocationView {
    modifier: Printed,
    name: Printed,
    namespace: Printed,
    ingress: Printed,
    service: Printed,
    port: Printed,
    path: Printed,
    upstream_name: Printed,
    backend: Printed,
    no_access_log: bool,
    denied: bool,
    cors: Option<headers::CorsView>,
    custom_headers: Vec<headers::Literal>,
    inherited: headers::Inherited,
    answer: Option<redirect::AnswerView>,
    redirect: Option<redirect::HttpsView>,
    /// What is answered where the backend has no endpoint.
    no_endpoint: Option<u16>,
    /// That comes after checks and copies.
    late: bool,
    /// The backend has a canary or affinity, so which one serves is decided per request.
    choice: Option<Choice>,
    access: AccessView,
    errors: ErrorsView,
    /// Another backend takes the place of one that has no endpoint, and is told so.
    substituted: bool,
    rewrite_log: bool,
    firewall: Option<FirewallView>,
    location_snippet: Option<Printed>,
    limits: LimitsView,
    tracing: Option<TracingView>,
    proxy: ProxyView,
    headers: HeadersView,
    mirror: Option<MirrorView>,
    pass: PassView,
    snippet: Option<Printed>,
    rewrite: Option<Rewrite>,
}

#[derive(Serialize)]
struct Choice {
    /// Clients that come to a new endpoint get a cookie.
    issues_cookie: bool,
}

#[derive(Serialize)]
struct Rewrite {
    /// It redirects, which it does before anybody is sent to HTTPS.
    redirects: bool,
    pattern: Printed,
    target: Printed,
}

/// What a path answers that nothing is behind.
const NOT_FOUND: u16 = 404;

/// The three kinds, in the order in which NGINX tries them.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Exact,
    Regex,
    Prefix,
}

/// A match of a host.
pub(super) struct Match {
    pub(super) kind: Kind,
    pub(super) name: Arc<str>,
    /// The index of its route; none for the default backend.
    pub(super) route: Option<u32>,
}

/// The locations of a host, exact paths first, then regexes in their order, then prefixes, longest first.
pub(super) fn locations(
    model: &Model,
    paths: &Paths,
    group: &Group<'_>,
    record: &HostRecord,
    path: Option<&str>,
    errors: &mut ErrorLocations,
) -> Result<Vec<LocationView>, RenderError> {
    let default = unmatched(model, group);
    let route = |found: &Match| found.route.and_then(|i| record.routes.get(i as usize)).map_or(&default, |route| &**route);
    meant(matches(record), record, path)
        .iter()
        .enumerate()
        .map(|(number, found)| view(&Place { model, paths, group, number }, found.kind, &found.name, route(found), errors))
        .collect()
}

/// How the oldest Ingress with CAs for its backends speaks to them; the host's other locations do so, too.
pub(super) fn host_tls<'a>(model: &'a Model, record: &HostRecord) -> Option<&'a BackendTls> {
    if model.fixed.globals.config.proxy_ssl_location_only {
        return None;
    }
    let mut profiles = record.routes.iter().filter_map(|route| model.fixed.profiles.get(&route.profile));
    profiles.find_map(|profile| profile.transport.tls.as_ref().filter(|tls| tls.trust.is_some()))
}

/// The route of a path that nothing matches: no identity, no redirect.
fn unmatched(model: &Model, group: &Group<'_>) -> Route {
    let logged = model.fixed.globals.config.enable_access_log_for_default_backend || *group.names[0] != *CATCH_ALL;
    let policy = Policy { ssl_redirect: Some(false), force_ssl_redirect: Some(false), enable_access_log: logged, ..Policy::default() };
    Route { policy: Arc::new(policy), ..Route::default() }
}

/// Every match.
fn matches(record: &HostRecord) -> Vec<Match> {
    let mut exact: BTreeMap<Arc<str>, Option<u32>> = record.exact.iter().map(|(path, i)| (path.clone(), Some(*i))).collect();
    for path in record.exact.keys().chain(record.prefix.keys()) {
        let mut path = &**path;
        while let Some(shorter) = path.strip_suffix('/').filter(|shorter| !shorter.is_empty()) {
            let redirects = record.prefix.contains_key(path) && !shorter.ends_with('/');
            if redirects || exact.contains_key(shorter) {
                break;
            }
            exact.insert(shorter.into(), longest_prefix(record, shorter));
            path = shorter;
        }
    }
    let mut prefix: Vec<(Arc<str>, Option<u32>)> = record.prefix.iter().map(|(path, i)| (path.clone(), Some(*i))).collect();
    if !record.prefix.contains_key("/") {
        prefix.push(("/".into(), None));
    }
    prefix.sort_by(|(a, _), (b, _)| b.len().cmp(&a.len()).then_with(|| b.cmp(a)));

    let exact = exact.into_iter().map(|(path, i)| (Kind::Exact, path, i));
    let regex = record.regex.iter().map(|(regex, i)| (Kind::Regex, anchored(regex), Some(*i)));
    let all = exact.chain(regex).chain(prefix.into_iter().map(|(path, i)| (Kind::Prefix, path, i)));
    all.map(|(kind, name, route)| Match { kind, name, route }).collect()
}

fn longest_prefix(record: &HostRecord, path: &str) -> Option<u32> {
    record.prefix.iter().filter(|(prefix, _)| path.starts_with(&***prefix)).max_by_key(|(prefix, _)| prefix.len()).map(|(_, i)| *i)
}

fn anchored(regex: &Arc<str>) -> Arc<str> {
    if regex.starts_with('^') { regex.clone() } else { format!("^{regex}").into() }
}

/// Where a location stands.
struct Place<'a> {
    model: &'a Model,
    paths: &'a Paths,
    group: &'a Group<'a>,
    /// Tells the host's locations apart.
    number: usize,
}

fn view(
    place: &Place<'_>,
    kind: Kind,
    name: &str,
    route: &Route,
    error_locations: &mut ErrorLocations,
) -> Result<LocationView, RenderError> {
    let Place { model, paths, group, number } = *place;
    let config = &model.fixed.globals.config;
    let default = Profile::default();
    let profile = model.fixed.profiles.get(&route.profile).map_or(&default, |profile| profile);
    let substitute = errors::substitute(model, route);
    let backend = substitute.map_or(&*route.backend, |(key, _)| key);
    let no_endpoint = if substitute.is_some() { None } else { no_endpoint(model, route) };
    let (access, mirror) = (AccessView::new(config, profile, route, number)?, MirrorView::text(profile, route)?);
    Ok(LocationView {
        modifier: Printed::fixed(match kind {
            Kind::Exact => "= ",
            Kind::Regex => "~* ",
            Kind::Prefix => "",
        }),
        name: Printed::quoted(name)?,
        namespace: Printed::literal(&route.namespace)?,
        ingress: Printed::literal(&route.ingress)?,
        service: Printed::literal(&route.service)?,
        port: Printed::literal(&route.port)?,
        path: Printed::literal(&route.path)?,
        upstream_name: Printed::literal(&substitute.map_or_else(|| upstream_name(model, route), |(_, backend)| backend.name.to_string()))?,
        backend: Printed::literal(backend)?,
        no_access_log: !route.enable_access_log,
        denied: route.denied,
        cors: headers::cors(route)?,
        custom_headers: headers::custom(route)?,
        inherited: headers::inherited(&model.fixed.globals, route)?,
        answer: redirect::answer(route)?,
        redirect: redirect::https(model, group, route)?,
        no_endpoint,
        late: no_endpoint == Some(NOT_FOUND) && (access.asks || mirror.is_some()),
        choice: choice(model, route),
        access,
        errors: ErrorsView::new(model, profile, route, error_locations)?,
        substituted: substitute.is_some(),
        rewrite_log: route.enable_rewrite_log,
        firewall: profile.watching.firewall.as_ref().map(|firewall| FirewallView::equivalent(firewall, paths)).transpose()?,
        location_snippet: config.snippets.location_snippet.as_ref().filter(|_| !route.denied).map(Printed::raw),
        limits: LimitsView::new(config, route)?,
        tracing: TracingView::new(config, route),
        proxy: ProxyView::location(config, profile, route)?,
        headers: HeadersView::location(&model.fixed.globals, profile, route)?.of_route(group.shell, route),
        mirror,
        pass: PassView::text(config, paths, profile, route)?,
        snippet: profile.snippet.as_ref().map(Printed::raw),
        rewrite: rewrite(route)?,
    })
}

fn default_backend(model: &Model) -> Option<&BackendRecord> {
    model.live.backends.get("-").map(|backend| &**backend)
}

/// The status where the backend has no endpoint: of the default backend the path is unknown, any other is to come back.
fn no_endpoint(model: &Model, route: &Route) -> Option<u16> {
    let (backend, status) = if route.backend.is_empty() {
        (default_backend(model), NOT_FOUND)
    } else {
        (model.live.backends.get(&route.backend).map(|backend| &**backend), 503)
    };
    backend.is_none_or(|backend| backend.endpoints.is_empty()).then_some(status)
}

fn choice(model: &Model, route: &Route) -> Option<Choice> {
    let backend = model.live.backends.get(&route.backend)?;
    let has_captures = backend.hash.as_ref().is_some_and(|hash| refers_to_captures(&hash.upstream_hash_by));
    let is_open = backend.affinity.is_some() || backend.alternative.is_some() || has_captures;
    is_open.then_some(Choice { issues_cookie: route.issues_cookie })
}

/// Whether a text has `$1` or `${1}`.
fn refers_to_captures(text: &str) -> bool {
    text.split('$').skip(1).any(|rest| rest.trim_start_matches('{').starts_with(|c: char| c.is_ascii_digit()))
}

/// The name in logs.
fn upstream_name(model: &Model, route: &Route) -> String {
    if route.backend.is_empty() {
        return default_backend(model).map_or("upstream-default-backend", |backend| &*backend.name).to_owned();
    }
    match model.live.backends.get(&route.backend) {
        Some(backend) => backend.name.to_string(),
        None => route.backend.replace(['/', ':'], "-"),
    }
}

/// Variables and captures of the target are meant.
fn rewrite(route: &Route) -> Result<Option<Rewrite>, RenderError> {
    let Some(target) = &route.rewrite_target else { return Ok(None) };
    let redirects = ["http://", "https://", "$scheme"].iter().any(|start| target.starts_with(start));
    let pattern = Printed::quoted(&format!("(?i){}", route.path))?;
    Ok(Some(Rewrite { redirects, pattern, target: Printed::quoted(target)? }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(exact: &[&str], prefix: &[&str], expected: &[(&str, Option<u32>)]) {
        let number =
            |paths: &[&str], from: u32| (from..).zip(paths).map(|(i, path)| (Arc::from(*path), i)).collect::<BTreeMap<Arc<str>, u32>>();
        let record = HostRecord { exact: number(exact, 0), prefix: number(prefix, 10), ..HostRecord::default() };
        let got: Vec<_> = matches(&record)
            .into_iter()
            .map(|found| (format!("{}{}", if found.kind == Kind::Exact { "= " } else { "" }, found.name), found.route))
            .collect();
        let expected: Vec<_> = expected.iter().map(|(name, i)| ((*name).to_owned(), *i)).collect();
        assert_eq!(got, expected);
    }

    #[test]
    fn an_unmatched_path_goes_to_the_default_backend() {
        check(&[], &[], &[("/", None)]);
        check(&[], &["/"], &[("/", Some(10))]);
    }

    #[test]
    fn an_exact_path_with_a_slash_does_not_redirect_the_path_without() {
        check(&["/foo/"], &["/"], &[("= /foo", Some(10)), ("= /foo/", Some(0)), ("/", Some(10))]);
        check(&["/foo/"], &[], &[("= /foo", None), ("= /foo/", Some(0)), ("/", None)]);
        check(&["/foo/bar/"], &["/foo/"], &[("= /foo/bar", Some(10)), ("= /foo/bar/", Some(0)), ("/foo/", Some(10)), ("/", None)]);
    }

    #[test]
    fn a_prefix_that_no_request_reaches_does_not_redirect() {
        check(&[], &["/foo//", "/foo/", "/"], &[("= /foo/", Some(11)), ("/foo//", Some(10)), ("/foo/", Some(11)), ("/", Some(12))]);
        check(&[], &["/foo//"], &[("= /foo", None), ("= /foo/", None), ("/foo//", Some(10)), ("/", None)]);
    }

    #[test]
    fn a_prefix_redirects_the_path_without_a_slash() {
        check(&["/foo/"], &["/foo/"], &[("= /foo/", Some(0)), ("/foo/", Some(10)), ("/", None)]);
    }
}
