//! TCP and UDP services: a server of the stream block for each port.

use model::{Fixed, Part, Protocol, StreamPort, StreamService};
use serde::Serialize;

use crate::globals::client;
use crate::page::Page;
use crate::print::Printed;
use crate::server::{ListenView, listen_for_service};
use crate::stream_map::NextUpstream;
use crate::{Capabilities, Paths, RenderError};

/// What `stream_service.conf` prints.
#[derive(Serialize)]
struct View {
    listen: Vec<ListenView>,
    /// From whom the address in the PROXY protocol is believed, and how long its header may take.
    trusted: Vec<Printed>,
    header_timeout: Option<Printed>,
    sends_proxy: bool,
    timeout: Printed,
    /// Datagrams that answer one; UDP only.
    responses: Option<u32>,
    #[serde(flatten)]
    next: NextUpstream,
}

impl View {
    fn new(fixed: &Fixed, caps: &Capabilities, paths: &Paths, port: StreamPort, service: &StreamService) -> Result<Self, RenderError> {
        let (globals, config) = (&*fixed.globals, &fixed.globals.config);
        let believes = service.accepts_proxy && config.enable_real_ip;
        Ok(Self {
            listen: listen_for_service(globals, caps, port, service)?,
            trusted: if believes { client::networks(&config.proxy_real_ip_cidr)? } else { Vec::new() },
            header_timeout: service.accepts_proxy.then(|| Printed::word(config.proxy_protocol_header_timeout)).transpose()?,
            sends_proxy: service.sends_proxy,
            timeout: Printed::word(config.stream.proxy_stream_timeout)?,
            responses: (port.protocol == Protocol::Udp).then_some(config.stream.proxy_stream_responses),
            next: NextUpstream::new(globals, paths)?,
        })
    }
}

/// The servers, by protocol and port.
pub(crate) fn servers(page: &mut Page, fixed: &Fixed, caps: &Capabilities, paths: &Paths) -> Result<(), RenderError> {
    for (port, service) in &fixed.stream_services {
        let view = View::new(fixed, caps, paths, *port, service)?;
        page.origin(Part::StreamService(*port), |page| page.block("stream_service.conf", view))?;
    }
    Ok(())
}
