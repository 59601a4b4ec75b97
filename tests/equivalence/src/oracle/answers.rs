//! What a location answers itself: headers, CORS, redirects, error pages, limits.

use std::collections::BTreeMap;
use std::fmt::Write;

use model::live::Redirects;
use model::{Model, Profile, Route};

use super::location::Place;
use super::{escape_regex, literal, quoted};

/// What the backend of error pages gets besides the headers of every request.
pub(super) const CONTEXT: [&str; 5] = [
    "proxy_set_header X-Format $http_accept;",
    "proxy_set_header X-Namespace $namespace;",
    "proxy_set_header X-Ingress-Name $ingress_name;",
    "proxy_set_header X-Service-Name $service_name;",
    "proxy_set_header X-Service-Port $service_port;",
];

/// The directives that add headers of every answer.
pub(super) fn added(route: &Route, line: &mut impl FnMut(String)) -> anyhow::Result<()> {
    if route.denied {
        return Ok(());
    }
    for (name, value) in &route.custom_headers {
        line(format!("proxy_hide_header {name};\n            add_header {name} {} always;", literal(value)?));
    }
    let Some(cors) = route.cors.as_deref() else { return Ok(()) };
    // What is not set adds nothing: answers that come before the directives of the location have no such headers.
    line(
        "proxy_hide_header Access-Control-Allow-Origin;\n            add_header Access-Control-Allow-Origin $cors_allow_origin always;"
            .to_owned(),
    );
    for (at, (name, _)) in cors.headers.iter().enumerate() {
        line(format!("proxy_hide_header {name};\n            add_header {name} $cors_{at} always;"));
    }
    if cors.cors_allow_origin.is_some() {
        line("add_header Vary $cors_vary always;".to_owned());
    }
    Ok(())
}

/// CORS and `custom-headers`.
pub(super) fn headers(route: &Route, line: &mut impl FnMut(String)) -> anyhow::Result<()> {
    // Headers of its own put an end to inheriting.
    line(super::rule_header());
    added(route, line)?;
    let Some(cors) = route.cors.as_deref() else { return Ok(()) };
    let mut set = "set $cors true;".to_owned();
    for (at, (_, value)) in cors.headers.iter().enumerate() {
        write!(set, " set $cors_{at} {};", literal(value)?)?;
    }
    match &cors.cors_allow_origin {
        None => line(format!("set $cors_allow_origin *; {set}")),
        Some(origins) => {
            let one = |origin: &std::sync::Arc<str>| escape_regex(origin).replace(r"\*", "[a-z0-9-]+");
            let all: Vec<String> = origins.iter().map(one).collect();
            let pattern = if all.is_empty() { "^(?!)".to_owned() } else { format!("^({})$", all.join("|")) };
            line("set $cors_vary Origin;".to_owned());
            line(format!("if ($http_origin ~* {}) {{ set $cors_allow_origin $http_origin; {set} }}", quoted(&pattern)?));
        }
    }
    line("if ($request_method = OPTIONS) {\n                set $cors \"${cors}options\";\n            }".to_owned());
    line("if ($cors = \"trueoptions\") {\n                return 204;\n            }".to_owned());
    Ok(())
}

/// Whether a target of rewriting is a redirect.
pub(super) fn redirects(target: &str) -> bool {
    ["http://", "https://", "$scheme"].iter().any(|start| target.starts_with(start))
}

/// The answer of an annotation, a rewrite that redirects, and the redirect to HTTPS.
pub(super) fn redirect(place: &Place<'_>, route: &Route, line: &mut impl FnMut(String)) -> anyhow::Result<()> {
    if let Some(Redirects { answer, relative_redirects, use_port_in_redirects, .. }) = route.redirects.as_deref() {
        if *relative_redirects {
            line("absolute_redirect off;".to_owned());
        }
        if let Some(with_port) = use_port_in_redirects {
            line(format!("port_in_redirect {};", if *with_port { "on" } else { "off" }));
        }
        if let Some((code, url)) = answer {
            line(format!("return {code} {};", literal(url)?));
        }
    }
    if let Some(target) = route.rewrite_target.as_deref().filter(|target| redirects(target)) {
        line(format!("rewrite {} {} break;", quoted(&format!("(?i){}", route.path))?, quoted(target)?));
    }
    let globals = &*place.model.fixed.globals;
    let config = &globals.config;
    let force = route.force_ssl_redirect.unwrap_or(config.https.force_ssl_redirect);
    let wanted = force || place.group.tls && route.ssl_redirect.unwrap_or(config.https.ssl_redirect);
    let exempt = config.no_tls_redirect_locations.iter().any(|prefix| !prefix.is_empty() && route.path.starts_with(&**prefix));
    if wanted && !exempt {
        let keep = route.preserve_trailing_slash.unwrap_or(config.https.preserve_trailing_slash);
        let own_port = route.redirects.as_ref().and_then(|redirects| redirects.use_port_in_redirects);
        let port =
            if own_port.unwrap_or(config.https.use_port_in_redirects) { format!(":{}", globals.listen.https) } else { String::new() };
        let uri = if keep { "$request_uri" } else { "$narthex_trimmed_uri" };
        let own_code = route.redirects.as_ref().and_then(|redirects| redirects.http_redirect_code);
        let code = own_code.unwrap_or(config.https.http_redirect_code);
        line(format!(
            "if ($pass_access_scheme = http) {{\n                return {code} https://$narthex_redirect_host{port}{uri};\n            }}"
        ));
    }
    Ok(())
}

