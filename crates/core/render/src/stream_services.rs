//! TCP and UDP services: a server of the stream block for each port.

use std::collections::BTreeMap;

use model::{Fixed, Part, Protocol, StreamCertificate, StreamPort, StreamService};
use serde::Serialize;

use crate::files::File;
use crate::globals::{TlsView, client};
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
    /// How TLS is decrypted.
    tls: Option<TlsView>,
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
            tls: service.certificate.as_ref().map(|found| TlsView::stream(globals, paths, &pair_file(found))).transpose()?,
            sends_proxy: service.sends_proxy,
            timeout: Printed::word(config.stream.proxy_stream_timeout)?,
            responses: (port.protocol == Protocol::Udp).then_some(config.stream.proxy_stream_responses),
            next: NextUpstream::new(globals, paths)?,
        })
    }
}

/// Whether TLS of any is decrypted.
pub(crate) fn decrypts(fixed: &Fixed) -> bool {
    certificates(fixed).next().is_some()
}

/// The key pairs, each once.
pub(crate) fn files(fixed: &Fixed) -> Vec<File> {
    let pairs: BTreeMap<&str, &StreamCertificate> = certificates(fixed).map(|found| (&*found.id, found)).collect();
    let file = |found: &StreamCertificate| {
        let bytes = format!("{}\n{}\n", found.pair.chain.trim_end(), found.pair.key.trim_end()).into();
        File { path: pair_file(found).into(), mode: 0o600, bytes }
    };
    pairs.into_values().map(file).collect()
}

fn certificates(fixed: &Fixed) -> impl Iterator<Item = &StreamCertificate> {
    fixed.stream_services.values().filter_map(|service| service.certificate.as_deref())
}

fn pair_file(certificate: &StreamCertificate) -> String {
    format!("certs/stream-{}.pem", certificate.id)
}

/// The servers, by protocol and port.
pub(crate) fn servers(page: &mut Page, fixed: &Fixed, caps: &Capabilities, paths: &Paths) -> Result<(), RenderError> {
    for (port, service) in &fixed.stream_services {
        let view = View::new(fixed, caps, paths, *port, service)?;
        page.origin(Part::StreamService(*port), |page| page.block("stream_service.conf", view))?;
    }
    Ok(())
}
