//! Backends that answer with the very bytes they got: an HTTP library would refuse or tidy up what is to be compared.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

const CHANGEABLE: &str = "Set-Cookie: a=b;Domain=localhost; Path=/one/two\r\nLocation: /one/x\r\nRefresh: 5; url=http://in/x\r\n";

/// Starts a backend on a loopback port of its own. It runs as long as the process.
///
/// Its answer is its name on a line, then head and body of the request; some of its headers are such as NGINX may change. The status is 200, or that
/// of a path with `/status/404`; a path that begins with `/check/` is answered with the head of the request in `X-Seen`.
///
/// # Errors
/// No port can be listened on.
pub fn start(name: &str) -> std::io::Result<SocketAddr> {
    let listener = TcpListener::bind(("127.0.0.1", 0))?;
    let address = listener.local_addr()?;
    let name = name.to_owned();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let name = name.clone();
            // A connection that NGINX closes ends with an error like any other.
            thread::spawn(move || serve(&name, stream));
        }
    });
    Ok(address)
}

fn serve(name: &str, stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut writer = stream.try_clone()?;
    let mut reader = BufReader::new(stream);
    loop {
        let mut seen = format!("backend {name}\n").into_bytes();
        let (mut length, mut head_only, mut first) = (0, false, true);
        loop {
            let from = seen.len();
            if reader.read_until(b'\n', &mut seen)? == 0 {
                return Ok(());
            }
            let line = seen[from..].to_ascii_lowercase();
            head_only |= first && line.starts_with(b"head ");
            first = false;
            if let Some(value) = line.strip_prefix(b"content-length:") {
                length = String::from_utf8_lossy(value).trim().parse().unwrap_or(0);
            }
            if line == b"\r\n" {
                break;
            }
        }
        let head = String::from_utf8_lossy(&seen).into_owned();
        (&mut reader).take(length).read_to_end(&mut seen)?;
        let mut answer =
            format!("HTTP/1.1 {} Text\r\n{CHANGEABLE}{}Content-Length: {}\r\n\r\n", status(&head), shown(&head), seen.len()).into_bytes();
        if !head_only {
            answer.extend(seen);
        }
        writer.write_all(&answer)?;
    }
}

/// The status that the path asks for.
fn status(head: &str) -> u16 {
    let target = head.lines().nth(1).and_then(|line| line.split(' ').nth(1)).unwrap_or_default();
    let wanted = target.split_once("/status/").and_then(|(_, rest)| rest.get(..3)?.parse().ok());
    wanted.filter(|status| (200..600).contains(status)).unwrap_or(200)
}

/// The header with the whole head, in order, for a request to check another one.
fn shown(head: &str) -> String {
    let mut lines: Vec<&str> = head.lines().skip(1).filter(|line| !line.is_empty()).collect();
    if !lines.first().is_some_and(|line| line.contains(" /check/")) {
        return String::new();
    }
    lines.sort_unstable();
    // More would not fit into the buffer for headers.
    let text: String = lines.join("|").chars().filter(char::is_ascii).take(1500).collect();
    format!("X-Seen: {text}\r\n")
}
