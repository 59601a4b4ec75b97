//! The last step of a location: how the request goes to the endpoint that Lua chooses.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::Fixed;
use model::profile::{BackendTls, Profile, TlsMaterial, Transport};
use ngx_value::{FastcgiName, FastcgiValue, RetryCondition};
use serde::Serialize;
use settings::Config;
use settings::groups::BackendProtocol;

use crate::files::File;
use crate::print::Printed;
use crate::proxy::timeouts;
use crate::{Paths, RenderError};

/// The upstream block of plain HTTP.
pub(crate) const PLAIN_UPSTREAM: &str = "upstream_balancer";

/// Parameters that every FastCGI server gets, below the work directory.
pub(crate) const FASTCGI_PARAMS: &str = "fastcgi_params";

const FASTCGI_PARAMS_TEXT: &str = include_str!("../../../../templates/fastcgi_params");

/// What `pass.conf` prints.
#[derive(Serialize)]
pub(crate) struct PassView {
    /// `proxy_pass`, `grpc_pass` or `fastcgi_pass`, and where to.
    directive: Printed,
    target: Printed,
    tls: Option<TlsView>,
    grpc: Option<GrpcView>,
    fastcgi: Option<FastcgiView>,
}

/// What `backend_tls.conf` prints.
#[derive(Serialize)]
pub(crate) struct TlsView {
    /// `proxy` or `grpc`.
    module: Printed,
    trust: Option<TrustView>,
    name: Option<Printed>,
    /// Whether the name is sent.
    server_name: bool,
}

#[derive(Serialize)]
struct TrustView {
    pair: Option<Printed>,
    ca: Printed,
    ciphers: Printed,
    protocols: Printed,
    verify: bool,
    verify_depth: u32,
}

/// What gRPC and FastCGI have in common with proxying, in directives of their own.
#[derive(Serialize)]
struct Common {
    connect_timeout: u32,
    send_timeout: u32,
    read_timeout: u32,
    next_upstream: Printed,
    next_upstream_timeout: u32,
}

#[derive(Serialize)]
struct GrpcView {
    #[serde(flatten)]
    common: Common,
    buffer_size_kib: Option<u32>,
}

#[derive(Serialize)]
struct FastcgiView {
    #[serde(flatten)]
    common: Common,
    include: Printed,
    index: Option<Printed>,
    params: Vec<Param>,
}

#[derive(Serialize)]
struct Param {
    name: Printed,
    value: Printed,
}

impl PassView {
    /// Connections are used again only for requests of the same kind.
    pub(crate) fn new(config: &Config, paths: &Paths, profile: &Profile) -> Result<Self, RenderError> {
        let transport = &profile.transport;
        let (directive, scheme) = match transport.protocol {
            BackendProtocol::Http => ("proxy_pass", "http://"),
            BackendProtocol::Https => ("proxy_pass", "https://"),
            BackendProtocol::AutoHttp => ("proxy_pass", "$scheme://"),
            BackendProtocol::Grpc => ("grpc_pass", "grpc://"),
            BackendProtocol::Grpcs => ("grpc_pass", "grpcs://"),
            BackendProtocol::Fcgi => ("fastcgi_pass", ""),
        };
        let common = || Common::new(config, profile);
        let module = if is_grpc(transport) { "grpc" } else { "proxy" };
        // People set these by a snippet before the annotations did, and NGINX takes each but once.
        let by_snippet = is_grpc(transport) && profile.snippet.as_ref().is_some_and(|snippet| snippet.as_str().contains("grpc_ssl_"));
        let tls = transport.tls.as_ref().filter(|_| !by_snippet && !matches!(transport.protocol, BackendProtocol::Fcgi));
        Ok(Self {
            directive: Printed::fixed(directive),
            target: Printed::prefixed(scheme, upstream(transport))?,
            tls: tls.map(|tls| TlsView::new(paths, module, tls)).transpose()?,
            grpc: is_grpc(transport).then(|| GrpcView::new(config, common()?)).transpose()?,
            fastcgi: (transport.protocol == BackendProtocol::Fcgi).then(|| FastcgiView::new(paths, transport, common()?)).transpose()?,
        })
    }
}

