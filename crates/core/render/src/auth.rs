//! The text of external authentication: a location of the request to the service, beside the one of its profile.

use std::collections::BTreeSet;

use model::profile::external_auth::{AuthLocation, AuthUpstream};
use model::{Fixed, HostServer, Part};
use ngx_value::Seconds;
use serde::Serialize;
use settings::Config;

use crate::RenderError;
use crate::clients;
use crate::page::Page;
use crate::print::Printed;
use crate::proxy::full_forwarded_for;

/// What `auth.conf` prints.
#[derive(Serialize)]
pub(crate) struct AuthView {
    /// The URI of the location.
    name: Printed,
    /// A 401 becomes a redirect.
    signin: bool,
    /// Requests to the service are in the access log.
    log: bool,
    forwarded_for: Printed,
    /// Headers about the client's certificate: the value of the one that holds it.
    certificate: Option<Printed>,
    headers: Vec<Header>,
    snippet: Option<Printed>,
}

#[derive(Serialize)]
struct Header {
    name: Printed,
    value: Printed,
}

#[derive(Serialize)]
struct UpstreamBlock {
    upstream: UpstreamView,
}

/// What `auth_upstream.conf` prints.
#[derive(Serialize)]
struct UpstreamView {
    name: Printed,
    connections: u32,
    requests: u32,
    timeout: u32,
}

impl AuthView {
    /// The location of the profile with this id.
    pub(crate) fn new(config: &Config, id: &str, location: &AuthLocation) -> Result<Self, RenderError> {
        // Destructured so that a new field can't be forgotten. The upstream is a block of its own.
        let AuthLocation { signin, headers, snippet, upstream: _ } = location;
        // Variables in the values are meant.
        let header =
            |(name, value): &(_, ngx_value::HeaderTemplate)| Ok(Header { name: quoted(name)?, value: Printed::quoted(value.as_str())? });
        Ok(Self {
            name: Printed::word(format!("/_narthex_external_auth/{id}"))?,
            signin: *signin,
            log: config.observability.enable_auth_access_log,
            forwarded_for: Printed::fixed(if full_forwarded_for(config) { "$full_x_forwarded_for" } else { "$remote_addr" }),
            certificate: None,
            headers: headers.iter().map(header).collect::<Result<_, RenderError>>()?,
            snippet: snippet.as_ref().map(Printed::raw),
        })
    }
}

impl AuthView {
    /// With what the server of a host adds.
    #[must_use]
    pub(crate) fn of_server(self, host_server: Option<&HostServer>) -> Self {
        Self { certificate: clients::certificate_header(host_server), ..self }
    }
}

impl UpstreamView {
    fn new(upstream: &AuthUpstream) -> Result<Self, RenderError> {
        let settings::Keepalive { connections, requests, timeout: Seconds(timeout) } = upstream.keepalive;
        Ok(Self { name: Printed::word(upstream.name())?, connections: connections.get(), requests: requests.get(), timeout })
    }
}

/// Services to which connections are kept, once each.
pub(crate) fn upstreams(page: &mut Page, fixed: &Fixed) -> Result<(), RenderError> {
    let mut written = BTreeSet::new();
    for (id, profile) in &fixed.profiles {
        let upstream = profile.external_auth.as_ref().and_then(|auth| auth.upstream.as_ref());
        if let Some(upstream) = upstream.filter(|upstream| written.insert(upstream.name())) {
            let view = UpstreamBlock { upstream: UpstreamView::new(upstream)? };
            page.origin(Part::Profile(id.clone()), |page| page.block("auth_upstream.conf", view))?;
        }
    }
    Ok(())
}

fn quoted(name: &ngx_value::HeaderName) -> Result<Printed, RenderError> {
    Printed::quoted(name.as_str())
}
