//! Client certificates of a whole host.

use std::sync::Arc;

use super::{CATCH_ALL, Entry};
use crate::fixed::ClientVerification;
use crate::key::{ObjectKey, ObjectRef};
use crate::live::Route;
use crate::passes::resolve::ClientTrust;
use crate::problem::{Problem, ProblemKind};

/// What the Ingresses of a host say about client certificates.
pub(super) enum Clients {
    /// Nothing.
    Anybody,
    /// Some Ingress asks for a verification that is unavailable, so the whole host is closed.
    Nobody,
    /// Routes of these Ingresses are closed: on the host of requests without a host nobody can be asked.
    NobodyFor(Vec<ObjectKey>),
    /// The oldest Ingress with a CA decides.
    Verified { verification: ClientVerification, live: Live },
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
        return if closed.is_empty() { Clients::Anybody } else { Clients::NobodyFor(closed) };
    }
    if asking().any(|entry| entry.resolved.client_trust == Some(ClientTrust::Unusable)) {
        return Clients::Nobody;
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
            Some(Clients::Verified { verification, live })
        }
        _ => None,
    });
    verified.unwrap_or(Clients::Anybody)
}

impl Clients {
    /// Puts into a route what Lua must know.
    pub(super) fn apply(&self, route: &mut Route) {
        match self {
            Self::Anybody => {}
            Self::Nobody => route.forbidden = true,
            Self::NobodyFor(ingresses) => {
                route.forbidden = ingresses.iter().any(|ingress| *ingress.namespace == *route.namespace && *ingress.name == *route.ingress);
            }
            Self::Verified { live, verification } => {
                route.verified = Some(verification.id.clone());
                route.subject = live.subject.clone();
                route.passes_certificate = live.passed;
            }
        }
    }

    /// Where clients go whose certificate is missing or bad.
    pub(super) fn error_page(&self) -> Option<Arc<str>> {
        match self {
            Self::Verified { live, .. } => live.error_page.clone(),
            _ => None,
        }
    }

    /// What the server block must say.
    pub(super) fn verification(self) -> Option<ClientVerification> {
        match self {
            Self::Verified { verification, .. } => Some(verification),
            _ => None,
        }
    }
}
