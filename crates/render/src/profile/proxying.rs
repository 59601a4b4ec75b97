//! What of proxying must be text.

use model::profile::Proxying;
use ngx_value::Size;
use serde::Serialize;

use crate::RenderError;
use crate::print::Printed;
use crate::proxy::ReplacementsView;

/// What `proxying.conf` prints.
#[derive(Serialize)]
pub(super) struct ProxyingView {
    buffers: Option<BuffersView>,
    client_body_buffer_size: Option<Printed>,
    http_version: Option<Printed>,
    next_upstream: Option<Printed>,
    next_upstream_timeout: Option<u32>,
    replacements: ReplacementsView,
}

#[derive(Serialize)]
struct BuffersView {
    number: u32,
    size: Printed,
    /// Always written, as the inherited one may not fit.
    busy: Printed,
    max_temp_file: Printed,
}

impl ProxyingView {
    pub(super) fn new(proxying: &Proxying) -> Result<Self, RenderError> {
        // Destructured so that a new field can't be forgotten.
        let Proxying { buffers, client_body_buffer_size, http_version, next_upstream, next_upstream_timeout, .. } = proxying;
        let buffers = buffers.map(|buffers| -> Result<_, RenderError> {
            Ok(BuffersView {
                number: buffers.number,
                size: Printed::word(buffers.size)?,
                busy: Printed::word(buffers.busy.unwrap_or(Size::new(buffers.size.bytes.saturating_mul(2))))?,
                max_temp_file: Printed::word(buffers.max_temp_file)?,
            })
        });
        Ok(Self {
            buffers: buffers.transpose()?,
            client_body_buffer_size: client_body_buffer_size.map(Printed::word).transpose()?,
            http_version: http_version.map(Printed::word).transpose()?,
            next_upstream: next_upstream.as_ref().map(|conditions| Printed::words(conditions.conditions())).transpose()?,
            next_upstream_timeout: next_upstream_timeout.map(|seconds| seconds.0),
            replacements: ReplacementsView::profile(proxying)?,
        })
    }
}
