//! The stream block.

use model::Fixed;
use serde::Serialize;

use super::log::{escape, in_blocks, target};
use super::{json, path};
use crate::print::Printed;
use crate::{Capabilities, Paths, RenderError};

/// The module that knows the block.
pub(crate) const MODULE: &str = "ngx_stream_module";

/// The Debian package that brings it.
pub(crate) const PACKAGE: &str = "libnginx-mod-stream";

/// What `stream.conf` prints.
#[derive(Serialize)]
pub(crate) struct StreamView {
    services: Vec<ServiceName>,
    escape: Option<Printed>,
    format: Printed,
    target: Option<Printed>,
    /// Behind the name of the format, each with a space before it.
    params: Printed,
    /// Where connections are counted.
    counted: Option<Printed>,
}

/// The name of a TCP or UDP service, by protocol and port.
#[derive(Serialize)]
struct ServiceName {
    port: Printed,
    name: Printed,
}

impl StreamView {
    /// `None` where NGINX has no such block.
    pub(crate) fn new(fixed: &Fixed, caps: &Capabilities, paths: &Paths) -> Result<Option<Self>, RenderError> {
        if !caps.has(MODULE) {
            return Ok(None);
        }
        let config = &fixed.globals.config;
        let observability = &config.observability;
        let services = fixed.stream_services.iter().map(|(port, service)| {
            let key = Printed::quoted(&format!("{}:{}", port.protocol, port.number))?;
            Ok(ServiceName { port: key, name: Printed::quoted(&service.log_name(port.protocol))? })
        });
        let services = services.collect::<Result<Vec<_>, RenderError>>()?;
        let is_counted = fixed.globals.counting.is_some() && !services.is_empty();
        let own = observability.stream_access_log_path.as_ref();
        let target = target(config, observability.disable_stream_access_log, own)?;
        let json = json::is_chosen(config).then(json::stream);
        let escape = if json.is_some() { Some("json") } else { escape(&observability.log_format_stream) };
        Ok(Some(Self {
            services,
            escape: escape.map(Printed::fixed),
            format: Printed::template(json.as_ref().unwrap_or(&observability.log_format_stream)),
            target,
            params: in_blocks(config, own)?,
            counted: is_counted.then(|| path(&paths.stream_log())).transpose()?,
        }))
    }
}