/// Whether requests go out as gRPC.
pub(crate) const fn is_grpc(transport: &Transport) -> bool {
    matches!(transport.protocol, BackendProtocol::Grpc | BackendProtocol::Grpcs)
}

/// The directive that hands over errors of endpoints of plain HTTP and HTTPS.
pub(crate) const INTERCEPT_PLAIN: &str = "proxy_intercept_errors";

/// The one for these endpoints.
pub(crate) const fn intercept_directive(transport: &Transport) -> &'static str {
    match transport.protocol {
        BackendProtocol::Grpc | BackendProtocol::Grpcs => "grpc_intercept_errors",
        BackendProtocol::Fcgi => "fastcgi_intercept_errors",
        BackendProtocol::Http | BackendProtocol::Https | BackendProtocol::AutoHttp => INTERCEPT_PLAIN,
    }
}

impl TlsView {
    fn new(paths: &Paths, module: &'static str, tls: &BackendTls) -> Result<Self, RenderError> {
        let trust = tls.trust.as_ref().map(|trust| -> Result<_, RenderError> {
            let path = |name: String| crate::globals::path(&paths.work_dir.join(name));
            Ok(TrustView {
                pair: trust.material.pair.as_ref().map(|_| path(pair_file(&trust.material))).transpose()?,
                ca: path(ca_file(&trust.material))?,
                ciphers: trust.ciphers.as_ref().map_or(Ok(Printed::fixed("DEFAULT")), |ciphers| Printed::word(ciphers.as_str()))?,
                protocols: Printed::words(&trust.protocols)?,
                verify: trust.verify,
                verify_depth: trust.verify_depth,
            })
        });
        Ok(Self {
            module: Printed::fixed(module),
            trust: trust.transpose()?,
            // Its variables are meant.
            name: tls.name.as_ref().map(|name| Printed::quoted(name.as_str())).transpose()?,
            server_name: tls.server_name,
        })
    }
}

impl Common {
    fn new(config: &Config, profile: &Profile) -> Result<Self, RenderError> {
        let [connect_timeout, send_timeout, read_timeout] = timeouts(config);
        let proxying = &profile.proxying;
        let conditions = proxying.next_upstream.clone().unwrap_or_else(|| settings::groups::Proxy::default().next_upstream(config));
        let fastcgi = profile.transport.protocol == BackendProtocol::Fcgi;
        // FastCGI servers have no gateways that could time out, so NGINX does not know these.
        let unknown = |condition: &&RetryCondition| fastcgi && matches!(condition, RetryCondition::Http502 | RetryCondition::Http504);
        let known: Vec<&RetryCondition> = conditions.conditions().iter().filter(|condition| !unknown(condition)).collect();
        let known = if known.is_empty() { vec![&RetryCondition::Off] } else { known };
        Ok(Self {
            connect_timeout,
            send_timeout,
            read_timeout,
            next_upstream: Printed::words(known)?,
            next_upstream_timeout: profile.directives.proxy_next_upstream_timeout.unwrap_or(config.proxy.proxy_next_upstream_timeout).0,
        })
    }
}

impl GrpcView {
    fn new(config: &Config, common: Common) -> Result<Self, RenderError> {
        Ok(Self { common, buffer_size_kib: Some(config.grpc_buffer_size_kb).filter(|kib| *kib > 0) })
    }
}

impl FastcgiView {
    fn new(paths: &Paths, transport: &Transport, common: Common) -> Result<Self, RenderError> {
        let include = crate::globals::path(&paths.work_dir.join(FASTCGI_PARAMS))?;
        let index = transport.fastcgi_index.as_ref().map(Printed::word).transpose()?;
        Ok(Self { common, include, index, params: params(transport)? })
    }
}

