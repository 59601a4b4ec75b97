//! What becomes of a request, in the order of NGINX's phases (`docs/live-protocol.md`).

mod answers;

use std::sync::Arc;

use model::live::{Policy, Route};
use model::{Globals, Model};
use serde::{Deserialize, Serialize};

use crate::access::{self, Verdict};
use crate::backend::{self, BackendShare};
use crate::host::{CATCH_ALL, Found};
use crate::location::{self, LocationMatch};
use crate::request::Seen;
use crate::rewrite::{self, Rewritten};
use crate::variables::Variables;
use answers::Asked;

/// The location that a path leads to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// How the path leads there.
    pub by: LocationMatch,
    /// `namespace/name` of the Ingress. Absent: no Ingress has a rule for the path.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ingress: Option<String>,
    /// Path of the rule.
    pub path: Arc<str>,
    /// `namespace/service:port`; `-`: the default backend.
    pub backend: Arc<str>,
}

/// What becomes of a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Outcome {
    /// NGINX answers itself.
    Answer {
        /// Status.
        status: u16,
        /// Where the client is sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        location: Option<String>,
        /// The setting or the state that leads to it.
        because: String,
        /// The backend whose page takes the place of NGINX's, and of the status (`custom-http-errors`).
        #[serde(skip_serializing_if = "Option::is_none")]
        page: Option<Arc<str>>,
    },
    /// A backend answers.
    Proxy {
        /// The backends that may serve it, those of no share left out.
        backends: Vec<BackendShare>,
        /// Path and query that the backend gets.
        target: String,
        /// Headers that NGINX sets for the backend, by name.
        headers: Vec<(String, String)>,
    },
}

/// Something that is not known here and changes the outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    /// What may be so.
    pub when: String,
    /// The outcome then.
    pub then: String,
}

impl Condition {
    pub(crate) fn new(when: String, then: impl Into<String>) -> Self {
        Self { when, then: then.into() }
    }
}

/// What a path leads to, before its route is looked at.
enum Target<'a> {
    Answer(Outcome),
    Route(LocationMatch, Option<&'a Arc<Route>>),
}

/// Location, outcome and conditions of a request.
pub(crate) fn of(model: &Model, found: &Found, seen: &Seen<'_>) -> (Option<Location>, Outcome, Vec<Condition>) {
    let globals = &*model.fixed.globals;
    let server_name = &*found.shown.name;
    let variables = Variables { seen, globals, route: None, server_name };
    let (by, route) = match target(found, &variables) {
        Target::Answer(outcome) => return (None, outcome, Vec::new()),
        Target::Route(by, route) => (by, route),
    };
    let route = route.map(|route| &**route);
    let key: Arc<str> =
        route.filter(|route| !route.service.is_empty()).map_or_else(|| backend::DEFAULT.into(), |route| route.backend.clone());
    let location = Location {
        by: by.clone(),
        ingress: route.filter(|route| !route.ingress.is_empty()).map(|route| format!("{}/{}", route.namespace, route.ingress)),
        path: route.map_or_else(|| "/".into(), |route| route.path.clone()),
        backend: key.clone(),
    };
    let none = Policy::default();
    let policy = route.map_or(&none, |route| &*route.policy);
    let variables = Variables { route, ..variables };
    let mut asked = Asked { model, policy, route, variables, by, conditions: Vec::new() };
    let outcome = asked.answer().unwrap_or_else(|| served(&mut asked, &key));
    (Some(location), outcome, asked.conditions)
}

fn target<'a>(found: &'a Found, variables: &Variables<'_>) -> Target<'a> {
    let (record, seen, globals) = (&found.record, variables.seen, variables.globals);
    if let Some(host) = &record.redirect_to {
        let url = format!("{}://{host}:{}{}", variables.scheme(), variables.port(), answers::without_slash(&seen.request.target));
        let because = format!("from-to-www-redirect of the host {host}");
        return Target::Answer(answers::moved(globals.config.https.http_redirect_code, url, because));
    }
    if let Some(path) = record.app_root.as_deref().filter(|_| seen.path == b"/") {
        let url = format!("{}://{}{}", seen.scheme(), seen.request.authority, variables.text(path));
        return Target::Answer(answers::moved(302, url, "app-root".into()));
    }
    let is_catch_all = *found.shown.name == *CATCH_ALL;
    let health = globals.health_check_path.as_bytes();
    let own = |path: &[u8]| is_catch_all && (path == health && !health.is_empty() || path == b"/nginx_status");
    match location::find(record, &seen.path, own) {
        Some((by, at)) => Target::Route(by, at.and_then(|at| record.routes.get(at as usize))),
        None => Target::Answer(own_page(seen, globals)),
    }
}

