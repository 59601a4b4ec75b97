//! What is imperfect in the cluster's state: found, named, and gone on from.

use std::fmt;

use serde::Serialize;

use crate::key::ObjectRef;

/// A finding about one object. The error names the object, the field, the value, what was expected, and what happens instead.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Problem {
    /// The object at fault.
    pub object: ObjectRef,
    /// Where in it: a field path such as `spec.rules[0].http.paths[1].backend`, or `metadata.annotations["..."]`. Empty for the whole object.
    pub field: String,
    /// What sort of finding.
    pub kind: ProblemKind,
    /// One sentence, lower case, no final period: the value quoted, what was expected, and what happens instead.
    pub detail: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            write!(f, "{}: {}", self.object, self.detail)
        } else {
            write!(f, "{}: {}: {}", self.object, self.field, self.detail)
        }
    }
}

/// What is wrong with a value, after the value itself: in quotes, on one line, and not all of a long one.
/// A detail that names the item at fault (in quotes, at its start) stays as it is.
pub(crate) fn of_value(value: &str, detail: String) -> String {
    const LONGEST: usize = 80;
    if detail.starts_with('"') {
        return detail;
    }
    match value.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{:?} and more: {detail}", &value[..at]),
        None => format!("{value:?}: {detail}"),
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident => $label:literal,)*) => {
        /// Sorts of findings. The label is the value of the metric label `kind` and the reason of the Event.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
        pub enum ProblemKind { $($(#[$doc])* $name,)* }

        impl ProblemKind {
            /// Every kind, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The stable name: `CamelCase`, as Kubernetes writes Event reasons.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }
        }
    };
}

kinds! {
    /// A value does not parse; the default is used.
    InvalidValue => "InvalidValue",
    /// The Ingress is not served (or its last good version is).
    Refused => "Refused",
    /// An Ingress of a directory names no class that exists: no controller serves it.
    Unclaimed => "Unclaimed",
    /// The location answers 503 because a protecting setting is unusable.
    AnnotationParsingFailed => "AnnotationParsingFailed",
    /// An annotation under our prefix that does not exist.
    UnknownAnnotation => "UnknownAnnotation",
    /// Another, older object defines the same thing and wins.
    Conflict => "Conflict",
    /// The Service does not exist.
    ServiceMissing => "ServiceMissing",
    /// The Service has no such port.
    PortMissing => "PortMissing",
    /// No usable endpoint: requests get 503.
    NoEndpoints => "NoEndpoints",
    /// An ExternalName that is refused or does not resolve.
    ExternalName => "ExternalName",
    /// An endpoint, an ExternalName, an authentication service or a mirror that is this machine, or that no Pod can be.
    LocalEndpoint => "LocalEndpoint",
    /// A TLS Secret is missing, not a certificate, or does not cover the host: the default certificate is used. Or its certificate ends, its chain is broken,
    /// its key is weak, or no OCSP response is stapled.
    Certificate => "Certificate",
    /// A file, a document or an object that can't be read; its last good objects stay.
    Unreadable => "Unreadable",
    /// It is larger than an object may be, or its namespace has more than its share of what is finite.
    NoRoom => "NoRoom",
    /// NGINX refused what this object asks for; it is quarantined.
    Quarantined => "Quarantined",
    /// A setting of the ConfigMap that is not usable.
    Configuration => "Configuration",
    /// It works as the predecessor did, and that surprises people.
    Surprise => "Surprise",
}
