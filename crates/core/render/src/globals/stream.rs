//! The stream block.

use serde::Serialize;
use settings::Config;

use super::log::{params, target};
use crate::print::Printed;
use crate::{Capabilities, RenderError};

/// The module that knows the block.
pub(crate) const MODULE: &str = "ngx_stream_module";

/// The Debian package that brings it.
pub(crate) const PACKAGE: &str = "libnginx-mod-stream";

/// What `stream.conf` prints.
#[derive(Serialize)]
pub(crate) struct StreamView {
    format: Printed,
    target: Option<Printed>,
    /// Behind the name of the format, each with a space before it.
    params: Printed,
}

impl StreamView {
    /// `None` where NGINX has no such block.
    pub(crate) fn new(config: &Config, caps: &Capabilities) -> Result<Option<Self>, RenderError> {
        if !caps.has(MODULE) {
            return Ok(None);
        }
        let observability = &config.observability;
        let target = target(config, observability.disable_stream_access_log, observability.stream_access_log_path.as_ref())?;
        Ok(Some(Self { format: Printed::template(&observability.log_format_stream), target, params: params(config)? }))
    }
}
