//! What NGINX answers itself.

use std::sync::Arc;

use model::Model;
use model::live::{Cors, Policy, Route};

use super::{Condition, Outcome, lossy};
use crate::backend;
use crate::certificate;
use crate::location::LocationMatch;
use crate::request::Seen;
use crate::rewrite::{self, Rewritten};
use crate::variables::Variables;

/// A request at its location.
pub(super) struct Asked<'a> {
    pub(super) model: &'a Model,
    pub(super) policy: &'a Policy,
    /// None: no rule has the path.
    pub(super) route: Option<&'a Route>,
    pub(super) variables: Variables<'a>,
    pub(super) by: LocationMatch,
    pub(super) conditions: Vec<Condition>,
}

/// A redirect.
pub(super) fn moved(status: u16, location: String, because: String) -> Outcome {
    Outcome::Answer { status, location: Some(location), because, page: None }
}

/// An answer without a place to go to.
pub(super) fn status(status: u16, because: String) -> Outcome {
    Outcome::Answer { status, location: None, because, page: None }
}

/// Whether the body has more bytes; 0: there is no limit.
pub(super) fn is_longer(seen: &Seen<'_>, limit: u64) -> bool {
    let length = seen.request.variable("content-length").and_then(|length| length.parse::<u64>().ok());
    limit > 0 && length.is_some_and(|length| length > limit)
}

/// A target without one slash at its end.
pub(super) fn without_slash(target: &str) -> &str {
    target.strip_suffix('/').unwrap_or(target)
}

