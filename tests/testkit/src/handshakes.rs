//! One TLS connection after the other, each with one request or none.

use std::io::ErrorKind;
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
    request: Option<String>,
    resumed: bool,
}

impl Handshakes {
    /// A client of this host; `asks`: it makes one request in each connection.
    ///
    /// # Errors
    /// The host is no DNS name.
    pub fn new(host: &str, resumed: bool, asks: bool) -> anyhow::Result<Self> {
        let mut config = config(None)?;
        if !resumed {
            config.resumption = Resumption::disabled();
        }
        Ok(Self {
            connector: TlsConnector::from(Arc::new(config)),
            name: ServerName::try_from(host.to_owned()).with_context(|| format!("{host} is no DNS name"))?,
            request: asks.then(|| format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n")),
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
        match &self.request {
            Some(request) => stream.write_all(request.as_bytes()).await?,
            None => stream.shutdown().await?,
        }
        let mut answer = Vec::new();
        match stream.read_to_end(&mut answer).await {
            // To a connection without a request NGINX says no last word.
            Err(error) if self.request.is_none() && error.kind() == ErrorKind::UnexpectedEof => {}
            end => _ = end?,
        }
        let expected: &[u8] = if self.request.is_some() { b"HTTP/1.1 200 " } else { b"" };
        ensure!(answer.starts_with(expected), "answer of {address}: {:?}", String::from_utf8_lossy(&answer));
        stream.get_ref().1.handshake_kind().context("a handshake is over")
    }
}
