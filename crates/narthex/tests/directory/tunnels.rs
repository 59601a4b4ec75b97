//! Websockets through NGINX: connections that outlive the worker's configuration, with bytes that go both ways all the time.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::Context;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// Between two messages of one tunnel.
const PAUSE: Duration = Duration::from_millis(100);

/// Answers each request with 101, and then each byte with itself.
pub(crate) async fn echo(address: SocketAddr) {
    let listener = TcpListener::bind(address).await.unwrap();
    tokio::spawn(async move {
        loop {
            let Ok((mut stream, _)) = listener.accept().await else { return };
            tokio::spawn(async move {
                head(&mut stream).await?;
                stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n").await?;
                let (mut from, mut to) = stream.split();
                tokio::io::copy(&mut from, &mut to).await
            });
        }
    });
}

/// A head of HTTP, with nothing read behind it.
async fn head(stream: &mut TcpStream) -> io::Result<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await?);
    }
    Ok(String::from_utf8_lossy(&head).into_owned())
}

/// Open tunnels. Each sends, and reads what comes back, until it is dropped.
pub(crate) struct Tunnels {
    tasks: JoinSet<anyhow::Error>,
    answered: Arc<AtomicU64>,
}

impl Tunnels {
    pub(crate) async fn open(address: SocketAddr, host: &str, count: usize) -> Self {
        let mut tunnels = Self { tasks: JoinSet::new(), answered: Arc::default() };
        for _ in 0..count {
            let mut stream = TcpStream::connect(address).await.unwrap();
            let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n");
            stream.write_all(request.as_bytes()).await.unwrap();
            let head = head(&mut stream).await.unwrap();
            assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
            let answered = tunnels.answered.clone();
            tunnels.tasks.spawn(async move {
                match talk(stream, &answered).await {
                    Ok(never) => match never {},
                    Err(error) => error,
                }
            });
        }
        tunnels
    }

    /// Messages that came back so far.
    pub(crate) fn answered(&self) -> u64 {
        self.answered.load(Ordering::Relaxed)
    }

    /// Fails if one of them ended.
    pub(crate) fn check(&mut self) -> anyhow::Result<()> {
        match self.tasks.try_join_next() {
            Some(error) => Err(error?),
            None => Ok(()),
        }
    }
}

async fn talk(mut stream: TcpStream, answered: &AtomicU64) -> anyhow::Result<std::convert::Infallible> {
    let mut ticks = tokio::time::interval(PAUSE);
    let mut number = 0_u64;
    loop {
        ticks.tick().await;
        stream.write_all(&number.to_be_bytes()).await.context("a websocket ended")?;
        let back = stream.read_u64().await.context("a websocket ended")?;
        anyhow::ensure!(back == number, "{number} was sent, {back} came back");
        answered.fetch_add(1, Ordering::Relaxed);
        number += 1;
    }
}
