//! Identities. Structured everywhere: a dash-join of namespace and name is never an identity.

use std::fmt;
use std::sync::Arc;

use serde::Serialize;

/// Namespace and name of a namespaced object. Ordered by namespace, then name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ObjectKey {
    /// `metadata.namespace`; never empty for namespaced kinds.
    pub namespace: Arc<str>,
    /// `metadata.name`.
    pub name: Arc<str>,
}

impl ObjectKey {
    /// A key from its two parts.
    pub fn new(namespace: impl Into<Arc<str>>, name: impl Into<Arc<str>>) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }

    /// Parses `namespace/name`, the form of flags and of references in annotations.
    ///
    /// Returns `None` unless there is exactly one slash with text on both sides.
    pub fn parse(text: &str) -> Option<Self> {
        let (namespace, name) = text.split_once('/')?;
        (!namespace.is_empty() && !name.is_empty() && !name.contains('/')).then(|| Self::new(namespace, name))
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// An object of any kind, as a person names it: `Ingress default/shop`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ObjectRef {
    /// The Kubernetes kind (`Ingress`, `Secret`, ...).
    pub kind: &'static str,
    /// Namespace; `None` for cluster-scoped kinds.
    pub namespace: Option<Arc<str>>,
    /// Name.
    pub name: Arc<str>,
}

impl ObjectRef {
    /// A reference to a namespaced object.
    pub fn namespaced(kind: &'static str, key: &ObjectKey) -> Self {
        Self { kind, namespace: Some(key.namespace.clone()), name: key.name.clone() }
    }

    /// A reference to an Ingress.
    pub fn ingress(key: &ObjectKey) -> Self {
        Self::namespaced("Ingress", key)
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind, self.name),
            None => write!(f, "{} {}", self.kind, self.name),
        }
    }
}

/// A port of a Service as an Ingress names it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BackendPort {
    /// `backend.service.port.number`.
    Number(u16),
    /// `backend.service.port.name`.
    Name(Arc<str>),
    /// No port given: the Service's first one (`--default-backend-service`, `default-backend`).
    First,
}

impl fmt::Display for BackendPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
            Self::First => f.write_str("-"),
        }
    }
}

/// A backend: one port of one Service. Ordered by namespace, Service, port, so that a Service's backends are neighbours.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BackendId {
    /// The Service.
    pub service: ObjectKey,
    /// Its port, as referenced: the same port by number and by name makes two backends.
    pub port: BackendPort,
}

impl BackendId {
    /// The key of this backend on the wire: `namespace/service:port`, unambiguous because none of the parts can hold `/` or `:`.
    pub fn wire(&self) -> String {
        format!("{}:{}", self.service, self.port)
    }

    /// The name users know from access logs: `namespace-service-port`, or `custom-default-backend-namespace-service`. For people only; it is ambiguous.
    pub fn log_name(&self) -> String {
        let Self { service: ObjectKey { namespace, name }, port } = self;
        match port {
            BackendPort::First => format!("custom-default-backend-{namespace}-{name}"),
            _ => format!("{namespace}-{name}-{port}"),
        }
    }
}

impl fmt::Display for BackendId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.service, self.port)
    }
}
