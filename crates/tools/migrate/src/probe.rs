//! Requests that a host's rules ask for: each path, and what lies beside it.

use std::collections::HashSet;
use std::sync::Arc;

use crate::request::{Request, Scheme};
use crate::sample::sample;
use crate::site::{PathKind, Rule, Site};

/// A segment that no path has.
const STRANGER: &str = "narthex-probe";
/// An origin that no list of origins has.
const ORIGIN: &str = "https://narthex-probe.invalid";

/// The requests that probes may be.
#[derive(Debug, Clone)]
pub struct Style {
    /// The schemes: with TLS, without, or both.
    pub schemes: Vec<Scheme>,
    /// Whether `OPTIONS` is sent as well, which backends may see.
    pub all_methods: bool,
}

/// The probes of a site, each once: for every scheme those of every rule, an unknown path, and the root of every alias.
pub fn probes(site: &Site, style: &Style) -> Vec<Request> {
    let host = concrete(&site.host);
    let mut found = Vec::new();
    for &scheme in &style.schemes {
        for rule in &site.rules {
            found.extend(of_rule(scheme, &host, rule, style.all_methods));
        }
        let stray = Request::get(scheme, &host, format!("/{STRANGER}-unknown"), "unknown path");
        found.push(Request { rule: site.rules.first().cloned(), ..stray });
        for alias in &site.aliases {
            let rule = site.rules.first().cloned();
            found.push(Request { rule, ..Request::get(scheme, alias, "/", "alias") });
        }
    }
    once(found)
}

/// Leaves out requests that are the same as an earlier one.
pub(crate) fn once(requests: Vec<Request>) -> Vec<Request> {
    let mut seen = HashSet::new();
    requests
        .into_iter()
        .filter(|request| {
            let (scheme, host, method, target, headers) = request.identity();
            seen.insert((scheme, host.to_owned(), method.to_owned(), target.to_owned(), headers.to_vec()))
        })
        .collect()
}

/// A name that a host of a rule stands for.
pub fn concrete(host: &str) -> String {
    match (host, host.strip_prefix("*.")) {
        ("", _) => format!("{STRANGER}.invalid"),
        (_, Some(rest)) => format!("{STRANGER}.{rest}"),
        (host, None) => host.to_owned(),
    }
}

fn of_rule(scheme: Scheme, host: &str, rule: &Arc<Rule>, all_methods: bool) -> Vec<Request> {
    let path = if rule.kind == PathKind::Pattern { sample(&rule.path) } else { rule.path.clone() };
    let path = encode(&path);
    let bare = path.trim_end_matches('/');
    let slashed = if path.ends_with('/') { bare.to_owned() } else { format!("{path}/") };
    let mut targets = vec![
        (path.clone(), "the path"),
        (slashed, "trailing slash"),
        (format!("{bare}/{STRANGER}"), "child"),
        (format!("{bare}{STRANGER}"), "sibling"),
        (path.to_ascii_uppercase(), "upper case"),
        (format!("{path}?{STRANGER}=1&b=%2F"), "query"),
    ];
    targets.extend(one_encoded(&path).map(|target| (target, "percent-encoded")));
    let request = |target: String, purpose| Request { rule: Some(rule.clone()), ..Request::get(scheme, host, target, purpose) };
    let legal = targets.into_iter().filter(|(target, _)| target.starts_with('/'));
    let mut requests: Vec<Request> = legal.map(|(target, purpose)| request(target, purpose)).collect();
    requests.extend(cross_origin(&request(path, "cross-origin"), rule, all_methods));
    requests
}

/// With CORS: from an origin that is listed, if there is one, and from one that isn't.
fn cross_origin(request: &Request, rule: &Rule, all_methods: bool) -> Vec<Request> {
    if !rule.says("enable-cors") {
        return Vec::new();
    }
    let listed = rule.annotation("cors-allow-origin").unwrap_or_default().split(',').map(str::trim);
    let listed = listed.map(|origin| origin.replace("*.", &format!("{STRANGER}.")));
    let mut origins: Vec<String> = listed.filter(|origin| origin.contains("://")).take(1).collect();
    origins.push(ORIGIN.to_owned());
    let mut requests = Vec::new();
    for origin in origins {
        let headers = vec![("origin".to_owned(), origin)];
        if all_methods {
            let mut headers = headers.clone();
            headers.push(("access-control-request-method".to_owned(), "GET".to_owned()));
            requests.push(Request { method: "OPTIONS".into(), headers, purpose: "preflight", ..request.clone() });
        }
        requests.push(Request { headers, ..request.clone() });
    }
    requests
}

