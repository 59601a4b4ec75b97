//! What TCP and UDP services and `ssl-passthrough` share in the stream block: the script that says where a connection goes, and the server of names.
//!
//! NGINX tries a second endpoint only of an upstream that has several, which is text, or of a name with several addresses. So the script answers
//! with a name that consists of the addresses of endpoints, and a server of this same NGINX takes them out of it again. Workers keep what they
//! resolved; nothing else is ever asked there.

use std::net::Ipv4Addr;

use model::{Fixed, Globals};
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::files::File;
use crate::globals::{path, stream};
use crate::page::Page;
use crate::paths::STREAM_SCRIPT;
use crate::print::Printed;
use crate::server::unix;
use crate::{Capabilities, Paths, RenderError, stream_services};

/// The module that runs the script, and the Debian package that brings it.
pub(crate) const MODULE: &str = "ngx_stream_js_module";
const PACKAGE: &str = "libnginx-mod-stream-js";

const SCRIPT: &str = include_str!("../../../../njs/stream.js");

/// Addresses that a name has room for: 253 bytes, 33 for an address of IPv6.
const MOST_TRIES: u32 = 7;

/// What `stream_map.conf` prints.
#[derive(Serialize)]
struct View {
    script: Printed,
    directory: Printed,
    tries: u32,
    /// TLS of a TCP service is decrypted.
    decrypts: bool,
    name_server: Printed,
    /// The sockets that TLS connections are handed to, with `ssl-passthrough`.
    passthrough: Option<Printed>,
    decrypted: Printed,
}

/// How a connection goes on to the next endpoint: part of what servers print.
#[derive(Serialize)]
pub(crate) struct NextUpstream {
    name_server: Printed,
    connect_timeout: u32,
    next_upstream: bool,
    next_upstream_timeout: Printed,
    next_upstream_tries: u32,
}

impl NextUpstream {
    pub(crate) fn new(globals: &Globals, paths: &Paths) -> Result<Self, RenderError> {
        let config = &globals.config;
        Ok(Self {
            name_server: name_server(globals, paths)?,
            connect_timeout: config.proxy.proxy_connect_timeout.0,
            next_upstream: config.stream.proxy_stream_next_upstream,
            next_upstream_timeout: Printed::word(config.stream.proxy_stream_next_upstream_timeout)?,
            next_upstream_tries: config.stream.proxy_stream_next_upstream_tries,
        })
    }
}

/// Whether anything of it is used.
fn is_used(fixed: &Fixed) -> bool {
    fixed.globals.listen.passthrough.is_some() || !fixed.stream_services.is_empty()
}

/// The module that it needs besides the stream block.
///
/// # Errors
/// One is missing.
pub(crate) fn module(fixed: &Fixed, caps: &Capabilities) -> Result<Option<&'static str>, RenderError> {
    if !is_used(fixed) {
        return Ok(None);
    }
    for (module, package) in [(stream::MODULE, stream::PACKAGE), (MODULE, PACKAGE)] {
        if !caps.has(module) {
            return Err(RenderError::ModuleMissing { module, directory: caps.modules_dir.clone(), package });
        }
    }
    Ok(Some(MODULE))
}

/// The script, where it is used.
pub(crate) fn files(fixed: &Fixed) -> Option<File> {
    is_used(fixed).then(|| File { path: STREAM_SCRIPT.into(), mode: 0o644, bytes: SCRIPT.into() })
}

/// The script, and the server of names.
pub(crate) fn block(page: &mut Page, fixed: &Fixed, paths: &Paths) -> Result<(), RenderError> {
    if !is_used(fixed) {
        return Ok(());
    }
    let globals = &*fixed.globals;
    let next = &globals.config.stream;
    let tries = match next.proxy_stream_next_upstream_tries {
        _ if !next.proxy_stream_next_upstream => 1,
        0 => MOST_TRIES,
        tries => tries.min(MOST_TRIES),
    };
    let view = View {
        script: path(&paths.stream_script())?,
        directory: path(&paths.stream_map())?,
        tries,
        decrypts: stream_services::decrypts(fixed),
        name_server: name_server(globals, paths)?,
        passthrough: globals.listen.passthrough.map(|_| unix(&paths.passthrough_socket())).transpose()?,
        decrypted: unix(&paths.https_socket())?,
    };
    page.block("stream_map.conf", view)
}

/// The address of the server of names: one of the machine itself, of which each work directory has its own.
fn name_server(globals: &Globals, paths: &Paths) -> Result<Printed, RenderError> {
    let digest = Sha256::digest(paths.work_dir.as_os_str().as_encoded_bytes());
    // Not 127.0.x.y, where programs listen.
    let address = Ipv4Addr::new(127, digest[0] | 0x40, digest[1], digest[2]);
    Printed::word(format!("{address}:{}", globals.listen.stream))
}
