//! TLS connections that are not decrypted (`ssl-passthrough`): the stream block listens on the HTTPS port, and hands all others to the http
//! block with the client's address in front.
//!
//! Two servers, because a server speaks the PROXY protocol to all that it proxies to or to none: what goes on undecrypted takes a second
//! hop, which takes that header off again.

use model::Globals;
use serde::Serialize;

use crate::globals::client;
use crate::page::Page;
use crate::print::Printed;
use crate::server::{ListenView, listen_for_tls, unix};
use crate::stream_map::NextUpstream;
use crate::{Capabilities, Paths, RenderError};

/// What `passthrough.conf` prints.
#[derive(Serialize)]
struct View {
    listen: Vec<ListenView>,
    /// From whom the PROXY protocol is believed, and how long its header may take; without it none.
    trusted: Vec<Printed>,
    header_timeout: Option<Printed>,
    /// The script writes the PROXY header that goes on, with what the load balancer was connected to.
    introduces: bool,
    socket: Printed,
    #[serde(flatten)]
    next: NextUpstream,
}

impl View {
    fn new(globals: &Globals, caps: &Capabilities, paths: &Paths) -> Result<Self, RenderError> {
        let config = &globals.config;
        let proxied = config.use_proxy_protocol;
        Ok(Self {
            listen: listen_for_tls(globals, caps)?,
            trusted: if proxied { client::networks(&config.proxy_real_ip_cidr)? } else { Vec::new() },
            header_timeout: proxied.then(|| Printed::word(config.proxy_protocol_header_timeout)).transpose()?,
            introduces: proxied,
            socket: unix(&paths.passthrough_socket())?,
            next: NextUpstream::new(globals, paths)?,
        })
    }
}

/// Whether its port can be used.
pub(crate) fn check(globals: &Globals) -> Result<(), RenderError> {
    let key = "--ssl-passthrough-proxy-port";
    match globals.listen.passthrough {
        Some(0) => Err(RenderError::Setting { key, reason: "0 is not a port NGINX can listen on; expected 1 to 65535".to_owned() }),
        Some(port) if port == globals.listen.http || port == globals.listen.https => {
            Err(RenderError::Setting { key, reason: format!("{port} is the port of HTTP or HTTPS too; expected another") })
        }
        _ => Ok(()),
    }
}

/// The servers in the stream block.
pub(crate) fn servers(page: &mut Page, globals: &Globals, caps: &Capabilities, paths: &Paths) -> Result<(), RenderError> {
    if globals.listen.passthrough.is_none() {
        return Ok(());
    }
    page.block("passthrough.conf", View::new(globals, caps, paths)?)
}
