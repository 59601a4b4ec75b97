//! Client certificates of a whole host.

use std::collections::BTreeMap;
use std::sync::Arc;

use settings::{ClientTls, VerifyClient};

use crate::fixed::ClientVerification;
use crate::key::ObjectKey;
use crate::live::Policy;
use crate::problem::{Problem, ProblemKind};
use crate::rule::{CATCH_ALL, ClientTrust, Field, RuleSet};

/// What the objects of a host say about client certificates.
pub(super) struct Clients {
    closed: Closed,
    /// The oldest object with a CA decides.
    verified: Option<(ClientVerification, Live)>,
    /// Objects with a subject of their own.
    subjects: BTreeMap<ObjectKey, Arc<str>>,
}

/// Where no client passes, as an object asks for what is unavailable.
enum Closed {
    /// Everywhere. It is of the namespace that has the host: its other rules count on it.
    Host,
    /// In the paths of these objects, of other namespaces, or on the host of requests without a host, where no client can be asked.
    Only(Vec<ObjectKey>),
}

impl Closed {
    /// `object`: none for the built-in catch-all location.
    fn closes(&self, object: Option<&ObjectKey>) -> bool {
        match self {
            Self::Host => true,
            Self::Only(objects) => object.is_some_and(|object| objects.contains(object)),
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

/// Decides for a host, from its objects, oldest first.
pub(super) fn decide(host: &str, sets: &[&RuleSet], problems: &mut Vec<Problem>) -> Clients {
    let asking = || sets.iter().filter(|rules| rules.policy.resolved.client_trust.is_some());
    if host == CATCH_ALL {
        let closed: Vec<ObjectKey> = asking().map(|rules| rules.key().clone()).collect();
        let detail = "auth-tls-secret: expected rules with a host, as certificates are asked for by host; its paths of no host answer 403";
        let problem = |rules: &&RuleSet| rules.origin.problem(Field::Whole, ProblemKind::AnnotationParsingFailed, detail.to_owned());
        problems.extend(asking().map(problem));
        return Clients { closed: Closed::Only(closed), verified: None, subjects: BTreeMap::new() };
    }
    let unusable = || asking().filter(|rules| rules.policy.resolved.client_trust == Some(ClientTrust::Unusable));
    let owner = sets.first().map(|rules| &rules.key().namespace);
    if unusable().any(|rules| Some(&rules.key().namespace) == owner) {
        return Clients { closed: Closed::Host, verified: None, subjects: BTreeMap::new() };
    }
    let verified = asking().find_map(|rules| {
        let Some(ClientTrust::Trusted(trusted)) = &rules.policy.resolved.client_trust else { return None };
        let asked = &rules.policy.spec.client_tls;
        let verification = ClientVerification::new(host, trusted.clone(), asked.auth_tls_verify_client, depth(asked));
        let error_page = asked.auth_tls_error_page.as_ref().map(|page| page.to_string().into());
        Some((
            verification,
            Live { subject: subject(asked), passed: asked.auth_tls_pass_certificate_to_upstream, error_page },
            &rules.origin,
        ))
    });
    let mut closed: Vec<ObjectKey> = unusable().map(|rules| rules.key().clone()).collect();
    if let Some((verification, _, decides)) = &verified {
        let detail = format!(
            "auth-tls-secret: host {host:?} asks for the client certificates of {}, which is older and asks for others \
             (CA, auth-tls-verify-client or auth-tls-verify-depth); the paths of this one answer 403",
            decides.object()
        );
        for rules in asking().filter(|rules| !suffices(verification, rules)) {
            closed.push(rules.key().clone());
            problems.push(rules.origin.problem(Field::Whole, ProblemKind::Conflict, detail.clone()));
        }
    }
    let own = |rules: &&RuleSet| Some((rules.key().clone(), subject(&rules.policy.spec.client_tls)?));
    let subjects = asking().filter_map(own).collect();
    Clients { closed: Closed::Only(closed), verified: verified.map(|(verification, live, _)| (verification, live)), subjects }
}

fn depth(asked: &ClientTls) -> u16 {
    asked.auth_tls_verify_depth.unwrap_or(1)
}

fn subject(asked: &ClientTls) -> Option<Arc<str>> {
    asked.auth_tls_match_cn.as_ref().map(|subject| subject.as_str().into())
}

/// Whether what the host verifies is all that an object asks for. One without a usable CA is closed anyway.
fn suffices(decided: &ClientVerification, rules: &RuleSet) -> bool {
    let Some(ClientTrust::Trusted(trusted)) = &rules.policy.resolved.client_trust else { return true };
    let asked = &rules.policy.spec.client_tls;
    let strict = match asked.auth_tls_verify_client {
        VerifyClient::On => decided.verify == VerifyClient::On,
        VerifyClient::Optional => matches!(decided.verify, VerifyClient::On | VerifyClient::Optional),
        // The backend decides.
        VerifyClient::Off | VerifyClient::OptionalNoCa => return true,
    };
    strict && decided.trusted == *trusted && decided.depth <= depth(asked)
}

impl Clients {
    /// Puts into the policy of an object what Lua must know.
    pub(super) fn apply(&self, object: Option<&ObjectKey>, policy: &mut Policy) {
        policy.forbidden = self.closed.closes(object);
        if let Some((verification, live)) = &self.verified {
            policy.verified = Some(verification.id.clone());
            policy.auth_tls_match_cn = object.and_then(|object| self.subjects.get(object)).or(live.subject.as_ref()).cloned();
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
