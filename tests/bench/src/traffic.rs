//! Kinds of traffic, and what a request of each costs a proxy.

use std::io::Write;
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use testkit::handshakes::Handshakes;
use tokio::task::JoinSet;

use crate::controller::cpu;

/// Requests of wrk with a body.
const UPLOAD: &str = include_str!("plain/upload.lua");

/// Clients that make connections of TLS at the same time.
const CLIENTS: usize = 16;

/// Requests of one run of h2load, over four connections.
const STREAMS: u32 = 3_600;

/// A kind of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// Requests and answers of a few bytes, over 32 connections.
    Small,
    /// Answers of 16 KiB, over 32 connections.
    Bodies,
    /// Requests with 64 KiB, over 32 connections.
    Uploads,
    /// HTTP/2 by TLS: 100 streams in each of 4 connections.
    Streams,
    /// Full handshakes of TLS by 16 clients at a time, and nothing after them.
    Handshakes,
    /// Connections of TLS by 16 clients at a time, each with a full handshake and one request.
    Connections,
    /// The same with the session of the client's connection before.
    Resumed,
}

impl Traffic {
    /// All but [`Traffic::Small`], with the name of each in the table.
    pub const OTHERS: [(Self, &str); 6] = [
        (Self::Bodies, "a request with an answer of 16 KiB"),
        (Self::Uploads, "an upload of 64 KiB"),
        (Self::Streams, "a request of HTTP/2, 100 streams"),
        (Self::Handshakes, "a full handshake of TLS without a request, 16 at a time"),
        (Self::Connections, "a connection of TLS, full handshake, with one request, 16 at a time"),
        (Self::Resumed, "a connection of TLS, resumed, with one request, 16 at a time"),
    ];
}

/// A proxy under measurement.
#[derive(Debug, Clone)]
pub struct Proxy {
    /// Its listener of HTTP.
    pub http: SocketAddr,
    /// Its listener of HTTPS.
    pub https: SocketAddr,
    /// Its worker processes.
    pub workers: Vec<u32>,
}

/// A round of requests.
#[derive(Debug, Clone, Copy)]
pub struct Round {
    /// Requests a second.
    pub rate: f64,
    /// Microseconds of CPU of the workers a request.
    pub cost: f64,
}

impl Proxy {
    /// Requests for `host` during `duration`.
    ///
    /// # Errors
    /// wrk or h2load is missing or saw errors, a handshake failed, or a worker has ended.
    pub async fn round(&self, traffic: Traffic, host: &str, duration: Duration) -> anyhow::Result<Round> {
        let (before, began) = (self.spent()?, Instant::now());
        let count = match traffic {
            Traffic::Small => wrk(self.http, host, "/", None, duration)?,
            Traffic::Bodies => wrk(self.http, host, "/body", None, duration)?,
            Traffic::Uploads => wrk(self.http, host, "/", Some(UPLOAD), duration)?,
            Traffic::Streams => h2load(self.https, host, duration)?,
            Traffic::Handshakes => handshakes(self.https, &|| Handshakes::new(host, false, false), duration).await?,
            Traffic::Connections => handshakes(self.https, &|| Handshakes::new(host, false, true), duration).await?,
            Traffic::Resumed => handshakes(self.https, &|| Handshakes::new(host, true, true), duration).await?,
        };
        let spent = self.spent()? - before;
        Ok(Round { rate: count / began.elapsed().as_secs_f64(), cost: spent.as_secs_f64() * 1e6 / count })
    }

    fn spent(&self) -> anyhow::Result<Duration> {
        self.workers.iter().map(|pid| cpu(*pid)).sum()
    }
}

/// Connections that clients made.
async fn handshakes(address: SocketAddr, client: &dyn Fn() -> anyhow::Result<Handshakes>, duration: Duration) -> anyhow::Result<f64> {
    let mut clients = JoinSet::new();
    for _ in 0..CLIENTS {
        let client = client()?;
        clients.spawn(async move { client.during(address, duration).await });
    }
    let mut count = 0;
    while let Some(made) = clients.join_next().await {
        count += made??;
    }
    Ok(count as f64)
}

/// Requests that wrk made.
fn wrk(address: SocketAddr, host: &str, path: &str, script: Option<&str>, duration: Duration) -> anyhow::Result<f64> {
    let mut command = Command::new("wrk");
    command.args(["-t1", "-c32", &format!("-d{}s", duration.as_secs()), "-H", &format!("Host: {host}")]);
    let file = script.map(scripted).transpose()?;
    if let Some(file) = &file {
        command.arg("-s").arg(file.path());
    }
    let output = command.arg(format!("http://{address}{path}")).output().context("wrk is missing: apt-get install wrk")?;
    let text = String::from_utf8_lossy(&output.stdout);
    ensure!(!text.contains("Non-2xx") && !text.contains("Socket errors"), "wrk saw failures: {text}");
    number(text.lines().find_map(|line| line.trim().split_once(" requests in ")).map(|(count, _)| count), &text)
}

fn scripted(script: &str) -> anyhow::Result<tempfile::NamedTempFile> {
    let mut file = tempfile::NamedTempFile::new()?;
    file.write_all(script.as_bytes())?;
    Ok(file)
}

/// Requests that h2load made. It is started again and again: NGINX ends a connection after 1,000 requests, and h2load opens no other.
fn h2load(address: SocketAddr, host: &str, duration: Duration) -> anyhow::Result<f64> {
    let began = Instant::now();
    let mut count = 0;
    while began.elapsed() < duration {
        let output = Command::new("h2load")
            .args(["-t1", "-c4", "-m100", &format!("-n{STREAMS}"), &format!("--connect-to={address}")])
            .arg(format!("https://{host}/"))
            .output()
            .context("h2load is missing: apt-get install nghttp2-client")?;
        let text = String::from_utf8_lossy(&output.stdout);
        let good = text.lines().any(|line| line.starts_with(&format!("status codes: {STREAMS} 2xx")));
        ensure!(good, "h2load saw failures: {text}");
        count += STREAMS;
    }
    Ok(f64::from(count))
}

fn number(found: Option<&str>, text: &str) -> anyhow::Result<f64> {
    let found = found.with_context(|| text.to_owned())?;
    found.trim().parse().with_context(|| text.to_owned())
}
