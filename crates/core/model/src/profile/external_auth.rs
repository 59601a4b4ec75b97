//! External authentication: what of asking another service must be text. Everything else is a variable.

use std::sync::Arc;

use ngx_value::{HeaderName, HeaderTemplate, Snippet};
use settings::Keepalive;
use sha2::{Digest, Sha256};

/// The location of the request to the service, and that it is asked at all.
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct AuthLocation {
    /// A 401 becomes a redirect.
    pub signin: bool,
    /// Further headers for the service, in the order of their names; variables are meant.
    pub headers: Vec<(HeaderName, HeaderTemplate)>,
    /// `auth-snippet`: allowed by the risk level, balanced, parsed.
    pub snippet: Option<Snippet>,
    /// Connections to the service are kept.
    pub upstream: Option<AuthUpstream>,
}

/// An upstream block for one service. Lua says where it is, for each request.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AuthUpstream {
    /// Host and port, an IPv6 address in brackets. No variables.
    pub server: Arc<str>,
    /// How many connections, and how long.
    pub keepalive: Keepalive,
}

impl AuthUpstream {
    /// Name of the block, which stands in URLs in the place of host and port.
    pub fn name(&self) -> String {
        let digest = Sha256::digest(self.to_string().as_bytes());
        format!("auth-external-auth-{}", const_hex::encode(&digest[..8]))
    }
}

impl std::fmt::Display for AuthUpstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Keepalive { connections, requests, timeout } = self.keepalive;
        write!(f, "{} {connections} {requests} {timeout}", self.server)
    }
}

impl AuthLocation {
    /// Every set field as (setting name, value), in a fixed order.
    pub(super) fn parts(&self) -> Vec<(&'static str, String)> {
        // Destructured so that a new field can't be forgotten in the digest.
        let Self { signin, headers, snippet, upstream } = self;
        let headers = headers.iter().map(|(name, value)| format!("{name}: {value}"));
        let headers: Vec<String> = headers.collect();
        let parts = [
            Some(("auth-url", "on".to_owned())),
            signin.then(|| ("auth-signin", "on".to_owned())),
            (!headers.is_empty()).then(|| ("auth-proxy-set-headers", headers.join("\n"))),
            snippet.as_ref().map(|snippet| ("auth-snippet", snippet.as_str().to_owned())),
            upstream.as_ref().map(|upstream| ("auth-keepalive", upstream.to_string())),
        ];
        parts.into_iter().flatten().collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::profile::Profile;

    use super::*;

    #[test]
    fn each_field_makes_another_profile() {
        let profile = |auth| Profile { external_auth: Some(auth), ..Profile::default() }.id();
        let header = |value: &str| vec![("X-A".parse().unwrap(), value.parse().unwrap())];
        let keepalive = |connections: u32| {
            let number = |number: u32| std::num::NonZeroU32::new(number).unwrap();
            let keepalive = Keepalive { connections: number(connections), requests: number(1000), timeout: ngx_value::Seconds(60) };
            Some(AuthUpstream { server: "auth.example.com:80".into(), keepalive })
        };
        let all = [
            Profile::default().id(),
            profile(AuthLocation::default()),
            profile(AuthLocation { signin: true, ..AuthLocation::default() }),
            profile(AuthLocation { headers: header("1"), ..AuthLocation::default() }),
            profile(AuthLocation { headers: header("2"), ..AuthLocation::default() }),
            profile(AuthLocation { snippet: Some(Snippet::parse("set $a 1;").unwrap()), ..AuthLocation::default() }),
            profile(AuthLocation { upstream: keepalive(1), ..AuthLocation::default() }),
            profile(AuthLocation { upstream: keepalive(2), ..AuthLocation::default() }),
        ];
        let distinct: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(distinct.len(), all.len());
        assert_ne!(keepalive(1).unwrap().name(), keepalive(2).unwrap().name());
    }
}
