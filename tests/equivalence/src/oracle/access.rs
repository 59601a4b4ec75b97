//! Access control: lists of addresses, passwords, another service.

use std::fmt::Write;
use std::path::Path;

use model::{ExternalCheck, Route};

use super::location::Place;
use super::{literal, quoted};

/// The file of all users.
pub(super) fn users_file(dir: &Path) -> std::path::PathBuf {
    dir.join("users")
}

/// Lists of addresses, and passwords. Gives whether any check is made.
pub(super) fn lists(place: &Place<'_>, route: &Route, line: &mut impl FnMut(String)) -> anyhow::Result<bool> {
    let config = &place.model.fixed.globals.config;
    let of = |set: &ngx_value::CidrSet| set.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (deny, allow) = match &route.addresses {
        Some(lists) => (
            lists.denylist_source_range.iter().map(ToString::to_string).collect(),
            lists.allowlist_source_range.iter().map(ToString::to_string).collect(),
        ),
        None if !route.ingress.is_empty() => (of(&config.access.denylist_source_range), of(&config.access.whitelist_source_range)),
        None => (Vec::new(), Vec::new()),
    };
    deny.iter().for_each(|network| line(format!("deny {network};")));
    allow.iter().for_each(|network| line(format!("allow {network};")));
    if !allow.is_empty() {
        line("deny all;".to_owned());
    }
    if let Some(password) = &route.password {
        line(format!("auth_basic {};", literal(&password.auth_realm)?));
        line(format!("auth_basic_user_file {};", quoted(&users_file(place.dir).display().to_string())?));
    }
    line(format!("satisfy {};", if route.satisfy_any { "any" } else { "all" }));
    Ok(!(deny.is_empty() && allow.is_empty()) || route.password.is_some() || route.external_auth.is_some())
}

/// Headers of the request to the backend.
pub(super) fn headers(route: &Route, line: &mut impl FnMut(String)) -> anyhow::Result<()> {
    if route.password.is_some() {
        line("proxy_set_header Authorization \"\";".to_owned());
    }
    let names = route.external_auth.iter().flat_map(|check| &check.auth_response_headers);
    for (at, name) in names.enumerate() {
        line(format!("proxy_set_header {} $auth_header_{at};", quoted(name)?));
    }
    Ok(())
}

/// The directive that hands the service's cookies to the client.
pub(super) fn cookie(check: &ExternalCheck) -> String {
    format!("add_header Set-Cookie $auth_cookie{};", if check.auth_always_set_cookie { " always" } else { "" })
}

/// The service that is asked about each request; gives its locations.
pub(super) fn service(route: &Route, number: usize, line: &mut impl FnMut(String)) -> anyhow::Result<String> {
    let Some(check) = route.external_auth.as_deref() else { return Ok(String::new()) };
    line(format!("auth_request /_external-auth/{number};\n            auth_request_set $auth_cookie $upstream_http_set_cookie;"));
    line(cookie(check));
    for (at, name) in check.auth_response_headers.iter().enumerate() {
        line(format!("auth_request_set $auth_header_{at} $upstream_http_{};", name.replace('-', "_")));
    }
    let mut text = format!("        location = /_external-auth/{number} {{\n            internal;\n            client_max_body_size 0;\n");
    text.push_str("            proxy_pass_request_body off;\n");
    let mut header = |name: &str, value: &str| text += &format!("            proxy_set_header {name} {value};\n");
    if check.auth_method.is_some() {
        header("X-Original-URI", "$request_uri");
        header("X-Scheme", "$pass_access_scheme");
    }
    for (name, value) in [
        ("Host", &*quoted(&check.host)?),
        ("Connection", "\"\""),
        ("Content-Length", "\"\""),
        ("X-Forwarded-Proto", "\"\""),
        ("X-Request-ID", "$req_id"),
        ("X-Original-URL", "$scheme://$http_host$request_uri"),
        ("X-Original-Method", "$request_method"),
        ("X-Sent-From", "nginx-ingress-controller"),
        ("X-Real-IP", "$remote_addr"),
        ("X-Forwarded-For", "$remote_addr"),
        ("X-Auth-Request-Redirect", &*check.auth_request_redirect.as_deref().map_or_else(|| Ok("$request_uri".to_owned()), quoted)?),
    ] {
        header(name, value);
    }
    if let Some(method) = &check.auth_method {
        writeln!(text, "            proxy_method {method};")?;
    }
    writeln!(text, "            set $target {};\n            proxy_pass $target;\n        }}", quoted(&check.auth_url)?)?;
    if let Some(signin) = &check.auth_signin {
        line(format!("error_page 401 = @sign_in_{number};"));
        let parameter = check.auth_signin_redirect_param.as_deref().map_or_else(String::new, |parameter| {
            let separator = if signin.contains('?') { '&' } else { '?' };
            format!("{separator}{parameter}=$pass_access_scheme://$http_host$request_uri")
        });
        writeln!(
            text,
            "        location @sign_in_{number} {{\n            add_header Set-Cookie $auth_cookie;\n            {}",
            super::rule_header()
        )?;
        super::answers::added(route, &mut |line| text += &format!("            {line}\n"))?;
        writeln!(text, "            return 302 {};\n        }}", quoted(&format!("{signin}{parameter}"))?)?;
    }
    Ok(text)
}
