//! Client certificates: directives of a server block, headers about them, and the files they name.

use std::collections::BTreeMap;

use model::fixed::{ClientVerification, TrustedClients};
use model::{Fixed, HostServer};
use serde::Serialize;
use settings::VerifyClient;

use crate::RenderError;
use crate::files::File;
use crate::print::Printed;

/// What `clients.conf` prints.
#[derive(Serialize)]
pub(crate) struct ClientsView {
    id: Printed,
    ca: Printed,
    crl: Option<Printed>,
    verify: Printed,
    depth: u16,
}

impl ClientsView {
    pub(crate) fn new(clients: &ClientVerification) -> Result<Self, RenderError> {
        // Destructured so that a new field can't be forgotten.
        let ClientVerification { id, trusted, verify, depth } = clients;
        Ok(Self {
            id: Printed::word(&**id)?,
            ca: Printed::word(ca_file(trusted))?,
            crl: trusted.revoked.is_some().then(|| Printed::word(crl_file(trusted))).transpose()?,
            verify: Printed::fixed(match verify {
                VerifyClient::On => "on",
                VerifyClient::Off => "off",
                VerifyClient::Optional => "optional",
                VerifyClient::OptionalNoCa => "optional_no_ca",
            }),
            depth: *depth,
        })
    }
}

/// The value of `ssl-client-cert` where backends get client certificates; empty: what the client sent is removed.
pub(crate) fn certificate_header(host_server: Option<&HostServer>) -> Option<Printed> {
    host_server?.clients.as_ref().map(|_| Printed::fixed("$narthex_client_certificate"))
}

/// The CAs and lists of all hosts, each once.
pub(crate) fn files(fixed: &Fixed) -> impl Iterator<Item = File> {
    let clients = fixed.host_servers.values().filter_map(|host_server| host_server.clients.as_ref());
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
