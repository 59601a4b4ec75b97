//! Client certificates of a whole host.

use std::sync::Arc;

use super::{CATCH_ALL, Entry};
use crate::fixed::ClientVerification;
use crate::key::{ObjectKey, ObjectRef};
use crate::live::Route;
use crate::passes::resolve::ClientTrust;
use crate::problem::{Problem, ProblemKind};

/// What the Ingresses of a host say about client certificates.
pub(super) struct Clients {
    closed: Closed,
    /// The oldest Ingress with a CA decides.
    verified: Option<(ClientVerification, Live)>,
}

/// Where no client passes, as an Ingress asks for what is unavailable.
enum Closed {
    /// Everywhere. It is of the namespace that has the host: its other Ingresses count on it.
    Host,
    /// In the paths of these Ingresses, of other namespaces, or on the host of requests without a host, where no client can be asked.
    Only(Vec<ObjectKey>),
}

/// What of it Lua does.
pub(super) struct Live {
    /// What must be found in the certificate's subject.
    subject: Option<Arc<str>>,
    /// Backends get the certificate.
    passed: bool,
    error_page: Option<Arc<str>>,
}

/// Decides for a host, from its Ingresses, oldest first.
pub(super) fn decide(host: &str, entries: &[&Entry], problems: &mut Vec<Problem>) -> Clients {
    let asking = || entries.iter().filter(|entry| entry.resolved.client_trust.is_some());
    if host == CATCH_ALL {
        let closed: Vec<ObjectKey> = asking().map(|entry| entry.key().clone()).collect();
        problems.extend(
            closed.iter().map(|ingress| Problem {
                object: ObjectRef::ingress(ingress),
                field: String::new(),
                kind: ProblemKind::AnnotationParsingFailed,
                detail:
                    "auth-tls-secret: expected rules with a host, as certificates are asked for by host; its paths of no host answer 403"
                        .into(),
            }),
        );
        return Clients { closed: Closed::Only(closed), verified: None };
    }
    let unusable = || asking().filter(|entry| entry.resolved.client_trust == Some(ClientTrust::Unusable));
    let owner = entries.first().map(|entry| &entry.key().namespace);
    if unusable().any(|entry| Some(&entry.key().namespace) == owner) {
        return Clients { closed: Closed::Host, verified: None };
    }
    let verified = asking().find_map(|entry| match &entry.resolved.client_trust {
        Some(ClientTrust::Trusted(trusted)) => {
            let spec = &entry.spec.client_tls;
            let verification = ClientVerification::new(host, trusted.clone(), spec.verify, spec.depth.unwrap_or(1));
            let live = Live {
                subject: spec.subject.as_ref().map(|subject| subject.as_str().into()),
                passed: spec.pass_certificate,
                error_page: spec.error_page.as_ref().map(|page| page.to_string().into()),
            };
            Some((verification, live))
        }
        _ => None,
    });
    Clients { closed: Closed::Only(unusable().map(|entry| entry.key().clone()).collect()), verified }
}

impl Clients {
    /// Puts into a route what Lua must know.
    pub(super) fn apply(&self, route: &mut Route) {
        let is_of = |ingress: &ObjectKey| *ingress.namespace == *route.namespace && *ingress.name == *route.ingress;
        route.forbidden = match &self.closed {
            Closed::Host => true,
            Closed::Only(ingresses) => ingresses.iter().any(is_of),
        };
        if let Some((verification, live)) = &self.verified {
            route.verified = Some(verification.id.clone());
            route.subject = live.subject.clone();
            route.passes_certificate = live.passed;
        }
    }

    /// Where clients go whose certificate is missing or bad.
    pub(super) fn error_page(&self) -> Option<Arc<str>> {
        self.verified.as_ref().and_then(|(_, live)| live.error_page.clone())
    }

    /// What the server block must say.
    pub(super) fn verification(self) -> Option<ClientVerification> {
        self.verified.map(|(verification, _)| verification)
    }
}