/// The backend that takes the place of the route's own, if that has no endpoint and there is one.
pub(super) fn substitute<'a>(place: &Place<'_>, route: &'a Route) -> Option<&'a str> {
    let key = route.errors.as_ref()?.default_backend.as_deref()?;
    let is_needed = !route.backend.is_empty() && place.backends.usable(&route.backend).is_none();
    (is_needed && place.backends.usable(key).is_some()).then_some(key)
}

/// Errors that another backend answers; gives the locations that ask it.
pub(super) fn errors(
    place: &Place<'_>,
    profile: &Profile,
    route: &Route,
    number: usize,
    line: &mut impl FnMut(String),
) -> anyhow::Result<String> {
    let answers = &place.model.fixed.globals.config.errors;
    let by_all = !answers.custom_http_errors.is_empty() && !answers.disable_proxy_intercept_errors;
    let own = profile.error_pages.as_ref();
    // The answer of a backend without endpoints is NGINX's own.
    let is_own = place.backends.usable(&route.backend).is_none();
    if by_all || own.is_some_and(|own| is_own || !own.only_own) {
        line("proxy_intercept_errors on;".to_owned());
    }
    // Those of the global list go to the default backend, whatever the route says.
    let wanted = route.errors.as_ref().filter(|errors| errors.custom_http_errors.is_some());
    let wanted = wanted.and_then(|errors| errors.default_backend.as_deref()).filter(|key| place.backends.usable(key).is_some());
    let backend = place.backends.usable(wanted.unwrap_or_default());
    let global = || answers.custom_http_errors.iter().map(|status| status.code()).collect();
    let mut pages = String::new();
    for status in own.map_or_else(global, |own| own.statuses.clone()) {
        line(format!("error_page {status} = @error_{number}_{status};"));
        pages += &format!("        location @error_{number}_{status} {{\n");
        let mut line = |text: String| pages += &format!("            {text}\n");
        line(super::rule_header());
        added(route, &mut line)?;
        if let Some(check) = route.external_auth.as_deref() {
            line(super::access::cookie(check));
        }
        line(format!("set $proxy_upstream_name {};", literal(backend.map_or("upstream-default-backend", |(_, record)| &record.name))?));
        match backend {
            None => line("return 404;".to_owned()),
            Some((number, _)) => {
                line("client_max_body_size 0;\n            proxy_intercept_errors off;\n            rewrite ^ / break;".to_owned());
                line("proxy_redirect off;\n            proxy_cookie_domain off;\n            proxy_cookie_path off;".to_owned());
                for header in place.headers.iter().filter(|header| !header.contains(" X-Original-URI ")) {
                    line(header.replace("$narthex_vhost", "$best_http_host"));
                }
                line(format!("proxy_set_header X-Code {status};\n            proxy_set_header X-Original-URI $request_uri;"));
                CONTEXT.iter().for_each(|header| line((*header).to_owned()));
                if route.password.is_some() {
                    line("proxy_set_header Authorization \"\";".to_owned());
                }
                line(format!("proxy_pass http://b{number};"));
            }
        }
        pages.push_str("        }\n");
    }
    Ok(pages)
}

/// Names of zones: unambiguous, as names of Kubernetes hold no underscore.
fn zone(route: &Route, kind: &str) -> String {
    format!("{}_{}_{kind}", route.namespace, route.ingress)
}

/// Limits of requests, connections and bytes.
pub(super) fn limits(route: &Route, line: &mut impl FnMut(String)) -> anyhow::Result<()> {
    if let Some(limits) = route.limits.as_deref() {
        if let Some(connections) = limits.limit_connections {
            line(format!("limit_conn {} {connections};", zone(route, "conn")));
        }
        for (kind, rate) in [("rps", limits.limit_rps), ("rpm", limits.limit_rpm)] {
            if let Some(rate) = rate {
                line(format!("limit_req zone={} burst={} nodelay;", zone(route, kind), rate.saturating_mul(limits.limit_burst_multiplier)));
            }
        }
    }
    for (name, kib) in [("limit_rate", route.limit_rate), ("limit_rate_after", route.limit_rate_after)] {
        if let Some(kib) = kib {
            line(format!("{name} {kib}k;"));
        }
    }
    Ok(())
}

/// The zones that count.
pub(super) fn zones(model: &Model) -> anyhow::Result<String> {
    let routes = model.live.hosts.values().flat_map(|record| &record.routes);
    let limited: BTreeMap<_, _> = routes.filter_map(|route| Some((zone(route, ""), (route, route.limits.as_deref()?)))).collect();
    let mut text = String::new();
    for (number, (route, limits)) in limited.into_values().enumerate() {
        let mut key = "$binary_remote_addr".to_owned();
        if !limits.limit_allowlist.is_empty() {
            writeln!(text, "    geo $limited_{number} {{\n        default 1;")?;
            limits.limit_allowlist.iter().try_for_each(|network| writeln!(text, "        {network} 0;"))?;
            writeln!(text, "    }}\n    map $limited_{number} $limit_key_{number} {{\n        0 \"\";\n        default {key};\n    }}")?;
            key = format!("$limit_key_{number}");
        }
        if limits.limit_connections.is_some() {
            writeln!(text, "    limit_conn_zone {key} zone={}:1m;", zone(route, "conn"))?;
        }
        for (kind, unit, rate) in [("rps", 's', limits.limit_rps), ("rpm", 'm', limits.limit_rpm)] {
            if let Some(rate) = rate {
                writeln!(text, "    limit_req_zone {key} zone={}:1m rate={rate}r/{unit};", zone(route, kind))?;
            }
        }
    }
    Ok(text)
}
