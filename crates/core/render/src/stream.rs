//! The stream block: what listens beside HTTP, and the `stream-snippet`s.

use model::{Fixed, Part};
use serde::Serialize;

use crate::globals::stream::StreamView;
use crate::page::Page;
use crate::print::Printed;
use crate::{Capabilities, Paths, RenderError};
use crate::{passthrough, stream_map, stream_services};

#[derive(Serialize)]
struct StreamBlock {
    stream: StreamView,
}

#[derive(Serialize)]
struct StreamSnippet {
    snippet: Printed,
}

/// The whole block, where NGINX has one.
pub(crate) fn block(page: &mut Page, fixed: &Fixed, caps: &Capabilities, paths: &Paths) -> Result<(), RenderError> {
    let Some(view) = StreamView::new(fixed, caps, paths)? else { return Ok(()) };
    page.block("stream.conf", StreamBlock { stream: view })?;
    stream_map::block(page, fixed, paths)?;
    passthrough::servers(page, &fixed.globals, caps, paths)?;
    stream_services::servers(page, fixed, caps, paths)?;
    for (ingress, text) in &fixed.streams {
        let snippet = StreamSnippet { snippet: Printed::raw(text) };
        page.origin(Part::Stream(ingress.clone()), |page| page.block("stream_snippet.conf", snippet))?;
    }
    if let Some(text) = &fixed.globals.config.snippets.stream_snippet {
        page.block("stream_snippet.conf", StreamSnippet { snippet: Printed::raw(text) })?;
    }
    page.block("stream_end.conf", ())
}
