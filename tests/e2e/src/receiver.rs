//! A receiver of notifications over HTTP or HTTPS, which keeps them; also a proxy on the way there.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use anyhow::{Context, ensure};
use parking_lot::Mutex;
use testkit::echo::tls::{TLS12, TLS13, acceptor};
use testkit::kube::Certificate;
use testkit::poll;
use testkit::ports::Ports;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::PATIENCE;

/// A request: its head and its body.
pub type Notification = (String, String);

/// Answers every request with 200, and `CONNECT` with a tunnel. Dropping it ends it.
pub struct Receiver {
    address: SocketAddr,
    scheme: &'static str,
    notifications: Arc<Mutex<Vec<Notification>>>,
    _task: JoinSet<()>,
}

impl Receiver {
    /// Starts one on a port of its own.
    ///
    /// # Errors
    /// The port can't be listened on.
    pub async fn start() -> anyhow::Result<Self> {
        Self::start_with(None).await
    }

    /// The same over TLS with this certificate, which is to be for `localhost`.
    ///
    /// # Errors
    /// As [`Self::start`], or the certificate can't be used.
    pub async fn start_tls(certificate: &Certificate) -> anyhow::Result<Self> {
        Self::start_with(Some(certificate)).await
    }

    async fn start_with(certificate: Option<&Certificate>) -> anyhow::Result<Self> {
        let address: SocketAddr = (Ipv4Addr::LOCALHOST, Ports::one()?).into();
        let listener = TcpListener::bind(address).await?;
        let tls = certificate.map(|certificate| acceptor(certificate, &[&TLS12, &TLS13], &[])).transpose()?;
        let scheme = if tls.is_some() { "https" } else { "http" };
        let notifications = Arc::new(Mutex::new(Vec::new()));
        let (mut task, all) = (JoinSet::new(), notifications.clone());
        task.spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((connection, _)) = listener.accept().await {
                let (tls, all) = (tls.clone(), all.clone());
                // One that breaks off delivered nothing.
                connections.spawn(async move {
                    match tls {
                        Some(tls) => read(tls.accept(connection).await?, &all).await,
                        None => read(connection, &all).await,
                    }
                });
            }
        });
        Ok(Self { address, scheme, notifications, _task: task })
    }

    /// Its URL, over TLS by the name of its certificate.
    pub fn url(&self) -> String {
        match self.scheme {
            "https" => format!("https://localhost:{}/hook", self.address.port()),
            scheme => format!("{scheme}://{}/hook", self.address),
        }
    }

    /// All notifications so far.
    pub fn notifications(&self) -> Vec<Notification> {
        self.notifications.lock().clone()
    }

    /// Waits for a notification whose body contains `text`.
    ///
    /// # Errors
    /// When it was not within [`PATIENCE`].
    pub async fn until_notified(&self, text: &str) -> anyhow::Result<Notification> {
        poll(PATIENCE, || async {
            let notifications = self.notifications();
            let found = notifications.iter().find(|(_, body)| body.contains(text));
            ensure!(found.is_some(), "{text:?} is not in {notifications:?}");
            found.cloned().context("just found")
        })
        .await
    }
}

async fn read(mut connection: impl AsyncRead + AsyncWrite + Unpin, all: &Mutex<Vec<Notification>>) -> anyhow::Result<()> {
    let mut bytes = Vec::new();
    loop {
        let read = connection.read_buf(&mut bytes).await?;
        ensure!(read > 0, "broken off");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        if body.len() < length.unwrap_or(0) {
            continue;
        }
        all.lock().push((head.to_owned(), body.to_owned()));
        if let Some(target) = head.strip_prefix("CONNECT ").and_then(|rest| rest.split(' ').next()) {
            let mut target = TcpStream::connect(target).await?;
            connection.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await?;
            copy_bidirectional(&mut connection, &mut target).await?;
        } else {
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await?;
            connection.shutdown().await?;
        }
        return Ok(());
    }
}
