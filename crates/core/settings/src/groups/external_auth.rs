//! External authentication: a subrequest decides.

mod entries;

use std::num::NonZeroU32;

use ngx_value::{CacheRules, Expression, HeaderName, HeaderTemplate, Method, QueryName, RedirectTemplate, Seconds, Snippet, UrlTemplate};

use super::common;
use crate::parse::FindingKind;
use crate::rare::Rare;
use crate::reference::Reference;
use crate::table::*;

pub(super) static GROUP: Group = Group {
    title: "External authentication",
    doc: "Each request is put before another service first: 2xx lets it pass, 401 and 403 go to the client, anything else is 500. What is wrong here and protects closes the locations; they are never served unchecked.",
    entries: entries::ENTRIES,
    finish,
    settle: |draft, config| common::hold_to_policy(draft, config, "auth-snippet", |spec| &mut spec.external_auth.snippet),
    clear: |spec| spec.external_auth = Rare::default(),
    ..common::GROUP
};

/// What these annotations ask for. Without `url` all others but `enable_global` are not set.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExternalAuth {
    /// `auth-url`: where the subrequest goes. `None`: the global service, unless `enable_global` is `Some(false)`.
    pub url: Option<UrlTemplate>,
    /// `auth-method`: of the subrequest. `None`: GET, and without the headers `X-Original-URI` and `X-Scheme`.
    pub method: Option<Method>,
    /// `auth-signin`: where clients are sent instead of a 401.
    pub signin: Option<RedirectTemplate>,
    /// `auth-signin-redirect-param`: the parameter there that holds the original URL. `None`: `rd`.
    pub signin_redirect_param: Option<QueryName>,
    /// `auth-snippet`: text for the location of the subrequest. Only where snippets are allowed; never empty.
    pub snippet: Option<Snippet>,
    /// `auth-cache-key`: what answers are kept by. `None`: they are not kept.
    pub cache_key: Option<Expression>,
    /// `auth-cache-duration`: how long. `None`: the default of [`CacheRules`].
    pub cache_duration: Option<CacheRules>,
    /// `auth-keepalive`: idle connections; see [`ExternalAuth::keepalive`].
    pub keepalive_connections: Option<NonZeroU32>,
    /// `auth-keepalive-share-vars`: request and subrequest share variables.
    pub keepalive_share_vars: bool,
    /// `auth-keepalive-requests`: requests of a connection, 0 = no keepalive. `None`: 1000.
    pub keepalive_requests: Option<u32>,
    /// `auth-keepalive-timeout`: idle time of a connection, 0 = no keepalive. `None`: 60.
    pub keepalive_timeout: Option<Seconds>,
    /// `auth-response-headers`: copied from the answer to the backend's request; one that the answer lacks is removed.
    pub response_headers: Vec<HeaderName>,
    /// `auth-proxy-set-headers`: the ConfigMap with further headers of the subrequest. A namespace is always written.
    pub proxy_set_headers: Option<Reference>,
    /// `auth-request-redirect`: the header `X-Auth-Request-Redirect` of the subrequest. `None`: the request's URI.
    pub request_redirect: Option<HeaderTemplate>,
    /// `auth-always-set-cookie`: cookies of the answer go to the client whatever the status.
    pub always_set_cookie: bool,
    /// `enable-global-auth`: `Some(false)`: the global service is not asked either.
    pub enable_global: Option<bool>,
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
    /// Which connections are kept. `None`: none, because nobody asked, or a part is switched off, or the host is known only at the request.
    ///
    /// Not to be used where clients may speak HTTP/2 (setting `use-http2`).
    pub fn keepalive(&self) -> Option<Keepalive> {
        let connections = self.keepalive_connections.filter(|_| self.url.as_ref().is_some_and(|url| !url.has_variable_host()))?;
        let requests = NonZeroU32::new(self.keepalive_requests.unwrap_or(1000))?;
        let timeout = self.keepalive_timeout.unwrap_or(Seconds(60));
        (timeout.0 > 0).then_some(Keepalive { connections, requests, timeout })
    }
}

fn finish(draft: &mut Draft) {
    let auth = &draft.spec.external_auth;
    let asks = auth.keepalive_connections.is_some();
    if asks && auth.url.as_ref().is_some_and(UrlTemplate::has_variable_host) {
        let detail = "the host of auth-url is known only at the request; connections to it are not kept";
        draft.note_on("auth-keepalive", FindingKind::Surprise, detail);
    } else if asks && auth.keepalive().is_none() {
        let detail = "auth-keepalive-requests or auth-keepalive-timeout is 0; connections are not kept";
        draft.note_on("auth-keepalive", FindingKind::Surprise, detail);
    }
    let auth = &draft.spec.external_auth;
    if auth.cache_duration.is_some() && auth.cache_key.is_none() && !draft.has_failed("auth-cache-key") {
        draft.note_on("auth-cache-duration", FindingKind::Surprise, "it has no effect without auth-cache-key; it is ignored");
    }
    let auth = &draft.spec.external_auth;
    if auth.url.is_some() && auth.enable_global == Some(false) {
        draft.note_on("enable-global-auth", FindingKind::Surprise, "auth-url is set; that service is asked all the same");
    }
}

#[cfg(test)]
mod tests;
