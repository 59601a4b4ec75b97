//! How endpoints are spoken to: protocol, TLS, FastCGI.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use ngx_value::{CipherList, FastcgiName, FastcgiValue, TlsProtocol, VhostTemplate};
use settings::groups::BackendProtocol;
use sha2::{Digest, Sha256};

use super::canonical;
use crate::options::PemPair;

/// How endpoints are spoken to. The default: plain HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Transport {
    /// `backend-protocol`.
    pub protocol: BackendProtocol,
    /// `proxy-ssl-*`; without a Secret there is none.
    pub tls: Option<BackendTls>,
    /// `fastcgi-index`.
    pub fastcgi_index: Option<FastcgiName>,
    /// Parameters of `fastcgi-params-configmap`, ordered by name.
    pub fastcgi_params: Arc<[(FastcgiName, FastcgiValue)]>,
}

/// TLS to endpoints.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BackendTls {
    /// Whom to trust and what to show. None where the Secret has no `ca.crt`: then only the name matters.
    pub trust: Option<BackendTrust>,
    /// The name that is sent (SNI) and verified; may have variables. `None` where it does not matter.
    pub name: Option<BackendName>,
    /// `proxy_ssl_server_name`: the name is sent.
    pub server_name: bool,
}

/// The name of an endpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum BackendName {
    /// `proxy-ssl-name`.
    Given(VhostTemplate),
    /// Without it: that of the Service in the cluster, `service.namespace.svc`.
    Service(Arc<str>),
}

impl BackendName {
    /// As NGINX writes it.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Given(name) => name.as_str(),
            Self::Service(name) => name,
        }
    }
}

/// What goes with the CAs of a Secret.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct BackendTrust {
    /// The files.
    pub material: Arc<TlsMaterial>,
    /// `proxy_ssl_ciphers`. `None`: `DEFAULT`.
    pub ciphers: Option<CipherList>,
    /// `proxy_ssl_protocols`, ascending, not empty.
    pub protocols: Vec<TlsProtocol>,
    /// `proxy_ssl_verify`.
    pub verify: bool,
    /// `proxy_ssl_verify_depth`.
    pub verify_depth: u32,
}

/// CAs that are trusted, and the certificate for endpoints. Known by its content address.
#[derive(Clone)]
pub struct TlsMaterial {
    /// Content address: 32 hexadecimal digits. Also in the names of the files.
    pub id: Arc<str>,
    /// PEM certificates.
    pub ca: String,
    /// Certificate and key towards endpoints.
    pub pair: Option<PemPair>,
}

impl TlsMaterial {
    pub(crate) fn new(ca: String, pair: Option<PemPair>) -> Self {
        let mut hasher = Sha256::new();
        for part in [Some(&ca), pair.as_ref().map(|pair| &pair.chain), pair.as_ref().map(|pair| &pair.key)].into_iter().flatten() {
            hasher.update(part.len().to_le_bytes());
            hasher.update(part);
        }
        let id = const_hex::encode(&hasher.finalize()[..16]);
        Self { id: id.into(), ca, pair }
    }
}

impl PartialEq for TlsMaterial {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id
    }
}

impl Eq for TlsMaterial {}

impl Hash for TlsMaterial {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl fmt::Debug for TlsMaterial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TlsMaterial({})", self.id)
    }
}

impl Transport {
    /// Whether TLS is spoken at least to some.
    pub const fn is_tls(&self) -> bool {
        matches!(self.protocol, BackendProtocol::Https | BackendProtocol::AutoHttp | BackendProtocol::Grpcs)
    }

    /// Which connections may be used again for requests of this kind: those of the same protocol, certificate, trust and name. `None`:
    /// plain HTTP, which shares those of the whole NGINX.
    pub fn pool(&self) -> Option<String> {
        let protocol = match self.protocol {
            BackendProtocol::Http => return None,
            other => protocol(other),
        };
        let tls = self.tls.as_ref().filter(|_| self.is_tls()).map(|tls| format!("_{}", &super::address(&canonical(tls.parts()))));
        Some(format!("{}{}", protocol.to_ascii_lowercase(), tls.unwrap_or_default()))
    }

    /// Whether the name of the endpoint may differ from request to request, so that a connection can't be used again.
    pub fn has_variable_name(&self) -> bool {
        self.is_tls() && self.tls.as_ref().and_then(|tls| tls.name.as_ref()).is_some_and(|name| name.as_str().contains('$'))
    }

    /// Every set field as (setting name, value), in a fixed order.
    pub(super) fn parts(&self) -> Vec<(&'static str, Option<String>)> {
        // Destructured so that a new field can't be forgotten in the digest.
        let Self { protocol: spoken, tls, fastcgi_index, fastcgi_params } = self;
        let params: String = fastcgi_params.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        let mut parts = vec![
            ("backend-protocol", (*spoken != BackendProtocol::Http).then(|| protocol(*spoken).to_owned())),
            ("fastcgi-index", fastcgi_index.as_ref().map(FastcgiName::to_string)),
            ("fastcgi-params-configmap", Some(params).filter(|params| !params.is_empty())),
        ];
        parts.extend(tls.iter().flat_map(BackendTls::parts));
        parts
    }
}

impl BackendTls {
    fn parts(&self) -> Vec<(&'static str, Option<String>)> {
        let Self { trust, name, server_name } = self;
        let mut parts = vec![
            ("proxy-ssl-name", name.as_ref().map(|name| name.as_str().to_owned())),
            ("proxy-ssl-server-name", Some(on_off(*server_name))),
        ];
        if let Some(BackendTrust { material, ciphers, protocols, verify, verify_depth }) = trust {
            parts.extend([
                ("proxy-ssl-secret", Some(material.id.to_string())),
                ("proxy-ssl-ciphers", ciphers.as_ref().map(|ciphers| ciphers.as_str().to_owned())),
                ("proxy-ssl-protocols", Some(protocols.iter().map(|protocol| protocol.as_str()).collect::<Vec<_>>().join(" "))),
                ("proxy-ssl-verify", Some(on_off(*verify))),
                ("proxy-ssl-verify-depth", Some(verify_depth.to_string())),
            ]);
        }
        parts
    }
}

/// The protocol as the annotation has it.
const fn protocol(protocol: BackendProtocol) -> &'static str {
    match protocol {
        BackendProtocol::Http => "HTTP",
        BackendProtocol::Https => "HTTPS",
        BackendProtocol::AutoHttp => "AUTO_HTTP",
        BackendProtocol::Grpc => "GRPC",
        BackendProtocol::Grpcs => "GRPCS",
        BackendProtocol::Fcgi => "FCGI",
    }
}

fn on_off(on: bool) -> String {
    if on { "on" } else { "off" }.to_owned()
}
