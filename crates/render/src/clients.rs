//! Client certificates: directives of a server block, headers about them, and the files they name.

use std::collections::BTreeMap;

use annotations::{TlsErrorPage, VerifyClient};
use model::fixed::{ClientVerification, TrustedClients};
use model::{Fixed, Shell};
use serde::Serialize;

use crate::RenderError;
use crate::files::File;
use crate::print::Printed;

/// What `clients.conf` prints.
#[derive(Serialize)]
pub(crate) struct ClientsView {
    ca: Printed,
    crl: Option<Printed>,
    verify: Printed,
    depth: u16,
    error_page: Option<Printed>,
}

impl ClientsView {
    pub(crate) fn new(clients: &ClientVerification) -> Result<Self, RenderError> {
        // Destructured so that a new field can't be forgotten. The certificate is passed in headers.
        let ClientVerification { trusted, verify, depth, error_page, pass_certificate: _ } = clients;
        Ok(Self {
            ca: Printed::word(ca_file(trusted))?,
            crl: trusted.revoked.is_some().then(|| Printed::word(crl_file(trusted))).transpose()?,
            verify: Printed::fixed(match verify {
                VerifyClient::On => "on",
                VerifyClient::Off => "off",
                VerifyClient::Optional => "optional",
                VerifyClient::OptionalNoCa => "optional_no_ca",
            }),
            depth: *depth,
            error_page: error_page.as_ref().map(page).transpose()?,
        })
    }
}

fn page(page: &TlsErrorPage) -> Result<Printed, RenderError> {
    match page {
        TlsErrorPage::Location(name) => Printed::word(format!("@{name}")),
        TlsErrorPage::Url(url) => Printed::argument(url.as_str()),
    }
}

/// The value of `ssl-client-cert` where backends are told about client certificates; empty: what the client sent is removed.
pub(crate) fn certificate_header(shell: Option<&Shell>) -> Option<Printed> {
    let clients = shell?.clients.as_ref()?;
    Some(Printed::fixed(if clients.pass_certificate { "$ssl_client_escaped_cert" } else { "\"\"" }))
}

/// The CAs and lists of all hosts, each once.
pub(crate) fn files(fixed: &Fixed) -> impl Iterator<Item = File> {
    let clients = fixed.shells.values().filter_map(|shell| shell.clients.as_ref());
    let trusted: BTreeMap<&str, &TrustedClients> = clients.map(|clients| (&*clients.trusted.id, &*clients.trusted)).collect();
    let files = trusted.into_values().flat_map(|trusted| {
        let crl = trusted.revoked.as_ref().map(|revoked| file(crl_file(trusted), revoked));
        [file(ca_file(trusted), &trusted.ca)].into_iter().chain(crl)
    });
    files.collect::<Vec<_>>().into_iter()
}

fn file(path: String, text: &str) -> File {
    File { path: path.into(), mode: 0o600, bytes: text.into() }
}

/// Relative to the configuration, as NGINX takes it.
fn ca_file(trusted: &TrustedClients) -> String {
    format!("certs/clients-{}.pem", trusted.id)
}

fn crl_file(trusted: &TrustedClients) -> String {
    format!("certs/clients-{}-crl.pem", trusted.id)
}