/// The path with its last letter written as an escape, which means the same.
fn one_encoded(path: &str) -> Option<String> {
    let at = path.rfind(|c: char| c.is_ascii_lowercase())?;
    // Not the digit of an escape that is there already.
    let inside = path[..at].ends_with('%') || path.get(at.saturating_sub(2)..at).is_some_and(|before| before.starts_with('%'));
    (!inside).then(|| format!("{}%{:02x}{}", &path[..at], path.as_bytes()[at], &path[at + 1..]))
}

/// Writes what can't stand in a request line as escapes.
pub(crate) fn encode(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        match byte {
            b'!' | b'$'..=b';' | b'=' | b'@'..=b'Z' | b'a'..=b'z' | b'_' | b'~' => text.push(char::from(byte)),
            byte => text.push_str(&format!("%{byte:02X}")),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::tests::{shop, sites_of};
    use serde_json::json;

    fn targets(annotations: serde_json::Value, path: &str, kind: &str) -> Vec<(String, &'static str)> {
        let site = sites_of(&shop(annotations, path, kind)).remove(0);
        let style = Style { schemes: vec![Scheme::Http], all_methods: false };
        probes(&site, &style).into_iter().map(|request| (request.target, request.purpose)).collect()
    }

    #[test]
    fn a_rule_is_tried_from_all_sides() {
        let expected = [
            ("/cart", "the path"),
            ("/cart/", "trailing slash"),
            ("/cart/narthex-probe", "child"),
            ("/cartnarthex-probe", "sibling"),
            ("/CART", "upper case"),
            ("/cart?narthex-probe=1&b=%2F", "query"),
            ("/car%74", "percent-encoded"),
            ("/narthex-probe-unknown", "unknown path"),
        ];
        let found = targets(json!({}), "/cart", "Prefix");
        assert_eq!(found.iter().map(|(target, why)| (target.as_str(), *why)).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn the_root_has_fewer_sides_and_no_request_is_sent_twice() {
        let found = targets(json!({}), "/", "Prefix");
        assert_eq!(
            found.iter().map(|(target, _)| target.as_str()).collect::<Vec<_>>(),
            ["/", "/narthex-probe", "/?narthex-probe=1&b=%2F", "/narthex-probe-unknown"]
        );
    }

    #[test]
    fn a_pattern_is_tried_with_a_text_that_it_matches() {
        let rewrite = json!({"nginx.ingress.kubernetes.io/rewrite-target": "/$2"});
        let found = targets(rewrite, "/api(/|$)(.*)", "ImplementationSpecific");
        assert_eq!(found[0].0, "/api/narthex-probe");
    }

    #[test]
    fn cors_is_tried_from_a_listed_origin_and_from_a_stranger() {
        let cors = json!({
            "nginx.ingress.kubernetes.io/enable-cors": "true",
            "nginx.ingress.kubernetes.io/cors-allow-origin": "https://*.example.com, https://b.example.com",
        });
        let site = sites_of(&shop(cors, "/", "Prefix")).remove(0);
        let style = Style { schemes: vec![Scheme::Https], all_methods: true };
        let found: Vec<_> = probes(&site, &style)
            .into_iter()
            .filter_map(|request| Some((request.method.clone(), request.header("origin")?.to_owned())))
            .collect();
        let own = |method: &str, origin: &str| (method.to_owned(), origin.to_owned());
        let listed = "https://narthex-probe.example.com";
        assert_eq!(found, [own("OPTIONS", listed), own("GET", listed), own("OPTIONS", ORIGIN), own("GET", ORIGIN)]);
    }

    #[test]
    fn hosts_become_names_and_paths_become_legal() {
        assert_eq!(concrete("*.example.com"), "narthex-probe.example.com");
        assert_eq!(concrete(""), "narthex-probe.invalid");
        assert_eq!(encode("/a b\"é%20?"), "/a%20b%22%C3%A9%20%3F");
        assert_eq!(one_encoded("/a%2f").as_deref(), None);
    }
}
