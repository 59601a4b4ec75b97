//! Client certificates of a whole host.

use std::collections::BTreeMap;
use std::sync::Arc;

use settings::{ClientTls, VerifyClient};

use super::{CATCH_ALL, Entry};
use crate::fixed::ClientVerification;
use crate::key::{ObjectKey, ObjectRef};
use crate::live::Policy;
use crate::passes::resolve::ClientTrust;
use crate::problem::{Problem, ProblemKind};

/// What the Ingresses of a host say about client certificates.
pub(super) struct Clients {
    closed: Closed,
    /// The oldest Ingress with a CA decides.
    verified: Option<(ClientVerification, Live)>,
    /// Ingresses with a subject of their own.
    subjects: BTreeMap<ObjectKey, Arc<str>>,
}

/// Where no client passes, as an Ingress asks for what is unavailable.
enum Closed {
    /// Everywhere. It is of the namespace that has the host: its other Ingresses count on it.
    Host,
    /// In the paths of these Ingresses, of other namespaces, or on the host of requests without a host, where no client can be asked.
    Only(Vec<ObjectKey>),
}

impl Closed {
    /// `ingress`: none for the built-in catch-all location.
    fn closes(&self, ingress: Option<&ObjectKey>) -> bool {
        match self {
            Self::Host => true,
            Self::Only(ingresses) => ingress.is_some_and(|ingress| ingresses.contains(ingress)),
        }
    }
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
        return Clients { closed: Closed::Only(closed), verified: None, subjects: BTreeMap::new() };
    }
    let unusable = || asking().filter(|entry| entry.resolved.client_trust == Some(ClientTrust::Unusable));
    let owner = entries.first().map(|entry| &entry.key().namespace);
    if unusable().any(|entry| Some(&entry.key().namespace) == owner) {
        return Clients { closed: Closed::Host, verified: None, subjects: BTreeMap::new() };
    }
    let verified = asking().find_map(|entry| {
        let Some(ClientTrust::Trusted(trusted)) = &entry.resolved.client_trust else { return None };
        let asked = &entry.spec.client_tls;
        let verification = ClientVerification::new(host, trusted.clone(), asked.auth_tls_verify_client, depth(asked));
        let error_page = asked.auth_tls_error_page.as_ref().map(|page| page.to_string().into());
        Some((verification, Live { subject: subject(asked), passed: asked.auth_tls_pass_certificate_to_upstream, error_page }, entry.key()))
    });
    let mut closed: Vec<ObjectKey> = unusable().map(|entry| entry.key().clone()).collect();
    if let Some((verification, _, decides)) = &verified {
        for entry in asking().filter(|entry| !suffices(verification, entry)) {
            closed.push(entry.key().clone());
            problems.push(Problem {
                object: ObjectRef::ingress(entry.key()),
                field: String::new(),
                kind: ProblemKind::Conflict,
                detail: format!(
                    "auth-tls-secret: host {host:?} asks for the client certificates of Ingress {decides}, which is older and asks for others \
                     (CA, auth-tls-verify-client or auth-tls-verify-depth); the paths of this one answer 403"
                ),
            });
        }
    }
    let own = |entry: &&Entry| Some((entry.key().clone(), subject(&entry.spec.client_tls)?));
    let subjects = asking().filter_map(own).collect();
    Clients { closed: Closed::Only(closed), verified: verified.map(|(verification, live, _)| (verification, live)), subjects }
}

fn depth(asked: &ClientTls) -> u16 {
    asked.auth_tls_verify_depth.unwrap_or(1)
}

fn subject(asked: &ClientTls) -> Option<Arc<str>> {
    asked.auth_tls_match_cn.as_ref().map(|subject| subject.as_str().into())
}

/// Whether what the host verifies is all that an Ingress asks for. One without a usable CA is closed anyway.
fn suffices(decided: &ClientVerification, entry: &Entry) -> bool {
    let Some(ClientTrust::Trusted(trusted)) = &entry.resolved.client_trust else { return true };
    let asked = &entry.spec.client_tls;
    let strict = match asked.auth_tls_verify_client {
        VerifyClient::On => decided.verify == VerifyClient::On,
        VerifyClient::Optional => matches!(decided.verify, VerifyClient::On | VerifyClient::Optional),
        // The backend decides.
        VerifyClient::Off | VerifyClient::OptionalNoCa => return true,
    };
    strict && decided.trusted == *trusted && decided.depth <= depth(asked)
}

impl Clients {
    /// Puts into the policy of an Ingress what Lua must know.
    pub(super) fn apply(&self, ingress: Option<&ObjectKey>, policy: &mut Policy) {
        policy.forbidden = self.closed.closes(ingress);
        if let Some((verification, live)) = &self.verified {
            policy.verified = Some(verification.id.clone());
            policy.auth_tls_match_cn = ingress.and_then(|ingress| self.subjects.get(ingress)).or(live.subject.as_ref()).cloned();
            policy.auth_tls_pass_certificate_to_upstream = live.passed;
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
