//! Protocols of ports.

use std::fmt;

/// The protocol of a port (`protocol`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// TCP, or not given.
    Tcp,
    /// UDP.
    Udp,
    /// SCTP, which nothing here serves.
    Other,
}

impl Protocol {
    /// The protocol by its name in the API.
    pub(super) fn of(name: Option<&str>) -> Self {
        match name {
            None | Some("TCP") => Self::Tcp,
            Some("UDP") => Self::Udp,
            Some(_) => Self::Other,
        }
    }

    /// Its name in keys, names and labels.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Tcp => "tcp",
            Self::Udp => "udp",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tcp => "TCP",
            Self::Udp => "UDP",
            Self::Other => "SCTP",
        })
    }
}
