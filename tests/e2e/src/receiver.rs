//! Something that is told things over HTTP and remembers them.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use anyhow::{Context, ensure};
use testkit::poll;
use testkit::ports::Ports;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::PATIENCE;

/// A request: its head and its body.
pub type Told = (String, String);

/// Answers every request with 200. Dropping it ends it.
pub struct Receiver {
    address: SocketAddr,
    told: Arc<Mutex<Vec<Told>>>,
    _task: JoinSet<()>,
}

impl Receiver {
    /// Starts one on a port of its own.
    ///
    /// # Errors
    /// The port can't be listened on.
    pub async fn start() -> anyhow::Result<Self> {
        let address: SocketAddr = (Ipv4Addr::LOCALHOST, Ports::one()?).into();
        let listener = TcpListener::bind(address).await?;
        let told = Arc::new(Mutex::new(Vec::new()));
        let (mut task, all) = (JoinSet::new(), told.clone());
        task.spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                // One that breaks off told nothing.
                if let Ok(one) = read(connection).await {
                    all.lock().expect("nobody panics with it").push(one);
                }
            }
        });
        Ok(Self { address, told, _task: task })
    }

    /// Where it listens.
    pub fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// All that it was told.
    pub fn told(&self) -> Vec<Told> {
        self.told.lock().expect("nobody panics with it").clone()
    }

    /// Waits until it was told something whose body contains `text`.
    ///
    /// # Errors
    /// It was not within [`PATIENCE`].
    pub async fn until_told(&self, text: &str) -> anyhow::Result<Told> {
        poll(PATIENCE, || async {
            let told = self.told();
            let found = told.iter().find(|(_, body)| body.contains(text));
            ensure!(found.is_some(), "{text:?} is not in {told:?}");
            found.cloned().context("just found")
        })
        .await
    }
}

async fn read(mut connection: TcpStream) -> anyhow::Result<Told> {
    let mut bytes = Vec::new();
    loop {
        let read = connection.read_buf(&mut bytes).await?;
        ensure!(read > 0, "broken off");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let length = head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length:")?.trim().parse().ok());
        if body.len() >= length.unwrap_or(0) {
            connection.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").await?;
            return Ok((head.to_owned(), body.to_owned()));
        }
    }
}
