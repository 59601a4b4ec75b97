//! Who may ask for a reload: by the address of the connection and by a token, never by what a header claims.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use axum::extract::connect_info::Connected;
use axum::serve::IncomingStream;
use ngx_value::CidrSet;
use sha2::{Digest as _, Sha256};
use tokio::net::{TcpListener, UnixListener};

/// Who is on the other side of a connection.
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

/// Who may.
#[derive(Debug, Clone)]
pub struct Access {
    /// Addresses; whoever may use a unix socket is let in.
    pub allow: CidrSet,
    /// A file with the token that has to be shown as well. Read for every request: it may be renewed.
    pub token_file: Option<PathBuf>,
}

/// Why a request is not let through.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Denied {
    /// Not from there.
    #[error("the address is not one of --allow")]
    Address,
    /// Without the token, or with another one.
    #[error("the token of --token-file is missing or another one")]
    Token,
    /// The token file can't be read.
    #[error("the token can't be read: {0}")]
    Broken(String),
}

impl Access {
    /// Whether a request is let through. `authorization` is the value of that header.
    pub(crate) fn check(&self, peer: Option<Peer>, authorization: Option<&str>) -> Result<(), Denied> {
        match peer {
            Some(Peer::Unix) => {}
            Some(Peer::Tcp(address)) if self.allow.contains(address.ip()) => {}
            Some(Peer::Tcp(_)) | None => return Err(Denied::Address),
        }
        let Some(wanted) = self.token().map_err(|error| Denied::Broken(error.to_string()))? else { return Ok(()) };
        let shown = authorization.and_then(|value| value.split_once(' ')).filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
        match shown {
            Some((_, token)) if same(token.trim(), &wanted) => Ok(()),
            _ => Err(Denied::Token),
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
        let mut access = Access { allow: "127.0.0.0/8,10.0.0.0/8".parse().unwrap(), token_file: None };
        assert_eq!(access.check(peer("10.1.2.3:5"), None), Ok(()));
        assert_eq!(access.check(peer("[::ffff:10.1.2.3]:5"), None), Ok(()));
        assert_eq!(access.check(Some(Peer::Unix), None), Ok(()));
        assert_eq!(access.check(peer("192.0.2.1:5"), None), Err(Denied::Address));
        assert_eq!(access.check(None, None), Err(Denied::Address));

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
    }
}
