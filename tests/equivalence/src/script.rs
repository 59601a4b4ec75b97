//! A backend that answers with prepared bytes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

/// An answer as it goes over the wire.
#[derive(Debug, Clone)]
pub struct Script {
    /// All bytes, to a GET.
    pub bytes: Vec<u8>,
    /// How many of them are the head.
    pub head: usize,
    /// The connection ends with it.
    pub closes: bool,
    /// It ends before it is complete, or does not say where it ends.
    pub is_cut: bool,
}

/// Starts a backend on a loopback port of its own, which answers a request for `/N` with the script of that number. It runs as long as the
/// process.
///
/// # Errors
/// No port can be listened on.
pub fn start(scripts: Arc<Vec<Script>>) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let scripts = Arc::clone(&scripts);
            // A connection that NGINX closes ends with an error like any other.
            thread::spawn(move || serve(&scripts, stream));
        }
    });
    Ok(address)
}

fn serve(scripts: &[Script], stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let (head_only, number) = (line.starts_with("HEAD "), number(&line));
        let mut length = 0;
        while line != "\r\n" {
            line.clear();
            if reader.read_line(&mut line)? == 0 {
                return Ok(());
            }
            if let Some(value) = line.strip_prefix("Content-Length: ") {
                length = value.trim_end().parse().unwrap_or_default();
            }
        }
        std::io::copy(&mut (&mut reader).take(length), &mut std::io::sink())?;
        let script = &scripts[number.unwrap_or_default()];
        writer.write_all(if head_only { &script.bytes[..script.head] } else { &script.bytes })?;
        if script.closes {
            return Ok(());
        }
    }
}

/// The number in a request line such as `GET /12?x HTTP/1.1`.
fn number(line: &str) -> Option<usize> {
    line.split(['/', '?', ' ']).nth(2)?.parse().ok()
}
