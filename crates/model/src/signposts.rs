//! Where TLS connections go on that are not decrypted (`ssl-passthrough`).
//!
//! NGINX's stream block has no shared memory with Lua, so this is no table of [`crate::live`]: each host has a file that is read for every
//! connection (`docs/live-protocol.md`, "Signposts").

use std::net::SocketAddr;
use std::sync::Arc;

use imbl::OrdMap;
use imbl::ordmap::DiffItem;

use crate::live::{BackendRecord, Delta, Op, Table, record_crc};

/// Literal host name to the text of its file: the endpoints as `address:port`, IPv6 in brackets, separated by commas. An empty one: nobody
/// answers, and connections are closed.
pub type Signposts = OrdMap<Arc<str>, Arc<str>>;

/// The text for a backend.
pub(crate) fn text(backend: Option<&BackendRecord>) -> Arc<str> {
    let endpoints = backend.iter().flat_map(|backend| &backend.endpoints);
    let addresses: Vec<String> = endpoints.map(|endpoint| SocketAddr::new(endpoint.address, endpoint.port).to_string()).collect();
    addresses.join(",").into()
}

/// The changes from one to the other, in words of the live state.
pub(crate) fn delta(old: &Signposts, new: &Signposts) -> Delta {
    let crc = |key: &str, text: &str| record_crc(Table::Signpost, key, text);
    let op = |key: &Arc<str>, old: Option<&Arc<str>>, new: Option<&Arc<str>>| Op {
        table: Table::Signpost,
        key: key.clone(),
        value: new.map(|text| text.to_string()),
        old_crc: old.map_or(0, |text| crc(key, text)),
        needs: Vec::new(),
    };
    let ops = old.diff(new).map(|item| match item {
        DiffItem::Add(key, text) => op(key, None, Some(text)),
        DiffItem::Update { old: (key, old), new: (_, new) } => op(key, Some(old), Some(new)),
        DiffItem::Remove(key, text) => op(key, Some(text), None),
    });
    ops.collect()
}
