//! Locations of one host.
//!
//! NGINX looks up as the router does: an exact path, then the regexes in order, else the longest prefix; and it answers 301
//! where only a slash is missing. Two things it does not share:
//!
//! - It redirects `/foo` also where `/foo/` is only an exact location, and `/foo/` where there is `/foo//`, to which no request
//!   comes: slashes are merged. So `= "/foo"` is written out, with the route that `/foo` has otherwise.
//! - A path that nothing matches is not found. The router has a default, so it is written out as `"/"`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;

use model::profile::Replacement;
use model::{HostRecord, Model, Policy, Profile, Route};

use super::backends::{self, Backends};
use super::hosts::{CATCH_ALL, Group};
use super::{access, answers, literal, quoted};

/// Where a location stands.
pub(super) struct Place<'a> {
    pub(super) model: &'a Model,
    pub(super) group: &'a Group<'a>,
    pub(super) backends: &'a Backends<'a>,
    /// The directives that set headers of requests to backends.
    pub(super) headers: &'a [&'a str],
    /// Below it are the files.
    pub(super) dir: &'a Path,
}

/// The directive in front of the name.
type Modifier = &'static str;

/// The locations of a host, with those of error pages and of authentication.
pub(super) fn locations(place: &Place<'_>, record: &HostRecord) -> anyhow::Result<String> {
    let default = unmatched(place);
    let mut text = String::new();
    for (number, (modifier, name, at)) in matches(record).into_iter().enumerate() {
        let route = at.and_then(|at| record.routes.get(at as usize)).map_or(&default, |route| &**route);
        text += &location(place, number, modifier, &name, route)?;
    }
    Ok(text)
}

/// The route of a path that nothing matches: no identity, no redirect.
fn unmatched(place: &Place<'_>) -> Route {
    let logged = place.model.fixed.globals.config.enable_access_log_for_default_backend || *place.group.names[0] != *CATCH_ALL;
    let policy = Policy { ssl_redirect: Some(false), force_ssl_redirect: Some(false), enable_access_log: logged, ..Policy::default() };
    Route { policy: Arc::new(policy), ..Route::default() }
}

/// Every match with the index of its route: exact paths, regexes in their order, prefixes with the longest first.
fn matches(record: &HostRecord) -> Vec<(Modifier, Arc<str>, Option<u32>)> {
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

    let exact = exact.into_iter().map(|(path, i)| ("=", path, i));
    let regex = record.regex.iter().map(|(regex, i)| ("~*", anchored(regex), Some(*i)));
    exact.chain(regex).chain(prefix.into_iter().map(|(path, i)| ("", path, i))).collect()
}

fn longest_prefix(record: &HostRecord, path: &str) -> Option<u32> {
    record.prefix.iter().filter(|(prefix, _)| path.starts_with(&***prefix)).max_by_key(|(prefix, _)| prefix.len()).map(|(_, i)| *i)
}

fn anchored(regex: &Arc<str>) -> Arc<str> {
    if regex.starts_with('^') { regex.clone() } else { format!("^{regex}").into() }
}

fn location(place: &Place<'_>, number: usize, modifier: Modifier, name: &str, route: &Route) -> anyhow::Result<String> {
    let Place { model, backends, .. } = place;
    let profile = model.fixed.profiles.get(&route.profile).map_or_else(Arc::default, Arc::clone);
    let substitute = answers::substitute(place, route);
    let key = substitute.unwrap_or(&route.backend);
    let log_name = backends::name(model, route);
    let mut text = format!("        location {modifier} {} {{\n", quoted(name)?);
    let identity = [
        ("namespace", &*route.namespace),
        ("ingress_name", &*route.ingress),
        ("service_name", &*route.service),
        ("service_port", &*route.port),
        ("location_path", &*route.path),
        ("proxy_upstream_name", &*log_name),
    ];
    for (name, value) in identity {
        writeln!(text, "            set ${name} {};", literal(value)?)?;
    }
    let mut line = |line: String| text += &format!("            {line}\n");
    if route.forbidden {
        line("return 403;".to_owned());
    }
    if route.denied {
        line("return 503;".to_owned());
    }
    answers::headers(route, &mut line)?;
    answers::redirect(place, route, &mut line)?;
    if let Some((_, record)) = substitute.and_then(|key| backends.usable(key)) {
        line(format!("set $proxy_upstream_name {};", literal(&record.name)?));
    }
    let asks = access::lists(place, route, &mut line)?;
    let service = access::service(route, number, &mut line)?;
    let pages = answers::errors(place, &profile, route, number, &mut line)?;
    answers::limits(route, &mut line)?;
    proxying(model, &profile, route, &mut line)?;
    headers(place, route, substitute.is_some(), &mut line)?;
    let missing = if route.backend.is_empty() { 404 } else { 503 };
    let target = backends.target(key);
    // A missing default backend is one only for clients that have access.
    if target.is_none() && !(missing == 404 && asks) {
        line(format!("return {missing};"));
    }
    if let Some(to) = route.rewrite_target.as_deref().filter(|to| !answers::redirects(to)) {
        line(format!("rewrite {} {};", quoted(&format!("(?i){}", route.path))?, quoted(to)?));
        // The captures are those of the last expression.
        if let Some(prefix) = &route.x_forwarded_prefix {
            line(format!("set $forwarded_prefix {};", quoted(prefix)?));
        }
        line("if ($uri ~ \"(^|/)[.][.]?(/|$)\") {\n                return 400;\n            }\n            break;".to_owned());
    }
    line(format!("proxy_pass http://{};", target.as_deref().unwrap_or("missing")));
    text.push_str("        }\n");
    Ok(text + &service + &pages)
}

