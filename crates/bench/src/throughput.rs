//! Requests a second beside a plain NGINX proxy, in alternating rounds.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};

/// What [`Plain`] runs, with `@name@` for what differs from run to run.
const PLAIN: &str = include_str!("plain.conf");

/// A plain NGINX: the references, and a backend that answers as quickly as NGINX can.
pub struct Plain(Child);

/// Where it listens.
#[derive(Debug, Clone, Copy)]
pub struct Listen {
    /// A proxy with keepalive and nothing else.
    pub bare: SocketAddr,
    /// A proxy with the headers and the access log that the controller's NGINX has, as text.
    pub alike: SocketAddr,
    /// The backend of both and of the controller.
    pub backend: SocketAddr,
}

impl Plain {
    /// Starts one. `conf` is the `nginx.conf` of the controller to be compared with.
    ///
    /// # Errors
    /// The controller's NGINX sends other headers than `plain.conf`, or NGINX can't be started.
    pub fn start(dir: &Path, listen: Listen, conf: &str, workers: usize) -> anyhow::Result<Self> {
        let text = text(dir, listen, conf, workers)?;
        let path = dir.join("plain.conf");
        std::fs::write(&path, text)?;
        let child = Command::new("nginx").arg("-c").arg(&path).stdout(Stdio::null()).spawn().context("nginx")?;
        Ok(Self(child))
    }
}

/// The configuration of the references, with the log format of `conf`.
fn text(dir: &Path, listen: Listen, conf: &str, workers: usize) -> anyhow::Result<String> {
    // Otherwise the comparison would be with something else, and nobody would notice.
    let (ours, plain) = (headers(conf), headers(PLAIN));
    ensure!(
        ours == plain,
        "the controller's NGINX sends the headers {ours:?}, crates/bench/src/plain.conf {plain:?}: they must be the same"
    );
    let log_format = between(conf, "    log_format upstreaminfo", ";").context("nginx.conf has no log format upstreaminfo")?;
    let values = [
        ("@dir@", dir.display().to_string()),
        ("@workers@", workers.to_string()),
        ("@log_format@", format!("{log_format};")),
        ("@bare@", listen.bare.to_string()),
        ("@alike@", listen.alike.to_string()),
        ("@backend@", listen.backend.to_string()),
    ];
    Ok(values.iter().fold(PLAIN.to_owned(), |text, (name, value)| text.replace(name, value)))
}

/// Names of the headers that a configuration sets in requests to backends.
fn headers(conf: &str) -> BTreeSet<&str> {
    conf.lines().filter_map(|line| line.trim().strip_prefix("proxy_set_header ")?.split(' ').next()).collect()
}

/// The text from `start` (included) to `end` (excluded).
fn between<'a>(text: &'a str, start: &str, end: &str) -> Option<&'a str> {
    let from = text.find(start)?;
    let length = text[from..].find(end)?;
    Some(&text[from..from + length])
}

impl Drop for Plain {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}

/// Requests a second by wrk over 32 connections.
///
/// # Errors
/// wrk is missing or saw errors.
pub fn requests_a_second(address: SocketAddr, host: &str, duration: Duration) -> anyhow::Result<f64> {
    let output = Command::new("wrk")
        .args(["-t1", "-c32", &format!("-d{}s", duration.as_secs()), "-H", &format!("Host: {host}"), &format!("http://{address}/")])
        .output()
        .context("wrk is missing: apt-get install wrk")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(!text.contains("Non-2xx"), "wrk saw failures: {text}");
    let line = text.lines().find_map(|line| line.strip_prefix("Requests/sec:")).with_context(|| text.clone())?;
    Ok(line.trim().parse()?)
}
