//! What serves a request, and why: the answer to `narthex explain request`.
//!
//! It reads a model and a request, and says in the order of NGINX's phases what becomes of the request: the host, the location, what answers before a
//! backend does, the backend, what is sent to it, and which other rules would have matched. It is written from `docs/live-protocol.md` and shares no code
//! with the router in Lua; a test compares both on random rules and requests (`tests/equivalence`).

mod access;
mod backend;
mod certificate;
mod host;
pub mod location;
mod others;
mod outcome;
mod pattern;
mod request;
mod rewrite;
mod text;
pub mod uri;
mod variables;

use model::snapshot::Objects;
use model::{Built, Ingress};
use serde::{Deserialize, Serialize};

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test that panics has failed")]
mod tests;

pub use backend::{BackendShare, EndpointShare};
pub use certificate::Certificate;
pub use host::{Host, HostMatch};
pub use location::LocationMatch;
pub use others::Other;
pub use outcome::{Condition, Location, Outcome};
pub use request::{InvalidRequest, Request};

/// What serves a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    /// Host without port, in lower case, as rules are compared with it.
    pub host: String,
    /// Path as rules are compared with it: decoded, with dot segments resolved and slashes merged.
    pub path: String,
    /// The certificate of the handshake. Absent: plain HTTP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<Certificate>,
    /// Whose rules are used.
    pub rules: Host,
    /// The location that the path leads to. Absent: something answers before a location is looked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub location: Option<Location>,
    /// What becomes of the request.
    pub outcome: Outcome,
    /// What of the request or of its client is not known here, and changes the outcome.
    pub conditions: Vec<Condition>,
    /// Rules that match as well, or would, each with the reason why it does not serve the request.
    pub others: Vec<Other>,
}

impl Decision {
    /// Whether a backend that a rule names serves the request, or NGINX answers it as a rule says.
    pub fn is_served(&self) -> bool {
        let is_default = |location: &Location| location.ingress.is_none() || *location.backend == *backend::DEFAULT;
        let has_rule = !self.location.as_ref().is_some_and(is_default);
        match &self.outcome {
            Outcome::Proxy { .. } => has_rule,
            Outcome::Answer { status: 404, .. } => has_rule,
            Outcome::Answer { status, .. } => *status != 503,
        }
    }
}

/// Decides about a request. `built` is what NGINX has, `ingresses` the objects that it was built from.
///
/// # Errors
/// NGINX answers 400 to a request like this, whatever the rules.
pub fn decide(built: &Built, ingresses: &Objects<Ingress>, request: &Request) -> Result<Decision, InvalidRequest> {
    let seen = request.seen()?;
    let model = &built.model;
    let found = host::find(&model.live, &seen.host);
    let (location, outcome, conditions) = outcome::of(model, &found, &seen);
    let others = others::of(built, ingresses, &found, location.as_ref(), &seen);
    Ok(Decision {
        host: seen.host.clone(),
        path: seen.shown_path(),
        certificate: seen.request.tls.then(|| certificate::of(&model.live, &seen.host)),
        rules: found.shown,
        location,
        outcome,
        conditions,
        others,
    })
}
