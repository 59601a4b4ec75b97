//! Protocol to the backend, TLS, FastCGI, and copies of requests.

use std::sync::Arc;

use ngx_value::TlsProtocol;
use settings::groups::BackendProtocol;

use super::Location;
use crate::key::ObjectKey;
use crate::live::{Mirror, Policy};
use crate::profile::{BackendName, BackendTls, BackendTrust, Profile, Transport};
use crate::rule::{self, BackendSecret};

pub(super) fn apply(location: &Location<'_>, policy: &mut Policy, profile: &mut Profile) {
    if location.has_backend {
        // The default backend always speaks plain HTTP.
        let given = location.given;
        let mut transport = Transport { protocol: given.spec.protocol.backend_protocol, ..Transport::default() };
        if transport.protocol == BackendProtocol::Fcgi {
            let index = given.resolved.fastcgi.index.as_ref();
            // Snippets may ask for the name of the script, which has the index only if that is text.
            transport.fastcgi_index = index.filter(|_| location.has_snippet()).cloned();
            policy.fastcgi_index = index.map(|index| index.as_str().into());
            transport.fastcgi_params = given.resolved.fastcgi.params.clone();
        }
        profile.transport = transport;
    }
    mirror(location, policy, profile);
}

/// What applies to TLS to a Service. `host_tls`: the policy of the oldest object of the host with CAs for its backends, which decides for
/// locations that have none of their own.
pub(crate) fn backend_tls(
    given: &rule::Policy,
    host_tls: Option<&rule::Policy>,
    service: &ObjectKey,
    transport: &Transport,
) -> Option<BackendTls> {
    let own = given.resolved.backend_tls.as_ref().map(|secret| (given, secret));
    let of_host = host_tls.filter(|_| transport.is_tls()).and_then(|given| Some((given, given.resolved.backend_tls.as_ref()?)));
    own.or(of_host).map(|(given, secret)| tls(given, secret, &format!("{}.{}.svc", service.name, service.namespace)))
}

fn tls(given: &rule::Policy, secret: &BackendSecret, service: &str) -> BackendTls {
    let given = &given.spec.backend_tls;
    let trust = secret.material.as_ref().map(|material| BackendTrust {
        material: material.clone(),
        ciphers: given.proxy_ssl_ciphers.clone(),
        protocols: if given.proxy_ssl_protocols.is_empty() { vec![TlsProtocol::V1_2] } else { given.proxy_ssl_protocols.clone() },
        verify: given.proxy_ssl_verify,
        verify_depth: given.proxy_ssl_verify_depth.unwrap_or(1),
    });
    let matters = given.proxy_ssl_server_name || trust.as_ref().is_some_and(|trust| trust.verify);
    let name = match &given.proxy_ssl_name {
        Some(name) => Some(BackendName::Given(name.clone())),
        None => matters.then(|| BackendName::Service(service.into())),
    };
    BackendTls { trust, name, server_name: given.proxy_ssl_server_name }
}

/// A target without a path gets that of the request. One with a path, and without variables, gets the arguments alone, as NGINX does it.
fn mirror(location: &Location<'_>, policy: &mut Policy, profile: &mut Profile) {
    let mirror = &location.given.spec.mirror;
    let Some(target) = &mirror.mirror_target else { return };
    let host = match (&mirror.mirror_host, mirror.default_host()) {
        (Some(host), _) => host.as_str(),
        (None, Some(host)) => host,
        (None, None) => target.authority(),
    };
    let url = match target.as_str().contains('$') {
        true => target.to_string(),
        false if target.path().is_empty() => format!("{target}$request_uri"),
        false => format!("{target}$is_args$args"),
    };
    policy.mirror = Some(Arc::new(Mirror { mirror_target: url.into(), mirror_host: host.into() }));
    profile.mirror = Some(mirror.mirror_request_body != Some(false));
}
