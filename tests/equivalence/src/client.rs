//! Sends bytes and reads answers, over a connection that is kept while the server keeps it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::Context;

use crate::requests::Request;

/// No answer takes as long unless something hangs.
const TIMEOUT: Duration = Duration::from_secs(20);

/// An answer. Header lines are sorted, and those that say nothing about the decision (`Date`) are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Status code.
    pub status: u16,
    /// `name: value`, names in lower case.
    pub headers: Vec<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// Value of a header, by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    /// Replaces a text wherever it stands.
    #[must_use]
    pub fn replaced(mut self, from: &str, to: &str) -> Self {
        self.headers.iter_mut().for_each(|line| *line = line.replace(from, to));
        let body = String::from_utf8(self.body);
        self.body = body.map_or_else(|error| error.into_bytes(), |text| text.replace(from, to).into_bytes());
        self
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.status)?;
        for line in &self.headers {
            write!(f, "\n    {}", line.escape_debug())?;
        }
        for line in self.body.escape_ascii().to_string().split("\\n") {
            write!(f, "\n    | {line}")?;
        }
        Ok(())
    }
}

/// A client of one server.
#[derive(Debug)]
pub struct Client {
    server: SocketAddr,
    open: Option<BufReader<TcpStream>>,
}

impl Client {
    /// A client that has not connected yet.
    pub const fn new(server: SocketAddr) -> Self {
        Self { server, open: None }
    }

    /// Sends a request and reads its answer.
    ///
    /// # Errors
    /// There is no answer, or it is not one that NGINX gives.
    pub fn send(&mut self, request: &Request) -> anyhow::Result<Answer> {
        let mut stream = match self.open.take() {
            Some(stream) => stream,
            None => self.connect().with_context(|| format!("connect to {}", self.server))?,
        };
        stream.get_ref().write_all(&request.bytes)?;
        let (answer, keep) = read(&mut stream, request.head_only)?;
        if keep {
            self.open = Some(stream);
        }
        Ok(answer)
    }

    fn connect(&self) -> std::io::Result<BufReader<TcpStream>> {
        let stream = TcpStream::connect(self.server)?;
        stream.set_nodelay(true)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        Ok(BufReader::new(stream))
    }
}

fn read(stream: &mut BufReader<TcpStream>, head_only: bool) -> anyhow::Result<(Answer, bool)> {
    let first = line(stream)?;
    let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
    let mut answer = Answer { status: status.with_context(|| format!("{first:?} is no status line"))?, ..Answer::default() };
    loop {
        let line = line(stream)?;
        let Some((name, value)) = line.split_once(':') else { break };
        let name = name.to_ascii_lowercase();
        if name != "date" {
            answer.headers.push(format!("{name}: {}", value.trim_start()));
        }
    }
    answer.headers.sort();
    anyhow::ensure!(answer.header("transfer-encoding").is_none(), "an answer of unknown length was not expected: {answer}");
    let keep = answer.header("connection") == Some("keep-alive");
    match answer.header("content-length") {
        _ if head_only || status == Some(204) => {}
        Some(length) => {
            answer.body.resize(length.parse()?, 0);
            stream.read_exact(&mut answer.body)?;
        }
        None => {
            anyhow::ensure!(!keep, "the length of an answer is not known: {answer}");
            stream.read_to_end(&mut answer.body)?;
        }
    }
    Ok((answer, keep))
}

/// A line without its end, each byte as one character: a `Location` may hold bytes that are not UTF-8.
fn line(stream: &mut BufReader<TcpStream>) -> anyhow::Result<String> {
    let mut line = Vec::new();
    stream.read_until(b'\n', &mut line)?;
    anyhow::ensure!(line.ends_with(b"\r\n"), "the connection ended within a line: {:?}", line.escape_ascii().to_string());
    Ok(line[..line.len() - 2].iter().map(|byte| char::from(*byte)).collect())
}