/// What answers where no rule has the path, on hosts without rules.
fn own_page(seen: &Seen<'_>, globals: &Globals) -> Outcome {
    let limit = globals.config.proxy.proxy_body_size.bytes;
    if answers::is_longer(seen, limit) {
        return answers::status(413, format!("proxy-body-size is {limit} bytes"));
    }
    if seen.path == globals.health_check_path.as_bytes() {
        return answers::status(200, "it is the path of the health check".into());
    }
    answers::status(200, "these are NGINX's counters, for the addresses of nginx-status-ipv4-whitelist; others get 403".into())
}

/// What a backend, or the lack of one, makes of it.
fn served(asked: &mut Asked<'_>, key: &Arc<str>) -> Outcome {
    let live = &asked.model.live;
    let own = backend::usable(live, key);
    let errors = asked.policy.errors.as_deref().and_then(|errors| errors.default_backend.as_ref());
    let instead = errors.filter(|_| own.is_none() && **key != *backend::DEFAULT).and_then(|key| Some((key, backend::usable(live, key)?)));
    let Some((key, record, because)) = own
        .map(|record| (key, record, None))
        .or_else(|| instead.map(|(other, record)| (other, record, Some(format!("{key} has no endpoint (default-backend)")))))
    else {
        return missing(asked, key);
    };
    let rewritten = match rewritten(asked) {
        Ok(rewritten) => rewritten,
        Err(answer) => return answer,
    };
    asked.limit();
    if let Some(refused) = judged(asked) {
        return refused;
    }
    let backends = match because {
        Some(because) => vec![backend::share(key, record, 100.0, because, &asked.variables)],
        None => backend::shares(live, key, record, &asked.variables, &mut asked.conditions),
    };
    Outcome::Proxy { backends, target: lossy(&rewritten.target), headers: asked.headers(rewritten.prefix) }
}

/// Without an endpoint: 503, or 404 for the default backend, which only clients learn that may pass.
fn missing(asked: &mut Asked<'_>, key: &Arc<str>) -> Outcome {
    if **key != *backend::DEFAULT {
        let state = if asked.model.live.backends.contains_key(key) { "has no endpoint" } else { "is not there" };
        return asked.error(503, format!("the backend {key} {state}"));
    }
    // The path is rewritten only where something but the status may answer.
    let asks = asked.route.is_some_and(|route| access::asks(route, &asked.model.fixed.globals)) || asked.policy.mirror.is_some();
    if let Some(answer) = asks.then(|| rewritten(asked).err()).flatten() {
        return answer;
    }
    let refused = judged(asked);
    let has_rule = asked.route.is_some_and(|route| !route.ingress.is_empty());
    let what = if has_rule { "the Ingress names no backend for the path" } else { "no rule matches" };
    refused.unwrap_or_else(|| asked.error(404, format!("{what}, and the default backend has no endpoint")))
}

fn judged(asked: &mut Asked<'_>) -> Option<Outcome> {
    match access::judge(asked.route?, &asked.model.fixed.globals, &asked.variables) {
        Verdict::Passes(conditions) => {
            asked.conditions.extend(conditions);
            None
        }
        Verdict::Refused(302, because) => Some(answers::status(302, format!("{because}: the client is sent to auth-signin"))),
        Verdict::Refused(status, because) => Some(asked.error(status, because)),
    }
}

/// What the backend gets.
struct Sent {
    target: Vec<u8>,
    prefix: Option<String>,
}

fn rewritten(asked: &Asked<'_>) -> Result<Sent, Outcome> {
    let given = || Sent { target: asked.variables.seen.request.target.clone().into_bytes(), prefix: None };
    let Some((route, target)) = asked.route.and_then(|route| Some((route, route.rewrite_target.as_deref()?))) else { return Ok(given()) };
    let mut captured = None;
    let rewritten = rewrite::apply(&route.path, target, &asked.variables, &mut captured);
    let prefix = route.x_forwarded_prefix.as_deref().map(|prefix| lossy(&asked.variables.expand(prefix, captured.as_ref(), None)));
    match rewritten {
        Some(Rewritten::To(target)) => Ok(Sent { target, prefix }),
        Some(Rewritten::Dots) => Err(asked.error(400, "rewrite-target makes a path with dot segments".into())),
        Some(Rewritten::Empty) => Err(asked.error(500, "rewrite-target makes an empty path".into())),
        // A redirect was answered before.
        Some(Rewritten::Redirect(_)) | None => Ok(Sent { prefix, ..given() }),
    }
}

pub(crate) fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
