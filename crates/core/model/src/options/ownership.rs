//! Whose rules a host has.

/// Which namespaces may add to a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum HostOwnership {
    /// All: older Ingresses come first, path by path, and a canary may belong to another namespace.
    #[default]
    Any,
    /// Only the one of the host's oldest Ingress.
    Namespace,
}
