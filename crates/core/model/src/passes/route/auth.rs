//! Authentication: by password, and by asking another service.

use std::sync::Arc;

use ngx_value::{CacheRules, HeaderName, QueryName, RedirectTemplate, UrlTemplate};
use settings::{AuthScheme, Keepalive};

use super::Location;
use crate::live::{AuthCache, ExternalCheck, PasswordCheck, Policy};
use crate::profile::Profile;
use crate::profile::external_auth::{AuthLocation, AuthUpstream};

/// Name of the parameter with the original URL unless something else is said.
const PARAMETER: &str = "rd";

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy, profile: &mut Profile) {
    if location.exempt {
        return;
    }
    policy.password = password(location).map(Arc::new);
    let external = own(location).or_else(|| global(location));
    if let Some((check, text)) = external {
        policy.external_auth = Some(Arc::new(check));
        profile.external_auth = Some(text);
    }
}

/// Without users the Ingress is denied, so nothing is served unchecked.
fn password(location: &Location<'_>) -> Option<PasswordCheck> {
    let auth = &location.given.spec.basic_auth;
    let users = location.given.resolved.users.as_ref()?;
    let realm = auth.auth_realm.as_ref().map(|realm| realm.as_str().into()).unwrap_or_default();
    Some(PasswordCheck { users: users.id.clone(), auth_realm: realm, digest: auth.auth_type? == AuthScheme::Digest })
}

/// The service that the Ingress names.
fn own(location: &Location<'_>) -> Option<(ExternalCheck, AuthLocation)> {
    let auth = &location.given.spec.external_auth;
    let url = auth.auth_url.as_ref()?;
    // A connection that is kept belongs to one worker and one protocol; with HTTP/2 the predecessor kept none.
    let keepalive = auth.keepalive().filter(|_| !location.config.use_http2);
    let upstream = keepalive.map(|keepalive| upstream(url, keepalive));
    let rules = auth.auth_cache_duration.clone().unwrap_or_default();
    let check = ExternalCheck {
        auth_url: url.as_str().into(),
        upstream: upstream.as_ref().map(|upstream| upstream.name().into()),
        trusted: false,
        host: url.host().into(),
        auth_method: auth.auth_method.map(|method| method.to_string().into()),
        auth_signin: auth.auth_signin.as_ref().map(|signin| signin.as_str().into()),
        auth_signin_redirect_param: parameter(auth.auth_signin.as_ref(), auth.auth_signin_redirect_param.as_ref()),
        auth_response_headers: names(&auth.auth_response_headers),
        auth_request_redirect: auth.auth_request_redirect.as_ref().map(|text| text.as_str().into()),
        auth_always_set_cookie: auth.auth_always_set_cookie,
        cache: auth
            .auth_cache_key
            .as_ref()
            .map(|key| AuthCache { auth_cache_key: key.as_str().into(), auth_cache_duration: durations(&rules) }),
        auth_keepalive_share_vars: keepalive.is_some().then_some(auth.auth_keepalive_share_vars),
    };
    let headers = location.given.resolved.auth_headers.clone();
    Some((check, AuthLocation { signin: auth.auth_signin.is_some(), headers, snippet: auth.auth_snippet.clone(), upstream }))
}

/// The service that the ConfigMap names, unless the Ingress does not want it.
fn global(location: &Location<'_>) -> Option<(ExternalCheck, AuthLocation)> {
    let auth = &location.config.external_auth;
    let url = auth.global_auth_url.as_ref().filter(|_| location.given.spec.external_auth.enable_global_auth != Some(false))?;
    let check = ExternalCheck {
        auth_url: url.as_str().into(),
        upstream: None,
        // With a variable it is tenants and clients who decide.
        trusted: !url.has_variable_host(),
        host: url.host().into(),
        auth_method: auth.global_auth_method.map(|method| method.to_string().into()),
        auth_signin: auth.global_auth_signin.as_ref().map(|signin| signin.as_str().into()),
        auth_signin_redirect_param: parameter(auth.global_auth_signin.as_ref(), auth.global_auth_signin_redirect_param.as_ref()),
        auth_response_headers: names(&auth.global_auth_response_headers),
        auth_request_redirect: auth.global_auth_request_redirect.as_ref().map(|text| text.as_str().into()),
        auth_always_set_cookie: auth.global_auth_always_set_cookie,
        cache: auth.global_auth_cache_key.as_ref().map(|key| AuthCache {
            auth_cache_key: key.as_str().into(),
            auth_cache_duration: auth.global_auth_cache_duration.as_ref().map(durations).unwrap_or_default(),
        }),
        auth_keepalive_share_vars: None,
    };
    Some((
        check,
        AuthLocation { signin: auth.global_auth_signin.is_some(), snippet: auth.global_auth_snippet.clone(), ..AuthLocation::default() },
    ))
}

/// The parameter of the sign-in page that holds the original URL, unless the page's URL has it already.
fn parameter(signin: Option<&RedirectTemplate>, name: Option<&QueryName>) -> Option<Arc<str>> {
    let name = name.map_or(PARAMETER, QueryName::as_str);
    signin.filter(|signin| !signin.has_parameter(name)).map(|_| name.into())
}

fn upstream(url: &UrlTemplate, keepalive: Keepalive) -> AuthUpstream {
    let port = url.port().unwrap_or(if url.is_https() { 443 } else { 80 });
    AuthUpstream { server: format!("{}:{port}", url.host()).into(), keepalive }
}

fn names(headers: &[HeaderName]) -> Vec<Arc<str>> {
    let mut names: Vec<Arc<str>> = Vec::new();
    for header in headers {
        let name = header.as_str().to_ascii_lowercase();
        if !names.iter().any(|known| **known == *name) {
            names.push(name.into());
        }
    }
    names
}

fn durations(rules: &CacheRules) -> Vec<Vec<u32>> {
    rules
        .rules()
        .iter()
        .map(|rule| [rule.time.0].into_iter().chain(rule.statuses.iter().map(|status| u32::from(*status))).collect())
        .collect()
}