/// The parameters of an Ingress; variables are meant.
fn params(transport: &Transport) -> Result<Vec<Param>, RenderError> {
    let param = |(name, text): &(FastcgiName, FastcgiValue)| {
        Ok(Param { name: Printed::word(name.as_str())?, value: Printed::quoted(&script(text.as_str()))? })
    };
    transport.fastcgi_params.iter().map(param).collect()
}

/// The value of a parameter with the name of the script that Lua may have added an index to.
fn script(value: &str) -> String {
    const NAME: &str = "fastcgi_script_name";
    let mut text = String::with_capacity(value.len());
    let mut rest = value;
    while let Some((before, after)) = rest.split_once('$') {
        text.push_str(before);
        let (open, name) = match after.strip_prefix('{') {
            Some(name) => ("${", name),
            None => ("$", after),
        };
        let end = name.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(name.len());
        let (name, after) = name.split_at(end);
        text.push_str(open);
        text.push_str(if name == NAME { "narthex_script_name" } else { name });
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Names of the upstream blocks besides that of plain HTTP, each with whether its connections can be used again.
pub(crate) fn upstreams(fixed: &Fixed) -> BTreeMap<String, bool> {
    let transports = fixed.profiles.values().map(|profile| &profile.transport).filter(|transport| transport.pool().is_some());
    transports
        .map(|transport| {
            let reusable = !transport.has_variable_name() && transport.protocol != BackendProtocol::Fcgi;
            (upstream(transport), reusable)
        })
        .collect()
}

fn upstream(transport: &Transport) -> String {
    transport.pool().map_or_else(|| PLAIN_UPSTREAM.to_owned(), |pool| format!("{PLAIN_UPSTREAM}_{pool}"))
}

/// The parameters. Behind the stream block a connection itself has no address and port.
fn fastcgi_params(fixed: &Fixed) -> String {
    match fixed.globals.listen.passthrough {
        Some(_) => FASTCGI_PARAMS_TEXT.replace(" $server_", " $narthex_server_").replace("$narthex_server_protocol", "$server_protocol"),
        None => FASTCGI_PARAMS_TEXT.to_owned(),
    }
}

/// What the profiles need besides the configuration itself.
pub(crate) fn files(fixed: &Fixed) -> Vec<File> {
    let transports = || fixed.profiles.values().map(|profile| &profile.transport);
    let mut files = Vec::new();
    if transports().any(|transport| transport.protocol == BackendProtocol::Fcgi) {
        files.push(File { path: FASTCGI_PARAMS.into(), mode: 0o644, bytes: fastcgi_params(fixed).into() });
    }
    let trusts = transports().filter_map(|transport| transport.tls.as_ref()?.trust.as_ref());
    let materials: BTreeMap<&str, &Arc<TlsMaterial>> = trusts.map(|trust| (&*trust.material.id, &trust.material)).collect();
    for material in materials.into_values() {
        files.push(File { path: ca_file(material).into(), mode: 0o600, bytes: material.ca.clone().into() });
        if let Some(pair) = &material.pair {
            let bytes = format!("{}\n{}\n", pair.chain.trim_end(), pair.key.trim_end()).into();
            files.push(File { path: pair_file(material).into(), mode: 0o600, bytes });
        }
    }
    files
}

fn pair_file(material: &TlsMaterial) -> String {
    format!("certs/backend-{}.pem", material.id)
}

fn ca_file(material: &TlsMaterial) -> String {
    format!("certs/backend-{}-ca.pem", material.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_script_is_the_one_with_the_index() {
        assert_eq!(script("/var/www$fastcgi_script_name"), "/var/www$narthex_script_name");
        assert_eq!(script("${fastcgi_script_name}x$host"), "${narthex_script_name}x$host");
        assert_eq!(script("$fastcgi_script_name_too $ a"), "$fastcgi_script_name_too $ a");
    }
}
