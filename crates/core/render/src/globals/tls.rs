//! TLS towards clients.

use serde::Serialize;
use settings::Config;

use super::path;
use crate::print::Printed;
use crate::{Paths, RenderError};

/// What `tls.conf` prints.
#[derive(Serialize)]
pub(super) struct TlsView {
    ciphers: Option<Printed>,
    session_cache: Option<Printed>,
    session_timeout: Printed,
    certificate: Printed,
}

impl TlsView {
    pub(super) fn new(config: &Config, paths: &Paths) -> Result<Self, RenderError> {
        let cache = config.ssl_session_cache.then(|| Printed::word(format!("shared:SSL:{}", config.ssl_session_cache_size)));
        Ok(Self {
            ciphers: config.ssl_ciphers.as_ref().map(|ciphers| Printed::argument(ciphers.as_str())).transpose()?,
            session_cache: cache.transpose()?,
            session_timeout: Printed::word(config.ssl_session_timeout)?,
            certificate: path(&paths.static_certificate())?,
        })
    }
}
