//! TLS towards clients.

use std::path::PathBuf;

use model::Globals;
use serde::Serialize;
use settings::{Config, TicketKey};

use super::path;
use crate::directive::DirectiveView;
use crate::files::File;
use crate::paths::{DH_PARAMETERS, STATIC_CERTIFICATE, ticket_key};
use crate::print::Printed;
use crate::{Paths, RenderError};

/// What `tls.conf` and `stream_tls.conf` print.
#[derive(Serialize)]
pub(crate) struct TlsView {
    /// Those of the stream block that are one setting each; the `http` block has its own.
    directives: Vec<DirectiveView>,
    ciphers: Option<Printed>,
    session_cache: Option<Printed>,
    session_timeout: Printed,
    certificate: Printed,
    /// Files with the keys of tickets: the first encrypts.
    ticket_keys: Vec<Printed>,
    dh_parameters: Option<Printed>,
}

impl TlsView {
    /// That of the `http` block.
    pub(super) fn new(globals: &Globals, paths: &Paths) -> Result<Self, RenderError> {
        Self::of(globals, paths, "SSL", STATIC_CERTIFICATE, Vec::new())
    }

    /// That of a server of the stream block with this certificate. Sessions are in a cache of their own.
    pub(crate) fn stream(globals: &Globals, paths: &Paths, certificate: &str) -> Result<Self, RenderError> {
        Self::of(globals, paths, "stream_SSL", certificate, DirectiveView::stream_tls(&globals.config)?)
    }

    fn of(globals: &Globals, paths: &Paths, cache: &str, certificate: &str, directives: Vec<DirectiveView>) -> Result<Self, RenderError> {
        let config = &globals.config;
        let file = |name: &str| path(&paths.work_dir.join(name));
        let cache = config.ssl_session_cache.then(|| Printed::word(format!("shared:{cache}:{}", config.ssl_session_cache_size)));
        Ok(Self {
            directives,
            ciphers: config.ssl_ciphers.as_ref().map(|ciphers| Printed::argument(ciphers.as_str())).transpose()?,
            session_cache: cache.transpose()?,
            session_timeout: Printed::word(config.ssl_session_timeout)?,
            certificate: file(certificate)?,
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
