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
    next_upstream: Option<Printed>,
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
        let Proxying { buffers, next_upstream, .. } = proxying;
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
            next_upstream: next_upstream.as_ref().map(|conditions| Printed::words(conditions.conditions())).transpose()?,
            replacements: ReplacementsView::profile(proxying)?,
        })
    }
}