impl Asked<'_> {
    /// What is answered before a backend is looked for.
    pub(super) fn answer(&mut self) -> Option<Outcome> {
        let globals = &self.model.fixed.globals;
        let limit = self.policy.proxy_body_size.unwrap_or(globals.config.proxy.proxy_body_size.bytes);
        if is_longer(self.variables.seen, limit) {
            return Some(self.error(413, format!("proxy-body-size is {limit} bytes")));
        }
        if let LocationMatch::MissingSlash(_) = self.by {
            return Some(self.slash());
        }
        self.early().or_else(|| self.https())
    }

    /// 301 to the path with a slash at its end.
    fn slash(&self) -> Outcome {
        let args = self.variables.seen.request.args();
        let query = if args.is_empty() { String::new() } else { format!("?{args}") };
        let path = format!("{}/{query}", lossy(&rewrite::escape_path(&self.variables.seen.path)));
        moved(301, self.own(&path), "only a slash is missing at the end of the path".into())
    }

    /// A path of the same host, in the form that the settings ask for.
    fn own(&self, path: &str) -> String {
        let (config, rules) = (&self.model.fixed.globals.config, self.policy.redirects.as_deref());
        if rules.is_some_and(|rules| rules.relative_redirects) || config.relative_redirects {
            return path.to_owned();
        }
        let (seen, port) = (self.variables.seen, self.variables.own_port());
        let has_port = self.uses_port() && port != if seen.request.tls { 443 } else { 80 };
        let port = if has_port { format!(":{port}") } else { String::new() };
        format!("{}://{}{port}{path}", seen.scheme(), seen.host)
    }

    fn uses_port(&self) -> bool {
        let own = self.policy.redirects.as_deref().and_then(|rules| rules.use_port_in_redirects);
        own.unwrap_or(self.model.fixed.globals.config.https.use_port_in_redirects)
    }

    fn early(&mut self) -> Option<Outcome> {
        let policy = self.policy;
        if policy.forbidden {
            return Some(status(403, "an unusable setting for client certificates closes the host".into()));
        }
        if policy.verified.is_some() {
            self.conditions
                .push(Condition::new("the client has no certificate that auth-tls-secret accepts".into(), "400, or auth-tls-error-page"));
        }
        if let Some(subject) = &policy.auth_tls_match_cn {
            self.conditions.push(Condition::new(format!("the subject of its certificate does not match {subject:?}"), "403"));
        }
        if policy.denied {
            return Some(self.error(503, "a setting of the Ingress that protects is unusable (narthex check names it)".into()));
        }
        if let Some(cors) = policy.cors.as_deref().filter(|_| self.variables.seen.request.method == "OPTIONS")
            && self.may_read(cors)
        {
            return Some(status(204, "enable-cors answers requests of the method OPTIONS".into()));
        }
        if let Some((code, url)) = policy.redirects.as_deref().and_then(|redirects| redirects.answer.as_ref()) {
            return Some(self.redirected(*code, url));
        }
        let route = self.route?;
        let target = route.rewrite_target.as_deref().filter(|target| rewrite::is_redirect(target))?;
        match rewrite::apply(&route.path, target, &self.variables, &mut None)? {
            Rewritten::Redirect(url) => Some(moved(302, lossy(&url), "rewrite-target is a URL".into())),
            _ => None,
        }
    }

    fn may_read(&self, cors: &Cors) -> bool {
        let Some(origins) = &cors.cors_allow_origin else { return true };
        let Some(origin) = self.variables.seen.request.variable("origin") else { return false };
        let origin = origin.to_ascii_lowercase();
        origins.iter().any(|allowed| match allowed.split_once('*') {
            None => **allowed == *origin,
            Some((head, tail)) => {
                let label = origin.strip_prefix(head).and_then(|rest| rest.strip_suffix(tail));
                label.is_some_and(|label| !label.is_empty() && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
            }
        })
    }

    fn redirected(&self, code: u16, url: &str) -> Outcome {
        let because = "permanent-redirect or temporal-redirect".to_owned();
        match code {
            301 | 302 | 303 | 307 | 308 if url.starts_with('/') => moved(code, self.own(url), because),
            301 | 302 | 303 | 307 | 308 => moved(code, url.to_owned(), because),
            _ => status(code, format!("{because}, with the URL as the body")),
        }
    }

    /// The redirect to HTTPS.
    fn https(&self) -> Option<Outcome> {
        let route = self.route?;
        let config = &self.model.fixed.globals.config;
        let https = &config.https;
        if self.variables.scheme() != "http"
            || config.no_tls_redirect_locations.iter().any(|exempt| route.path.starts_with(exempt.as_str()))
        {
            return None;
        }
        let forced = self.policy.force_ssl_redirect.unwrap_or(https.force_ssl_redirect);
        let with_certificate = self.policy.ssl_redirect.unwrap_or(https.ssl_redirect);
        let because = if forced {
            "force-ssl-redirect"
        } else if with_certificate && certificate::covers(&self.model.live, &self.variables.seen.host) {
            "ssl-redirect, and the host has a certificate"
        } else {
            return None;
        };
        let host = self.variables.best_http_host();
        let bare = host.trim_end_matches(|c: char| c.is_ascii_digit()).strip_suffix(':').unwrap_or(&host);
        let port = if self.uses_port() { format!(":{}", self.model.fixed.globals.listen.https) } else { String::new() };
        let target = &self.variables.seen.request.target;
        let keeps = self.policy.preserve_trailing_slash.unwrap_or(https.preserve_trailing_slash);
        let target = if keeps { target } else { without_slash(target) };
        let code = self.policy.redirects.as_deref().and_then(|redirects| redirects.http_redirect_code).unwrap_or(https.http_redirect_code);
        Some(moved(code, format!("https://{bare}{port}{target}"), because.into()))
    }

    /// An error, and the backend that makes a page of it.
    pub(super) fn error(&self, code: u16, because: String) -> Outcome {
        let globals = &self.model.fixed.globals.config.errors.custom_http_errors;
        let errors = self.policy.errors.as_deref();
        let own = errors.and_then(|errors| errors.custom_http_errors.as_ref());
        let key = match own {
            Some(own) => own.contains(&code).then(|| errors.and_then(|errors| errors.default_backend.clone())),
            None => globals.iter().any(|status| status.code() == code).then_some(None),
        };
        let usable = |key: &Arc<str>| backend::usable(&self.model.live, key).is_some();
        let page = key.map(|own| own.filter(usable).unwrap_or_else(|| backend::DEFAULT.into()));
        if page.as_ref().is_some_and(|page| !usable(page)) {
            return status(404, format!("{because}: {code}, whose page (custom-http-errors) no backend has"));
        }
        Outcome::Answer { status: code, location: None, because, page }
    }

    /// Says what too many requests get.
    pub(super) fn limit(&mut self) {
        let Some(limits) = self.policy.limits.as_deref() else { return };
        let codes = &self.model.fixed.globals.config.limits;
        let rates = [(limits.limit_rps, "requests in a second"), (limits.limit_rpm, "requests in a minute")];
        for (limit, what) in rates.into_iter().filter_map(|(limit, what)| Some((limit?, what))) {
            let burst = limit.saturating_mul(limits.limit_burst_multiplier);
            let when = format!("the client sends more than {limit} {what}, and {burst} at once");
            self.conditions.push(Condition::new(when, codes.limit_req_status_code.to_string()));
        }
        if let Some(limit) = limits.limit_connections {
            let when = format!("the client has {limit} requests under way");
            self.conditions.push(Condition::new(when, codes.limit_conn_status_code.to_string()));
        }
    }

    /// Headers that are set for the backend. `prefix`: what the rewrite cut off.
    pub(super) fn headers(&self, prefix: Option<String>) -> Vec<(String, String)> {
        let variables = &self.variables;
        let vhost = self.policy.upstream_vhost.as_deref().map(|vhost| variables.text(vhost)).filter(|vhost| !vhost.is_empty());
        let forwarded = [
            ("Host", vhost.unwrap_or_else(|| variables.best_http_host())),
            ("X-Forwarded-Host", variables.best_http_host()),
            ("X-Forwarded-Port", variables.port()),
            ("X-Forwarded-Proto", variables.scheme()),
        ];
        let client = variables.seen.request.client.map(|client| ("X-Real-IP", client.to_string()));
        let prefix = prefix.filter(|prefix| !prefix.is_empty()).map(|prefix| ("X-Forwarded-Prefix", prefix));
        forwarded.into_iter().chain(client).chain(prefix).map(|(name, value)| (name.to_owned(), value)).collect()
    }
}
