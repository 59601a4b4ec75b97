//! A FastCGI responder that answers with its parameters, a line `NAME=value` each, and `stdin_bytes=N`. The script
//! `/status/CODE` answers with this status.

use std::net::SocketAddr;

use anyhow::{Context, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const END_REQUEST: u8 = 3;
const PARAMS: u8 = 4;
const STDIN: u8 = 5;
const STDOUT: u8 = 6;

/// A running responder. Dropping it ends it.
#[derive(Debug)]
pub struct Server {
    address: SocketAddr,
    task: JoinHandle<()>,
}

impl Server {
    /// Starts one.
    ///
    /// # Errors
    /// The address can't be bound.
    pub async fn start(address: SocketAddr) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address).await.with_context(|| format!("FastCGI server cannot listen on {address}"))?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Ok(Self { address, task })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One request over one connection.
async fn serve(mut stream: TcpStream) -> anyhow::Result<()> {
    let (mut params, mut stdin_bytes) = (Vec::new(), 0);
    let id = loop {
        let (kind, id, content) = record(&mut stream).await?;
        match kind {
            PARAMS => params.extend(content),
            STDIN if content.is_empty() => break id,
            STDIN => stdin_bytes += content.len(),
            _ => {}
        }
    };
    let params = pairs(&params)?;
    let asked = params.iter().find(|(name, _)| name == "SCRIPT_NAME").and_then(|(_, path)| path.strip_prefix("/status/"));
    let status = asked.map(|status| format!("Status: {status}\r\n")).unwrap_or_default();
    let mut lines: Vec<String> = params.into_iter().map(|(name, value)| format!("{name}={value}\n")).collect();
    lines.sort();
    let answer = format!("{status}Content-Type: text/plain\r\n\r\n{}stdin_bytes={stdin_bytes}\n", lines.concat());
    for chunk in answer.as_bytes().chunks(0xfff0) {
        write(&mut stream, STDOUT, id, chunk).await?;
    }
    write(&mut stream, STDOUT, id, &[]).await?;
    write(&mut stream, END_REQUEST, id, &[0; 8]).await
}

/// Type, request id and content of the next record.
async fn record(stream: &mut TcpStream) -> anyhow::Result<(u8, u16, Vec<u8>)> {
    let mut head = [0; 8];
    stream.read_exact(&mut head).await?;
    let [version, kind, id_high, id_low, length_high, length_low, padding, _] = head;
    ensure!(version == 1, "FastCGI version {version}");
    let length = usize::from(u16::from_be_bytes([length_high, length_low]));
    let mut content = vec![0; length + usize::from(padding)];
    stream.read_exact(&mut content).await?;
    content.truncate(length);
    Ok((kind, u16::from_be_bytes([id_high, id_low]), content))
}

async fn write(stream: &mut TcpStream, kind: u8, id: u16, content: &[u8]) -> anyhow::Result<()> {
    let ([id_high, id_low], [high, low]) = (id.to_be_bytes(), u16::try_from(content.len())?.to_be_bytes());
    stream.write_all(&[&[1, kind, id_high, id_low, high, low, 0, 0], content].concat()).await?;
    Ok(())
}

/// Names and values; each length is one byte, or four with the highest bit set.
fn pairs(mut bytes: &[u8]) -> anyhow::Result<Vec<(String, String)>> {
    let mut pairs = Vec::new();
    while !bytes.is_empty() {
        let (name, value) = (length(&mut bytes)?, length(&mut bytes)?);
        let text = |bytes: &mut &[u8], length: usize| -> anyhow::Result<String> {
            let (taken, rest) = bytes.split_at_checked(length).context("a parameter ends early")?;
            *bytes = rest;
            Ok(String::from_utf8_lossy(taken).into_owned())
        };
        pairs.push((text(&mut bytes, name)?, text(&mut bytes, value)?));
    }
    Ok(pairs)
}

fn length(bytes: &mut &[u8]) -> anyhow::Result<usize> {
    let (first, rest) = bytes.split_first().context("a length is missing")?;
    if first & 0x80 == 0 {
        *bytes = rest;
        return Ok(usize::from(*first));
    }
    let (long, rest) = bytes.split_at_checked(4).context("a length ends early")?;
    *bytes = rest;
    Ok(usize::try_from(u32::from_be_bytes([long[0] & 0x7f, long[1], long[2], long[3]]))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_have_one_byte_or_four() {
        let long = "v".repeat(300);
        let bytes = [&[1, 2][..], b"ab1", &[1, 0x80, 0, 1, 44], b"c", long.as_bytes()].concat();
        let pairs = pairs(&bytes).unwrap();
        assert_eq!(pairs, [("a".to_owned(), "b1".to_owned()), ("c".to_owned(), long)]);
        assert!(super::pairs(&[5, 0, 1]).is_err());
    }

    #[tokio::test]
    async fn a_request_is_answered_with_its_parameters() {
        let server = Server::start(([127, 0, 0, 1], 0).into()).await.unwrap();
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        write(&mut stream, 1, 7, &[0, 1, 0, 0, 0, 0, 0, 0]).await.unwrap();
        write(&mut stream, PARAMS, 7, b"\x01\x01ab").await.unwrap();
        write(&mut stream, PARAMS, 7, b"").await.unwrap();
        write(&mut stream, STDIN, 7, b"hello").await.unwrap();
        write(&mut stream, STDIN, 7, b"").await.unwrap();
        let (kind, id, content) = record(&mut stream).await.unwrap();
        assert_eq!((kind, id, &content[..]), (STDOUT, 7, &b"Content-Type: text/plain\r\n\r\na=b\nstdin_bytes=5\n"[..]));
    }
}
