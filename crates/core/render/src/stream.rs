//! The stream block: what listens beside HTTP, and the `stream-snippet`s.

use model::{Fixed, Part};
use serde::Serialize;

use crate::globals::stream::StreamView;
use crate::page::Page;
use crate::print::Printed;
use crate::{Capabilities, RenderError};

#[derive(Serialize)]
struct StreamBlock {
    stream: StreamView,
}

#[derive(Serialize)]
struct StreamSnippet {
    snippet: Printed,
}

/// The whole block, where NGINX has one. `passthrough` prints what serves `ssl-passthrough`.
pub(crate) fn block(
    page: &mut Page,
    fixed: &Fixed,
    caps: &Capabilities,
    passthrough: impl FnOnce(&mut Page) -> Result<(), RenderError>,
) -> Result<(), RenderError> {
    let Some(view) = StreamView::new(&fixed.globals.config, caps)? else { return Ok(()) };
    page.block("stream.conf", StreamBlock { stream: view })?;
    passthrough(page)?;
    for (ingress, text) in &fixed.streams {
        let snippet = StreamSnippet { snippet: Printed::raw(text) };
        page.origin(Part::Stream(ingress.clone()), |page| page.block("stream_snippet.conf", snippet))?;
    }
    if let Some(text) = &fixed.globals.config.snippets.stream_snippet {
        page.block("stream_snippet.conf", StreamSnippet { snippet: Printed::raw(text) })?;
    }
    page.block("stream_end.conf", ())
}
