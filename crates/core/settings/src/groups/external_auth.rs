//! External authentication: a subrequest decides.

mod defaults;
mod entries;

use std::num::NonZeroU32;

use ngx_value::{CacheRules, Expression, HeaderName, HeaderTemplate, Method, QueryName, RedirectTemplate, Seconds, Snippet, UrlTemplate};

use super::common;
use crate::parse::FindingKind;
use crate::rare::Rare;
use crate::reference::Reference;
use crate::table::*;

pub use defaults::ExternalAuthDefaults;

pub(super) static GROUP: Group = Group {
    title: "External authentication",
    doc: "Each request is put before another service first: 2xx lets it pass, 401 and 403 go to the client, anything else is 500. What is wrong here and protects closes the locations; they are never served unchecked.",
    entries: entries::ENTRIES,
    keys: defaults::KEYS,
    finish,
    settle: |draft, config| common::hold_to_policy(draft, config, "auth-snippet", |spec| &mut spec.external_auth.auth_snippet),
    clear: |spec| spec.external_auth = Rare::default(),
};

/// What these annotations ask for. Without `url` all others but `enable_global` are not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExternalAuth {
    /// `auth-url`: where the subrequest goes. `None`: the global service, unless `enable_global` is `Some(false)`.
    pub auth_url: Option<UrlTemplate>,
    /// `auth-method`: of the subrequest. `None`: GET, and without the headers `X-Original-URI` and `X-Scheme`.
    pub auth_method: Option<Method>,
    /// `auth-signin`: where clients are sent instead of a 401.
    pub auth_signin: Option<RedirectTemplate>,
    /// `auth-signin-redirect-param`: the parameter there that holds the original URL. `None`: `rd`.
    pub auth_signin_redirect_param: Option<QueryName>,
    /// `auth-snippet`: text for the location of the subrequest. Only where snippets are allowed; never empty.
    pub auth_snippet: Option<Snippet>,
    /// `auth-cache-key`: what answers are kept by. `None`: they are not kept.
    pub auth_cache_key: Option<Expression>,
    /// `auth-cache-duration`: how long. `None`: the default of [`CacheRules`].
    pub auth_cache_duration: Option<CacheRules>,
    /// `auth-keepalive`: idle connections; see [`ExternalAuth::keepalive`].
    pub auth_keepalive: Option<NonZeroU32>,
    /// `auth-keepalive-share-vars`: request and subrequest share variables.
    pub auth_keepalive_share_vars: bool,
    /// `auth-keepalive-requests`: requests of a connection, 0 = no keepalive. `None`: 1000.
    pub auth_keepalive_requests: Option<u32>,
    /// `auth-keepalive-timeout`: idle time of a connection, 0 = no keepalive. `None`: 60.
    pub auth_keepalive_timeout: Option<Seconds>,
    /// `auth-response-headers`: copied from the answer to the backend's request; one that the answer lacks is removed.
    pub auth_response_headers: Vec<HeaderName>,
    /// `auth-proxy-set-headers`: the ConfigMap with further headers of the subrequest. A namespace is always written.
    pub auth_proxy_set_headers: Option<Reference>,
    /// `auth-request-redirect`: the header `X-Auth-Request-Redirect` of the subrequest. `None`: the request's URI.
    pub auth_request_redirect: Option<HeaderTemplate>,
    /// `auth-always-set-cookie`: cookies of the answer go to the client whatever the status.
    pub auth_always_set_cookie: bool,
    /// `enable-global-auth`: `Some(false)`: the global service is not asked either.
    pub enable_global_auth: Option<bool>,
}

/// Connections to the service that are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Keepalive {
    /// Idle ones of a worker.
    pub connections: NonZeroU32,
    /// Requests of each.
    pub requests: NonZeroU32,
    /// Idle time of each; not 0.
    pub timeout: Seconds,
}

impl ExternalAuth {
    /// Which connections are kept. `None`: none, because the setting is absent, or a part is switched off, or the host is known only at the request.
    ///
    /// Not to be used where clients may speak HTTP/2 (setting `use-http2`).
    pub fn keepalive(&self) -> Option<Keepalive> {
        let connections = self.auth_keepalive.filter(|_| self.auth_url.as_ref().is_some_and(|url| !url.has_variable_host()))?;
        let requests = NonZeroU32::new(self.auth_keepalive_requests.unwrap_or(1000))?;
        let timeout = self.auth_keepalive_timeout.unwrap_or(Seconds(60));
        (timeout.0 > 0).then_some(Keepalive { connections, requests, timeout })
    }
}

fn finish(draft: &mut Draft) {
    let auth = &draft.spec.external_auth;
    let asks = auth.auth_keepalive.is_some();
    if asks && auth.auth_url.as_ref().is_some_and(UrlTemplate::has_variable_host) {
        let detail = "the host of auth-url is known only at the request; connections to it are not kept";
        draft.note_on("auth-keepalive", FindingKind::Surprise, detail);
    } else if asks && auth.keepalive().is_none() {
        let detail = "auth-keepalive-requests or auth-keepalive-timeout is 0; connections are not kept";
        draft.note_on("auth-keepalive", FindingKind::Surprise, detail);
    }
    let auth = &draft.spec.external_auth;
    if auth.auth_cache_duration.is_some() && auth.auth_cache_key.is_none() && !draft.has_failed("auth-cache-key") {
        draft.note_on("auth-cache-duration", FindingKind::Surprise, "it has no effect without auth-cache-key; it is ignored");
    }
    let auth = &draft.spec.external_auth;
    if auth.auth_url.is_some() && auth.enable_global_auth == Some(false) {
        draft.note_on("enable-global-auth", FindingKind::Surprise, "auth-url is set; that service is asked all the same");
    }
}

#[cfg(test)]
mod tests;
