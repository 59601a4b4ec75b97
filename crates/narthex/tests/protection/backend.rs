//! A backend that counts the requests that should not have reached it.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The header that requests with credentials have besides these.
pub(crate) const INVITED: &str = "X-Invited";

pub(crate) struct Backend {
    pub(crate) address: SocketAddr,
    uninvited: Arc<AtomicU64>,
}

impl Backend {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let uninvited = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&uninvited);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&counter)));
            }
        });
        Self { address, uninvited }
    }

    /// Number of requests that arrived without credentials.
    pub(crate) fn uninvited(&self) -> u64 {
        self.uninvited.load(Ordering::SeqCst)
    }
}

async fn serve(mut stream: TcpStream, uninvited: Arc<AtomicU64>) -> std::io::Result<()> {
    let mut read = Vec::new();
    while stream.read_buf(&mut read).await? > 0 {
        while let Some(end) = read.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&read[..end]).to_ascii_lowercase();
            if !head.contains(&format!("\r\n{}:", INVITED.to_ascii_lowercase())) {
                uninvited.fetch_add(1, Ordering::SeqCst);
            }
            read.drain(..end + 4);
            stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await?;
        }
    }
    Ok(())
}
