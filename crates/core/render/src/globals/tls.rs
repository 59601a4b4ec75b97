//! TLS towards clients.

use std::path::PathBuf;

use model::Globals;
use serde::Serialize;
use settings::{Config, TicketKey};

use super::path;
use crate::files::File;
use crate::paths::{DH_PARAMETERS, ticket_key};
use crate::print::Printed;
use crate::{Paths, RenderError};

/// What `tls.conf` prints.
#[derive(Serialize)]
pub(super) struct TlsView {
    ciphers: Option<Printed>,
    session_cache: Option<Printed>,
    session_timeout: Printed,
    certificate: Printed,
    /// Files with the keys of tickets: the first encrypts.
    ticket_keys: Vec<Printed>,
    dh_parameters: Option<Printed>,
}

impl TlsView {
    pub(super) fn new(globals: &Globals, paths: &Paths) -> Result<Self, RenderError> {
        let config = &globals.config;
        let file = |name: &str| path(&paths.work_dir.join(name));
        let cache = config.ssl_session_cache.then(|| Printed::word(format!("shared:SSL:{}", config.ssl_session_cache_size)));
        Ok(Self {
            ciphers: config.ssl_ciphers.as_ref().map(|ciphers| Printed::argument(ciphers.as_str())).transpose()?,
            session_cache: cache.transpose()?,
            session_timeout: Printed::word(config.ssl_session_timeout)?,
            certificate: path(&paths.static_certificate())?,
            ticket_keys: ticket_keys(config).map(|(name, _)| file(&name)).collect::<Result<_, _>>()?,
            dh_parameters: globals.dh_parameters.as_ref().map(|_| file(DH_PARAMETERS)).transpose()?,
        })
    }
}

/// The files that `tls.conf` names besides the certificate.
pub(crate) fn files(globals: &Globals) -> Vec<File> {
    let file = |path: PathBuf, bytes: &[u8]| File { path, mode: 0o600, bytes: bytes.to_vec() };
    let keys = ticket_keys(&globals.config).map(|(name, key)| file(name.into(), key.bytes()));
    keys.chain(globals.dh_parameters.iter().map(|text| file(DH_PARAMETERS.into(), text.as_bytes()))).collect()
}

/// NGINX reads them whether there are tickets or not.
fn ticket_keys(config: &Config) -> impl Iterator<Item = (String, &TicketKey)> {
    let keys = config.ssl_session_ticket_key.iter().filter(|_| config.ssl_session_tickets);
    keys.enumerate().map(|(number, key)| (ticket_key(number), key))
}
