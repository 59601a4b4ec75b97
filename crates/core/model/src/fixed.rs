//! The part of the model that is text in `nginx.conf`.

mod clients;
pub mod dictionaries;
mod headers;
mod host_server;
mod stream;

use std::collections::BTreeSet;
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use ngx_value::Snippet;
use settings::Config;

use crate::key::ObjectKey;
use crate::options::{Database, PemPair, RequestCounting};
use crate::profile::{Profile, ProfileId};

pub use clients::{ClientVerification, TrustedClients};
pub use headers::GlobalHeaders;
pub(crate) use headers::LONGEST_FOR_GRPC;
pub use host_server::HostServer;
pub use stream::{StreamCertificate, StreamPort, StreamService};

/// What needs a reload. A handful of entries however many Ingresses there are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Fixed {
    /// Flags and ConfigMap.
    pub globals: Arc<Globals>,
    /// Profiles in use, and always the default one.
    pub profiles: OrdMap<ProfileId, Arc<Profile>>,
    /// Text for the stream block (`stream-snippet`), that of older Ingresses first.
    pub streams: Vec<(ObjectKey, Arc<Snippet>)>,
    /// TCP and UDP services.
    pub stream_services: OrdMap<StreamPort, Arc<StreamService>>,
    /// Hosts that need a server block of their own, by host name (a literal name or `*.example.com`).
    pub host_servers: OrdMap<Arc<str>, Arc<HostServer>>,
    /// Hosts without a server block of their own that a wildcard, suffix or regular expression of one would catch, and wildcards where there is a
    /// regular expression: the default server must name them. Empty unless a block has such a name.
    pub pinned_names: OrdSet<Arc<str>>,
}

/// Settings that hold for the whole NGINX.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Globals {
    /// The main ConfigMap merged over the defaults.
    pub config: Config,
    /// The headers that it names.
    pub headers: GlobalHeaders,
    /// `ssl-dh-param`: parameters of key exchange with DHE, PEM.
    pub dh_parameters: Option<Arc<str>>,
    /// Where to listen.
    pub listen: Listen,
    /// Certificate NGINX must have to open a TLS port at all; the handshake takes the live one.
    pub static_certificate: PemPair,
    /// Answered with 200 on the catch-all host.
    pub health_check_path: String,
    /// How requests are counted; `None`: they are not.
    pub counting: Option<RequestCounting>,
    /// The databases of places that NGINX reads.
    pub databases: Vec<Database>,
    /// Requests of NGINX's own may go to the machine itself.
    pub allows_local: bool,
    /// Ports of the machine that are for operators.
    pub control_ports: BTreeSet<u16>,
    /// Shared dictionaries that are not where their name says, as their size has changed since NGINX was started. Never of a build: it is the
    /// fixed lane that knows what runs.
    pub places: dictionaries::Places,
}

/// Listening ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Listen {
    /// Plain HTTP.
    pub http: u16,
    /// TLS.
    pub https: u16,
    /// TLS that is decrypted, behind the PROXY protocol, where connections to some hosts are not: then the stream block listens on `https`.
    pub passthrough: Option<u16>,
    /// UDP, on an address of the machine itself: where the stream block has the addresses of endpoints resolved.
    pub stream: u16,
}
