//! Kinds of findings, for people: the one list behind the API, the console, `narthex doctor` and docs/reference/problems.md.

use model::ProblemKind;

use crate::problem::Severity;

/// What the findings of a kind have in common. Sentences have no final period.
#[derive(Debug)]
pub struct KindFacts {
    /// The kind.
    pub kind: ProblemKind,
    /// How bad a finding is.
    pub severity: Severity,
    /// What is wrong, of one object.
    pub one: &'static str,
    /// The same of several objects, behind their number.
    pub many: &'static str,
    /// When it is found, and what is served meanwhile.
    pub meaning: &'static str,
    /// What to do.
    pub fix: &'static str,
}

/// All kinds, each once, the most serious first.
pub const KINDS: &[KindFacts] = &[
    KindFacts {
        kind: ProblemKind::Quarantined,
        severity: Severity::Error,
        one: "NGINX refuses what an Ingress asks for: it is quarantined",
        many: "Ingresses are quarantined: NGINX refuses what they ask for",
        meaning: "`nginx -t` refuses a line that this Ingress leads to, or is too slow with it. Its last good version is served; all other objects go on changing",
        fix: "correct what NGINX complains about: the Ingress is tried again as soon as it changes, and from time to time",
    },
    KindFacts {
        kind: ProblemKind::Configuration,
        severity: Severity::Warning,
        one: "a setting can't be used",
        many: "settings can't be used",
        meaning: "A key of the ConfigMap is unknown, its value has another form than expected, or NGINX refuses it. Its default is used, or the value that NGINX accepted last; all other keys hold",
        fix: "correct the value of the key, or remove it from the ConfigMap",
    },
    KindFacts {
        kind: ProblemKind::Refused,
        severity: Severity::Error,
        one: "an Ingress is refused",
        many: "Ingresses are refused",
        meaning: "It has a value that is not allowed here: a snippet, an annotation above the allowed risk, a forbidden word, a path that looks like an attempt to reach files. The version that was accepted last is served, else nothing of it",
        fix: "correct what the detail names; the webhook would refuse such an Ingress before it is stored",
    },
    KindFacts {
        kind: ProblemKind::NoRoom,
        severity: Severity::Error,
        one: "an object has no room in the share of its namespace",
        many: "objects have no room in the shares of their namespaces",
        meaning: "It is larger than an object may be, or its namespace asks for more than its share of what is finite (shared memory, text, regular expressions) while that is short. What was served of it stays; other namespaces notice nothing",
        fix: "remove objects of this namespace that are not needed, or raise the budget (narthex_budget names it)",
    },
    KindFacts {
        kind: ProblemKind::AnnotationParsingFailed,
        severity: Severity::Error,
        one: "a path is closed: an annotation that protects it can't be used",
        many: "paths are closed: annotations that protect them can't be used",
        meaning: "Authentication, an address list or a CA that an annotation asks for is unusable or missing. Its paths answer 503 to all clients, so that nothing is served without its protection",
        fix: "correct the annotation; its paths stay closed until then, as it protects them",
    },
    KindFacts {
        kind: ProblemKind::NoEndpoints,
        severity: Severity::Error,
        one: "a Service has no endpoints: its requests get 503",
        many: "Services have no endpoints: their requests get 503",
        meaning: "The Service is there, and none of its Pods is ready",
        fix: "look at the Pods of the Service: its selector matches none, or none is ready",
    },
    KindFacts {
        kind: ProblemKind::ServiceMissing,
        severity: Severity::Error,
        one: "a Service that an Ingress names does not exist: its requests get 503",
        many: "Services that Ingresses name do not exist: their requests get 503",
        meaning: "A rule, a default backend or a canary names it",
        fix: "create the Service, or correct its name in the rule",
    },
    KindFacts {
        kind: ProblemKind::PortMissing,
        severity: Severity::Error,
        one: "a Service lacks the port that an Ingress names: its requests get 503",
        many: "Services lack the ports that Ingresses name: their requests get 503",
        meaning: "The number or the name of the port is none of the Service's",
        fix: "add the port to the Service, or correct it in the rule",
    },
    KindFacts {
        kind: ProblemKind::Certificate,
        severity: Severity::Error,
        one: "a certificate can't be used, or not for long",
        many: "certificates can't be used, or not for long",
        meaning: "A TLS Secret is missing, holds no certificate, or does not cover the host: clients get the default certificate. Or the certificate ends, its chain is broken, its key is weak, or no OCSP response is stapled",
        fix: "put a valid certificate for the host, with its chain and key, into the TLS Secret",
    },
    KindFacts {
        kind: ProblemKind::Conflict,
        severity: Severity::Warning,
        one: "an object has what an older one has: the older one wins",
        many: "objects have what older ones have: the older ones win",
        meaning: "Two objects define the same path, alias, host or name. The rest of the newer one is served",
        fix: "give one of the two objects another host, path or name, or remove it: the older one wins",
    },
    KindFacts {
        kind: ProblemKind::ExternalName,
        severity: Severity::Error,
        one: "a name of another machine can't be used",
        many: "names of other machines can't be used",
        meaning: "`spec.externalName` of a Service is refused, or does not resolve. Requests get 503 until it does",
        fix: "correct spec.externalName, or the DNS that resolves it",
    },
    KindFacts {
        kind: ProblemKind::LocalEndpoint,
        severity: Severity::Error,
        one: "an endpoint is this machine, which no Pod can be",
        many: "endpoints are this machine, which no Pod can be",
        meaning: "An endpoint, an ExternalName, an authentication service or a mirror has an address that no Pod has: loopback, link-local, multicast, or a port of the controller's own. No request goes there",
        fix: "let the Service point to addresses of Pods; --allow-local-endpoints permits others",
    },
    KindFacts {
        kind: ProblemKind::Unclaimed,
        severity: Severity::Warning,
        one: "an Ingress names no class that exists: no controller serves it",
        many: "Ingresses name no class that exists: no controller serves them",
        meaning: "In a directory of manifests alone: in a cluster the class may be another controller's",
        fix: "name an IngressClass whose controller is this one in spec.ingressClassName",
    },
    KindFacts {
        kind: ProblemKind::Unreadable,
        severity: Severity::Error,
        one: "an object can't be read: its last version is used",
        many: "objects can't be read: their last versions are used",
        meaning: "A file, a document or an object is not what an API server would store. What it defined before goes on being served; so does everything else",
        fix: "correct the syntax of the file, the document or the object",
    },
    KindFacts {
        kind: ProblemKind::InvalidValue,
        severity: Severity::Warning,
        one: "a value can't be used: its default is",
        many: "values can't be used: their defaults are",
        meaning: "An annotation or a field has a value of another form than expected, and is about nothing that protects. Its default is used, the rest of the object holds",
        fix: "write a value of the expected form, or remove the annotation",
    },
    KindFacts {
        kind: ProblemKind::UnknownAnnotation,
        severity: Severity::Warning,
        one: "an annotation does not exist",
        many: "annotations do not exist",
        meaning: "It has our prefix and no meaning; a similar name is suggested where there is one",
        fix: "correct the name of the annotation, or remove it: it has no effect",
    },
    KindFacts {
        kind: ProblemKind::Surprise,
        severity: Severity::Warning,
        one: "something works in a way that surprises",
        many: "things work in a way that surprises",
        meaning: "It is served as ingress-nginx does, which is seldom what is meant",
        fix: "decide whether it is meant so; the detail names the alternative",
    },
];

/// The facts about a kind.
pub fn facts(kind: ProblemKind) -> &'static KindFacts {
    KINDS.iter().find(|facts| facts.kind == kind).expect("every kind has a row, which a test checks")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_model_has_a_row_with_whole_sentences() {
        for kind in ProblemKind::ALL {
            assert_eq!(KINDS.iter().filter(|facts| facts.kind == *kind).count(), 1, "{kind:?}");
            let facts = facts(*kind);
            for text in [facts.one, facts.many, facts.meaning, facts.fix] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{kind:?}: {text}");
            }
        }
        assert_eq!(KINDS.len(), ProblemKind::ALL.len());
    }
}
