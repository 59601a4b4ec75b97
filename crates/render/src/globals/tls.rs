//! TLS towards clients.

use annotations::Config;
use serde::Serialize;

use super::path;
use crate::print::Printed;
use crate::{Paths, RenderError};

/// What `tls.conf` prints.
#[derive(Serialize)]
pub(super) struct TlsView {
    protocols: Printed,
    ciphers: Option<Printed>,
    session_cache: Option<Printed>,
    session_timeout: Printed,
    session_tickets: bool,
    buffer_size: Printed,
    certificate: Printed,
}

impl TlsView {
    pub(super) fn new(config: &Config, paths: &Paths) -> Result<Self, RenderError> {
        let cache = config.ssl_session_cache.then(|| Printed::word(format!("shared:SSL:{}", config.ssl_session_cache_size)));
        Ok(Self {
            protocols: Printed::words(&config.ssl_protocols)?,
            ciphers: config.ssl_ciphers.as_ref().map(|ciphers| Printed::argument(ciphers.as_str())).transpose()?,
            session_cache: cache.transpose()?,
            session_timeout: Printed::word(config.ssl_session_timeout)?,
            session_tickets: config.ssl_session_tickets,
            buffer_size: Printed::word(config.ssl_buffer_size)?,
            certificate: path(&paths.static_certificate())?,
        })
    }
}
