//! The files of the page, which are part of the program.

use std::sync::LazyLock;

use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use sha2::{Digest, Sha256};

/// Their paths and contents.
const FILES: &[(&str, &[u8])] = include!(concat!(env!("OUT_DIR"), "/files.rs"));
const INDEX: &str = "index.html";
/// Asked by name on each load, answered with 304 while nothing has changed.
const CACHE: &str = "no-cache";

struct File {
    name: &'static str,
    content: &'static [u8],
    tag: String,
}

static ALL: LazyLock<Vec<File>> = LazyLock::new(|| {
    let file = |(name, content): &(&'static str, &'static [u8])| {
        let tag = format!("\"{}\"", const_hex::encode(&Sha256::digest(content)[..8]));
        File { name, content, tag }
    };
    FILES.iter().map(file).collect()
});

/// Whether a path is that of a view, which the page itself shows, and not of a file.
pub(crate) fn is_view(path: &str) -> bool {
    !path.rsplit('/').next().unwrap_or_default().contains('.')
}

/// The content of a file, as text.
pub(crate) fn text(name: &str) -> &'static str {
    let file = ALL.iter().find(|file| file.name == name);
    file.and_then(|file| std::str::from_utf8(file.content).ok()).unwrap_or_default()
}

/// The file of a path; each view is the same file.
pub(crate) fn file(path: &str, headers: &HeaderMap) -> Response {
    let name = if is_view(path) { INDEX } else { path.trim_start_matches('/') };
    let Some(file) = ALL.iter().find(|file| file.name == name) else {
        return (StatusCode::NOT_FOUND, "there is no such page\n").into_response();
    };
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let about = [(header::ETAG, file.tag.as_str()), (header::CACHE_CONTROL, CACHE)];
    if known.split(',').any(|tag| tag.trim().trim_start_matches("W/") == file.tag) {
        return (StatusCode::NOT_MODIFIED, about).into_response();
    }
    (about, [(header::CONTENT_TYPE, kind(file.name))], file.content).into_response()
}

/// The media type of a file.
fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => "text/html; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "ico" => "image/x-icon",
        "json" => "application/json",
        "woff2" => "font/woff2",
        _ => "text/plain; charset=utf-8",
    }
}
