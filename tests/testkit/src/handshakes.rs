//! One TLS connection after the other, each with one request.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustls::HandshakeKind;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::http::tls::config;

/// A client that makes connections with full handshakes, or resumes the session of the one before.
pub struct Handshakes {
    connector: TlsConnector,
    name: ServerName<'static>,
    request: String,
    resumed: bool,
}

impl Handshakes {
    /// A client of this host.
    ///
    /// # Errors
    /// The host is no DNS name.
    pub fn new(host: &str, resumed: bool) -> anyhow::Result<Self> {
        let mut config = config(None)?;
        if !resumed {
            config.resumption = Resumption::disabled();
        }
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            name: ServerName::try_from(host.to_owned()).with_context(|| format!("{host} is no DNS name"))?,
            request: format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"),
            resumed,
        })
    }

    /// Connections to `address` until `duration` is over, and their number.
    ///
    /// # Errors
    /// A connection or a request fails, or a handshake but the first is of the other kind.
    pub async fn during(&self, address: SocketAddr, duration: Duration) -> anyhow::Result<u64> {
        let began = Instant::now();
        let mut count = 0;
        while began.elapsed() < duration {
            let kind = self.connect(address).await?;
            let resumed = kind == HandshakeKind::Resumed;
            ensure!(count == 0 || resumed == self.resumed, "handshake {count} with {address}: {kind:?}");
            count += 1;
        }
        Ok(count)
    }

    /// One connection. It is read to its end: TLS 1.3 sends tickets after the handshake.
    async fn connect(&self, address: SocketAddr) -> anyhow::Result<HandshakeKind> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let mut stream = self.connector.connect(self.name.clone(), stream).await?;
        stream.write_all(self.request.as_bytes()).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        ensure!(answer.starts_with(b"HTTP/1.1 200 "), "answer of {address}: {:?}", String::from_utf8_lossy(&answer));
        stream.get_ref().1.handshake_kind().context("a handshake is over")
    }
}
