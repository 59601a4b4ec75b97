//! Who may pass, as directives.

use annotations::Config;
use model::{ExternalCheck, PasswordCheck, Profile, Route};
use serde::Serialize;

use crate::RenderError;
use crate::auth::AuthView;
use crate::globals::client;
use crate::print::Printed;

/// What `equivalent/access.conf` prints.
#[derive(Serialize)]
pub(super) struct AccessView {
    /// Not everybody may pass: what nothing is behind is missing only for those who may.
    #[serde(skip)]
    pub(super) asks: bool,
    forbidden: bool,
    subject: Option<Printed>,
    deny: Vec<Printed>,
    allow: Vec<Printed>,
    satisfy: Printed,
    password: Option<Password>,
    external: Option<External>,
}

#[derive(Serialize)]
struct Password {
    digest: bool,
    realm: Printed,
    file: Printed,
}

/// What `equivalent/external_auth.conf` prints.
#[derive(Serialize)]
struct External {
    name: Printed,
    url: Printed,
    host: Printed,
    method: Option<Printed>,
    redirect: Printed,
    cache_key: Option<Printed>,
    cache_valid: Vec<Printed>,
    response_headers: Vec<ResponseHeader>,
    share_vars: Option<Printed>,
    /// The parameter of `add_header` with the blank before it, or nothing.
    always: Printed,
    signin: Option<SignIn>,
    /// What is text in the running configuration too.
    text: AuthView,
}

#[derive(Serialize)]
struct ResponseHeader {
    name: Printed,
    variable: Printed,
    source: Printed,
}

#[derive(Serialize)]
struct SignIn {
    name: Printed,
    url: Printed,
}

impl AccessView {
    /// `number` tells the host's locations apart.
    pub(super) fn new(config: &Config, profile: &Profile, route: &Route, number: usize) -> Result<Self, RenderError> {
        let (mut deny, mut allow) = (Vec::new(), Vec::new());
        match &route.addresses {
            Some(lists) => {
                deny = networks(&lists.denylist_source_range)?;
                allow = networks(&lists.allowlist_source_range)?;
            }
            None if !route.ingress.is_empty() => {
                deny = client::networks(&config.denylist_source_range)?;
                allow = client::networks(&config.whitelist_source_range)?;
            }
            None => {}
        }
        // Lists of its own put an end to inheriting what is blocked everywhere.
        if !(deny.is_empty() && allow.is_empty()) {
            deny.splice(0..0, client::networks(&config.block_cidrs)?);
        }
        let external = route.external_auth.as_ref().zip(profile.external_auth.as_ref());
        let external = external.map(|(check, text)| External::new(check, AuthView::new(config, &number.to_string(), text)?, number));
        let asks = !(deny.is_empty() && allow.is_empty()) || route.password.is_some() || external.is_some();
        Ok(Self {
            asks,
            forbidden: route.forbidden,
            subject: route.auth_tls_match_cn.as_deref().map(Printed::quoted).transpose()?,
            deny,
            allow,
            satisfy: Printed::fixed(if route.satisfy_any { "any" } else { "all" }),
            password: route.password.as_deref().map(Password::new).transpose()?,
            external: external.transpose()?,
        })
    }
}

fn networks(list: &[std::sync::Arc<str>]) -> Result<Vec<Printed>, RenderError> {
    list.iter().map(Printed::word).collect()
}

impl Password {
    fn new(check: &PasswordCheck) -> Result<Self, RenderError> {
        Ok(Self {
            digest: check.digest,
            realm: Printed::literal(&check.auth_realm)?,
            file: Printed::word(format!("users/{}.passwd", check.users))?,
        })
    }
}

impl External {
    /// Variables in the texts are meant.
    fn new(check: &ExternalCheck, text: AuthView, number: usize) -> Result<Self, RenderError> {
        let header = |(at, name): (usize, &std::sync::Arc<str>)| {
            Ok(ResponseHeader {
                name: Printed::quoted(name)?,
                variable: Printed::variable(&format!("auth_header_{at}"))?,
                source: Printed::variable(&format!("upstream_http_{}", name.replace('-', "_")))?,
            })
        };
        let cache = check.cache.as_ref();
        Ok(Self {
            name: Printed::word(format!("/_external-auth/{number}"))?,
            url: Printed::quoted(&proxied(check))?,
            host: Printed::quoted(&check.host)?,
            method: check.auth_method.as_deref().map(Printed::word).transpose()?,
            redirect: check.auth_request_redirect.as_deref().map_or_else(|| Ok(Printed::fixed("$request_uri")), Printed::quoted)?,
            cache_key: cache.map(|cache| Printed::comment(&cache.auth_cache_key)),
            cache_valid: cache.map(|cache| cache.auth_cache_duration.iter().map(|rule| rule_text(rule)).collect()).unwrap_or_default(),
            response_headers: check.auth_response_headers.iter().enumerate().map(header).collect::<Result<_, RenderError>>()?,
            share_vars: check.auth_keepalive_share_vars.map(|shared| Printed::fixed(if shared { "true" } else { "false" })),
            always: Printed::fixed(if check.auth_always_set_cookie { " always" } else { "" }),
            signin: check.auth_signin.as_deref().map(|signin| SignIn::new(signin, check, number)).transpose()?,
            text,
        })
    }
}

/// The URL, with the upstream block that keeps connections in the place of host and port.
fn proxied(check: &ExternalCheck) -> String {
    let parts = check.upstream.as_ref().zip(check.auth_url.split_once("://"));
    let Some((upstream, (scheme, rest))) = parts else { return check.auth_url.to_string() };
    let path = rest.find(['/', '?']).map_or("", |at| &rest[at..]);
    format!("{scheme}://{upstream}{path}")
}

fn rule_text(rule: &[u32]) -> Printed {
    let seconds = rule.first().copied().unwrap_or_default();
    let statuses: Vec<String> = rule.iter().skip(1).map(u32::to_string).collect();
    let statuses = if statuses.is_empty() { "any".to_owned() } else { statuses.join(" ") };
    Printed::comment(&format!("{statuses}: {seconds}s"))
}

impl SignIn {
    fn new(signin: &str, check: &ExternalCheck, number: usize) -> Result<Self, RenderError> {
        let parameter = check.auth_signin_redirect_param.as_deref().map_or_else(String::new, |parameter| {
            let separator = if signin.contains('?') { '&' } else { '?' };
            format!("{separator}{parameter}=$pass_access_scheme://$http_host$request_uri")
        });
        Ok(Self {
            name: Printed::word(format!("@external_auth_sign_in_{number}"))?,
            url: Printed::quoted(&format!("{signin}{parameter}"))?,
        })
    }
}
