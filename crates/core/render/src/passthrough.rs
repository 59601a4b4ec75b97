//! TLS connections that are not decrypted (`ssl-passthrough`): the stream block listens on the HTTPS port, and hands all others to the http
//! block with the client's address in front.
//!
//! Two servers, because a server speaks the PROXY protocol to all that it proxies to or to none: what goes on undecrypted takes a second
//! hop, which takes that header off again.

use model::{Fixed, Globals};
use serde::Serialize;

use crate::files::File;
use crate::globals::{client, path, stream};
use crate::page::Page;
use crate::paths::PASSTHROUGH_SCRIPT;
use crate::print::Printed;
use crate::server::{ListenView, listen_in_stream, unix};
use crate::{Capabilities, Paths, RenderError};

/// The module that runs the script, and the Debian package that brings it.
pub(crate) const MODULE: &str = "ngx_stream_js_module";
const PACKAGE: &str = "libnginx-mod-stream-js";

const SCRIPT: &str = include_str!("../../../../njs/passthrough_map.js");

/// What `passthrough.conf` prints.
#[derive(Serialize)]
struct View {
    listen: Vec<ListenView>,
    /// From whom the PROXY protocol is believed, and how long its header may take; without it none.
    trusted: Vec<Printed>,
    header_timeout: Option<Printed>,
    connect_timeout: u32,
    socket: Printed,
}

impl View {
    fn new(globals: &Globals, caps: &Capabilities, paths: &Paths) -> Result<Self, RenderError> {
        let config = &globals.config;
        let proxied = config.use_proxy_protocol;
        Ok(Self {
            listen: listen_in_stream(globals, caps)?,
            trusted: if proxied { client::networks(&config.proxy_real_ip_cidr)? } else { Vec::new() },
            header_timeout: proxied.then(|| Printed::word(config.proxy_protocol_header_timeout)).transpose()?,
            connect_timeout: config.proxy.proxy_connect_timeout.0,
            socket: unix(&paths.passthrough_socket())?,
        })
    }
}

/// What `passthrough_map.conf` prints.
#[derive(Serialize)]
struct PassthroughMap {
    script: Printed,
    directory: Printed,
    passthrough: Printed,
    decrypted: Printed,
}

/// The modules that it needs, in the order of loading.
///
/// # Errors
/// One is missing.
pub(crate) fn modules(globals: &Globals, caps: &Capabilities) -> Result<Option<&'static str>, RenderError> {
    if globals.listen.passthrough.is_none() {
        return Ok(None);
    }
    for (module, package) in [(stream::MODULE, stream::PACKAGE), (MODULE, PACKAGE)] {
        if !caps.has(module) {
            return Err(RenderError::ModuleMissing { module, directory: caps.modules_dir.clone(), package });
        }
    }
    Ok(Some(MODULE))
}

/// Whether its port can be used.
pub(crate) fn check(globals: &Globals) -> Result<(), RenderError> {
    let key = "--ssl-passthrough-proxy-port";
    match globals.listen.passthrough {
        Some(0) => Err(RenderError::Setting { key, reason: "0 is not a port NGINX can listen on; expected 1 to 65535".to_owned() }),
        Some(port) if port == globals.listen.http || port == globals.listen.https => {
            Err(RenderError::Setting { key, reason: format!("{port} is the port of HTTP or HTTPS too; expected another") })
        }
        _ => Ok(()),
    }
}

/// The script, where it is used.
pub(crate) fn files(fixed: &Fixed) -> Option<File> {
    fixed.globals.listen.passthrough?;
    Some(File { path: PASSTHROUGH_SCRIPT.into(), mode: 0o644, bytes: SCRIPT.into() })
}

/// The servers in the stream block.
pub(crate) fn servers(page: &mut Page, globals: &Globals, caps: &Capabilities, paths: &Paths) -> Result<(), RenderError> {
    if globals.listen.passthrough.is_none() {
        return Ok(());
    }
    let passthrough_map = PassthroughMap {
        script: path(&paths.passthrough_script())?,
        directory: path(&paths.passthrough_dir())?,
        passthrough: unix(&paths.passthrough_socket())?,
        decrypted: unix(&paths.https_socket())?,
    };
    page.block("passthrough_map.conf", passthrough_map)?;
    page.block("passthrough.conf", View::new(globals, caps, paths)?)
}