/// How a request goes to the backend, where it is not as the `http` block says.
fn proxying(model: &Model, profile: &Profile, route: &Route, line: &mut impl FnMut(String)) -> anyhow::Result<()> {
    let config = &model.fixed.globals.config;
    line(format!("client_max_body_size {};", route.proxy_body_size.unwrap_or(config.proxy.proxy_body_size.bytes)));
    for (name, seconds) in
        [("connect", route.proxy_connect_timeout), ("send", route.proxy_send_timeout), ("read", route.proxy_read_timeout)]
    {
        if let Some(seconds) = seconds {
            line(format!("proxy_{name}_timeout {seconds}s;"));
        }
    }
    let proxying = &profile.proxying;
    if let Some(buffers) = &proxying.buffers {
        line(format!("proxy_buffer_size {};", buffers.size));
        line(format!("proxy_buffers {} {};", buffers.number, buffers.size));
        line(format!("proxy_busy_buffers_size {};", buffers.busy.map_or(buffers.size.bytes * 2, |busy| busy.bytes)));
        line(format!("proxy_max_temp_file_size {};", buffers.max_temp_file));
    }
    // The limit of the body is above: the record's own, else the global one.
    for (name, words) in profile.directives.text().filter(|(name, _)| *name != "client_max_body_size") {
        line(format!("{name} {};", words.join(" ")));
    }
    if let Some(tries) = route.proxy_next_upstream_tries {
        line(format!("proxy_next_upstream_tries {tries};"));
    }
    if let Some(conditions) = &proxying.next_upstream {
        let words: Vec<String> = conditions.conditions().iter().map(ToString::to_string).collect();
        line(format!("proxy_next_upstream {};", words.join(" ")));
    }
    let live = route.replacements.as_deref();
    for (name, of_profile, of_route) in [
        ("proxy_cookie_domain", &proxying.cookie_domain, live.and_then(|live| live.proxy_cookie_domain.as_ref())),
        ("proxy_cookie_path", &proxying.cookie_path, live.and_then(|live| live.proxy_cookie_path.as_ref())),
        ("proxy_redirect", &proxying.location, live.and_then(|live| live.proxy_redirect.as_ref())),
    ] {
        let pair = match (of_profile, of_route) {
            (Some(Replacement::Regex { from, to }), _) | (_, Some([from, to])) => Some((from, to)),
            _ => None,
        };
        match pair {
            Some((from, _)) if from.is_empty() => line(format!("{name} off;")),
            Some((from, to)) => line(format!("{name} {} {};", quoted(from)?, quoted(to)?)),
            None => {}
        }
    }
    Ok(())
}

/// Headers of the request to the backend.
fn headers(place: &Place<'_>, route: &Route, is_substitute: bool, line: &mut impl FnMut(String)) -> anyhow::Result<()> {
    let host = route.upstream_vhost.as_deref().map_or_else(|| Ok("$best_http_host".to_owned()), quoted)?;
    let connection = route.connection_proxy_header.map_or("$connection_upgrade", |connection| connection.as_str());
    for header in place.headers {
        match *header {
            "proxy_set_header Host $narthex_vhost;" => line(format!("proxy_set_header Host {host};")),
            "proxy_set_header Connection $connection_upgrade;" => line(format!("proxy_set_header Connection {connection};")),
            other => line(other.to_owned()),
        }
    }
    if route.x_forwarded_prefix.is_some() {
        line("set $forwarded_prefix \"\";\n            proxy_set_header X-Forwarded-Prefix $forwarded_prefix;".to_owned());
    }
    if is_substitute {
        line("proxy_set_header X-Code 503;".to_owned());
        answers::CONTEXT.iter().for_each(|header| line((*header).to_owned()));
    }
    access::headers(route, line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(exact: &[&str], prefix: &[&str], expected: &[(&str, Option<u32>)]) {
        let number =
            |paths: &[&str], from: u32| (from..).zip(paths).map(|(i, path)| (Arc::from(*path), i)).collect::<BTreeMap<Arc<str>, u32>>();
        let record = HostRecord { exact: number(exact, 0), prefix: number(prefix, 10), ..HostRecord::default() };
        let got: Vec<_> = matches(&record).into_iter().map(|(modifier, name, at)| (format!("{modifier}{name}"), at)).collect();
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
        check(&["/foo/"], &["/"], &[("=/foo", Some(10)), ("=/foo/", Some(0)), ("/", Some(10))]);
        check(&["/foo/"], &[], &[("=/foo", None), ("=/foo/", Some(0)), ("/", None)]);
        check(&["/foo/bar/"], &["/foo/"], &[("=/foo/bar", Some(10)), ("=/foo/bar/", Some(0)), ("/foo/", Some(10)), ("/", None)]);
    }

    #[test]
    fn a_prefix_that_no_request_reaches_does_not_redirect() {
        check(&[], &["/foo//", "/foo/", "/"], &[("=/foo/", Some(11)), ("/foo//", Some(10)), ("/foo/", Some(11)), ("/", Some(12))]);
        check(&[], &["/foo//"], &[("=/foo", None), ("=/foo/", None), ("/foo//", Some(10)), ("/", None)]);
    }

    #[test]
    fn a_prefix_redirects_the_path_without_a_slash() {
        check(&["/foo/"], &["/foo/"], &[("=/foo/", Some(0)), ("/foo/", Some(10)), ("/", None)]);
    }
}
