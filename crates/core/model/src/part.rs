//! Parts of the text that NGINX reads.

use std::sync::Arc;

use crate::fixed::StreamPort;
use crate::key::ObjectKey;
use crate::profile::ProfileId;

/// A part of the text: what a line of it comes from, what a reload changes, what NGINX complains about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// What flags and the ConfigMap say.
    Globals,
    /// The named location of a profile.
    Profile(ProfileId),
    /// The server block of a host.
    Server(Arc<str>),
    /// The name of a host that the server block of a pattern would catch.
    Name(Arc<str>),
    /// A TCP or UDP service.
    StreamService(StreamPort),
    /// Text of an Ingress for the stream block.
    Stream(ObjectKey),
    /// The order of the texts for the stream block.
    StreamOrder,
}

impl Part {
    /// The value of the metric label `reason`.
    pub const fn label(&self) -> &'static str {
        match self {
            Self::Globals => "globals",
            Self::Profile(_) => "profile",
            Self::Server(_) => "host_server",
            Self::Name(_) => "pinned_name",
            Self::StreamService(_) => "stream_service",
            Self::Stream(_) | Self::StreamOrder => "stream",
        }
    }
}
