//! Access control of reloads: by the address of the connection and by a token, never by what a header claims.

use std::fmt;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use ngx_value::CidrSet;
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, UnixListener};

use crate::peers::own_addresses;

/// The client of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    /// This address.
    Tcp(SocketAddr),
    /// A process of this machine that may use the socket file.
    Unix,
}

impl Connected<IncomingStream<'_, TcpListener>> for Peer {
    fn connect_info(stream: IncomingStream<'_, TcpListener>) -> Self {
        Self::Tcp(*stream.remote_addr())
    }
}

impl Connected<IncomingStream<'_, UnixListener>> for Peer {
    fn connect_info(_: IncomingStream<'_, UnixListener>) -> Self {
        Self::Unix
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix => f.write_str("the unix socket"),
        }
    }
}

/// Access control of requests.
///
/// An address of this machine proves little: an NGINX here may forward what an unknown client sends. So without a token it counts only where
/// [`Access::allow`] names it.
#[derive(Debug, Clone)]
pub struct Access {
    /// Addresses that may ask; `None`: with a token the loopback ones, else none. A unix socket needs no address.
    pub allow: Option<CidrSet>,
    /// A file with the token that has to be shown as well. Read for every request: it may be renewed.
    pub token_file: Option<PathBuf>,
}

/// The reason why a request is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denied {
    /// An address that may not ask.
    #[error("the address is not one of --allow")]
    Address,
    /// A client of this machine without a token.
    #[error(
        "requests of this machine need --token-file, or their address in --allow, as a proxy here may forward them; --listen unix:PATH needs neither"
    )]
    Machine,
    /// No token, or another one.
    #[error("the token of --token-file is missing or another one")]
    Token,
    /// The token file can't be read.
    #[error("the token can't be read: {0}")]
    Broken(String),
}

impl Access {
    /// The decision about a request. `authorization` is the value of that header.
    pub(crate) fn check(&self, peer: Option<Peer>, authorization: Option<&str>) -> Result<(), Denied> {
        match peer {
            Some(Peer::Unix) => {}
            Some(Peer::Tcp(address)) => self.check_address(address.ip().to_canonical())?,
            None => return Err(Denied::Address),
        }
        let Some(wanted) = self.token().map_err(|error| Denied::Broken(error.to_string()))? else { return Ok(()) };
        let shown = authorization.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        match shown {
            Some((_, token)) if same(token.trim(), &wanted) => Ok(()),
            _ => Err(Denied::Token),
        }
    }

    fn check_address(&self, address: IpAddr) -> Result<(), Denied> {
        let has_token = self.token_file.is_some();
        match &self.allow {
            None if address.is_loopback() && has_token => Ok(()),
            None if address.is_loopback() => Err(Denied::Machine),
            Some(allow) if allow.contains(address) => {
                let is_own = || !address.is_loopback() && own_addresses().contains(&address);
                if has_token || self.allows_this_machine() || !is_own() { Ok(()) } else { Err(Denied::Machine) }
            }
            None | Some(_) => Err(Denied::Address),
        }
    }

    /// `true` if requests of this machine are allowed by their address.
    pub fn allows_this_machine(&self) -> bool {
        let loopback = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        match &self.allow {
            Some(allow) => loopback.iter().any(|address| allow.contains(*address)),
            None => self.token_file.is_some(),
        }
    }

    /// The token, if one is asked for. An empty one is an error: it would let every request in.
    ///
    /// # Errors
    /// The file can't be read, or holds nothing.
    pub fn token(&self) -> io::Result<Option<String>> {
        let Some(path) = &self.token_file else { return Ok(None) };
        let text = std::fs::read_to_string(path).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        let token = text.trim().to_owned();
        if token.is_empty() {
            return Err(io::Error::other(format!("{} is empty: expected a token", path.display())));
        }
        Ok(Some(token))
    }
}

/// Takes the same time wherever they differ.
fn same(left: &str, right: &str) -> bool {
    let digest = |text: &str| Sha256::digest(text.as_bytes());
    digest(left).iter().zip(digest(right).iter()).fold(0, |difference, (left, right)| difference | (left ^ right)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_and_token_decide() {
        let scratch = tempfile::tempdir().unwrap();
        let token = scratch.path().join("token");
        let peer = |text: &str| Some(Peer::Tcp(text.parse().unwrap()));
        let mut access = Access { allow: Some("127.0.0.0/8,10.0.0.0/8".parse().unwrap()), token_file: None };
        assert_eq!(access.check(peer("10.1.2.3:5"), None), Ok(()));
        assert_eq!(access.check(peer("[::ffff:10.1.2.3]:5"), None), Ok(()));
        assert_eq!(access.check(Some(Peer::Unix), None), Ok(()));
        assert_eq!(access.check(peer("192.0.2.1:5"), None), Err(Denied::Address));
        assert_eq!(access.check(None, None), Err(Denied::Address));

        access.allow = None;
        for address in ["127.0.0.1:5", "[::1]:5", "[::ffff:127.0.0.1]:5"] {
            assert_eq!(access.check(peer(address), None), Err(Denied::Machine), "{address}");
        }
        assert_eq!(access.check(peer("10.1.2.3:5"), None), Err(Denied::Address));
        if let Some(own) = own_addresses().into_iter().find(|address| address.is_ipv4() && !address.is_loopback()) {
            access.allow = Some(format!("{own}/32").parse().unwrap());
            assert_eq!(access.check(Some(Peer::Tcp((own, 5).into())), None), Err(Denied::Machine), "{own}");
        }

        access.allow = Some("127.0.0.0/8,10.0.0.0/8".parse().unwrap());
        access.token_file = Some(token.clone());
        assert!(matches!(access.check(Some(Peer::Unix), None), Err(Denied::Broken(_))));
        std::fs::write(&token, "\n").unwrap();
        assert!(matches!(access.check(Some(Peer::Unix), Some("Bearer ")), Err(Denied::Broken(_))));
        std::fs::write(&token, "secret\n").unwrap();
        for (shown, expected) in [
            (Some("Bearer secret"), Ok(())),
            (Some("bearer secret"), Ok(())),
            (Some("Bearer secre"), Err(Denied::Token)),
            (Some("Basic secret"), Err(Denied::Token)),
            (Some("secret"), Err(Denied::Token)),
            (None, Err(Denied::Token)),
        ] {
            assert_eq!(access.check(Some(Peer::Unix), shown), expected, "{shown:?}");
        }
        assert_eq!(access.check(peer("192.0.2.1:5"), Some("Bearer secret")), Err(Denied::Address));
        access.allow = None;
        assert_eq!(access.check(peer("127.0.0.1:5"), Some("Bearer secret")), Ok(()));
        assert_eq!(access.check(peer("10.1.2.3:5"), Some("Bearer secret")), Err(Denied::Address));
    }
}
