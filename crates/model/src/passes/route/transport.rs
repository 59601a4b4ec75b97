//! Protocol to the backend, TLS, FastCGI, and copies of requests.

use std::sync::Arc;

use annotations::groups::BackendProtocol;
use ngx_value::TlsProtocol;

use super::Location;
use crate::live::{Mirror, Route};
use crate::passes::ingress::Entry;
use crate::passes::resolve::BackendSecret;
use crate::profile::{BackendName, BackendTls, BackendTrust, Profile, Transport};

pub(super) fn apply(location: &Location<'_>, route: &mut Route, profile: &mut Profile) {
    if let Some(backend) = location.backend {
        // The default backend always speaks plain HTTP.
        let entry = location.entry;
        let mut transport = Transport { protocol: entry.spec.protocol.backend, ..Transport::default() };
        if transport.protocol == BackendProtocol::Fcgi {
            let index = entry.resolved.fastcgi.index.as_ref();
            // Snippets may ask for the name of the script, which has the index only if that is text.
            transport.fastcgi_index = index.filter(|_| location.has_snippet()).cloned();
            route.fastcgi_index = index.map(|index| index.as_str().into());
            transport.fastcgi_params = entry.resolved.fastcgi.params.clone();
        }
        let own = entry.resolved.backend_tls.as_ref().map(|secret| (entry, secret));
        let of_host =
            location.host_tls.filter(|_| transport.is_tls()).and_then(|entry| Some((entry, entry.resolved.backend_tls.as_ref()?)));
        let decides = own.or(of_host);
        transport.tls =
            decides.map(|(entry, secret)| tls(entry, secret, &format!("{}.{}.svc", backend.service.name, backend.service.namespace)));
        profile.transport = transport;
    }
    mirror(location, route, profile);
}

fn tls(entry: &Entry, secret: &BackendSecret, service: &str) -> BackendTls {
    let given = &entry.spec.backend_tls;
    let trust = secret.material.as_ref().map(|material| BackendTrust {
        material: material.clone(),
        ciphers: given.ciphers.clone(),
        protocols: if given.protocols.is_empty() { vec![TlsProtocol::V1_2] } else { given.protocols.clone() },
        verify: given.verify,
        verify_depth: given.verify_depth.unwrap_or(1),
    });
    let matters = given.server_name || trust.as_ref().is_some_and(|trust| trust.verify);
    let name = match &given.name {
        Some(name) => Some(BackendName::Given(name.clone())),
        None => matters.then(|| BackendName::Service(service.into())),
    };
    BackendTls { trust, name, server_name: given.server_name }
}

/// A target without a path gets that of the request. One with a path, and without variables, gets the arguments alone, as NGINX does it.
fn mirror(location: &Location<'_>, route: &mut Route, profile: &mut Profile) {
    let mirror = &location.entry.spec.mirror;
    let Some(target) = mirror.target.as_ref().filter(|_| location.entry.resolved.mirrors) else { return };
    let host = match (&mirror.host, mirror.default_host()) {
        (Some(host), _) => host.as_str(),
        (None, Some(host)) => host,
        (None, None) => target.authority(),
    };
    let url = match target.as_str().contains('$') {
        true => target.to_string(),
        false if target.path().is_empty() => format!("{target}$request_uri"),
        false => format!("{target}$is_args$args"),
    };
    route.mirror = Some(Arc::new(Mirror { target: url.into(), host: host.into(), id: location.entry.identity.clone() }));
    profile.mirror = Some(mirror.body != Some(false));
}
