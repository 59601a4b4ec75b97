//! Connections that stay open: upgraded ones, as those of WebSockets, whose bytes come back.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

/// Between two messages of a client.
const PAUSE: Duration = Duration::from_millis(200);
/// Longest time until a message is back.
const ECHO: Duration = Duration::from_secs(10);
const MESSAGE: &[u8; 8] = b"message\n";

/// A server that upgrades every connection and sends back what it gets. Dropping it ends it.
#[derive(Debug)]
pub struct Server(JoinHandle<()>);

impl Server {
    /// Starts one.
    ///
    /// # Errors
    /// The address can't be bound.
    pub async fn start(address: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| format!("cannot listen on {address}"))?;
        Ok(Self(tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                connections.spawn(serve(stream));
            }
        })))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn serve(stream: TcpStream) -> anyhow::Result<()> {
    let mut stream = BufReader::new(stream);
    head(&mut stream).await?;
    stream.write_all(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n").await?;
    let (mut read, mut write) = stream.get_mut().split();
    tokio::io::copy(&mut read, &mut write).await?;
    Ok(())
}

/// The first line of a head; the rest is read as well.
async fn head(stream: &mut BufReader<TcpStream>) -> anyhow::Result<String> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        ensure!(stream.read_line(&mut head).await? > 0, "the connection ended within a head: {head:?}");
    }
    Ok(head.lines().next().unwrap_or_default().to_owned())
}

/// The end of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StreamEnd {
    /// By the client, after its time.
    Done,
    /// By the server, or what is between, at this time.
    Closed(Instant),
}

/// Opens a connection to `peer`, upgrades it, and sends messages for this long, each after the one before it came back.
///
/// # Errors
/// No connection, no upgrade, or a message that does not come back as it was.
pub async fn run(peer: SocketAddr, host: &str, time: Duration) -> anyhow::Result<StreamEnd> {
    let stream = TcpStream::connect(peer).await.with_context(|| format!("connect to {peer}"))?;
    let mut stream = BufReader::new(stream);
    let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let status = head(&mut stream).await.with_context(|| format!("upgrade at {peer}"))?;
    ensure!(status.contains(" 101 "), "{peer} answers {status:?} to an upgrade");
    let end = Instant::now() + time;
    while Instant::now() < end {
        let mut back = [0; MESSAGE.len()];
        let exchange = async {
            stream.write_all(MESSAGE).await?;
            stream.read_exact(&mut back).await
        };
        match tokio::time::timeout(ECHO, exchange).await {
            Ok(Ok(_)) => ensure!(back == *MESSAGE, "{peer} sends {back:?} back"),
            Ok(Err(_)) => return Ok(StreamEnd::Closed(Instant::now())),
            Err(_) => bail!("{peer} sends no message back within {ECHO:?}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
    Ok(StreamEnd::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_stream_lasts_as_long_as_it_is_to_unless_the_server_ends() {
        let address = SocketAddr::from(([127, 0, 0, 1], crate::ports::Ports::one().unwrap()));
        let server = Server::start(address).await.unwrap();
        assert_eq!(run(address, "a", Duration::from_millis(10)).await.unwrap(), StreamEnd::Done);
        let long = tokio::spawn(run(address, "a", Duration::from_secs(60)));
        crate::poll(Duration::from_secs(10), || async { run(address, "a", Duration::ZERO).await }).await.unwrap();
        drop(server);
        assert!(matches!(long.await.unwrap().unwrap(), StreamEnd::Closed(_)));
    }
}
