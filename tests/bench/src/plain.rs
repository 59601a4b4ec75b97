//! Plain NGINX proxies to compare with, and a quick backend.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use testkit::kube::Certificate;

const HEAD: &str = include_str!("plain/head.conf");
const UPSTREAM: &str = include_str!("plain/upstream.conf");
const BARE: &str = include_str!("plain/bare.conf");
const ALIKE: &str = include_str!("plain/alike.conf");
const BACKEND: &str = include_str!("plain/backend.conf");

/// Plain NGINX: the references, and a backend that answers as quickly as NGINX can. Each is an NGINX of its own, as a backend is in life:
/// in one process with its proxy it would be woken up together with it, which no other's is.
pub struct Plain {
    _backend: Instance,
    proxies: [Instance; PROXIES],
}

/// Bytes of the backend's answer to `/body`.
pub const BODY: usize = 16 * 1024;
/// Files of the certificate of the listener of TLS.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

/// Proxies to compare with.
pub const PROXIES: usize = 3;

/// Where they listen.
#[derive(Debug, Clone, Copy)]
pub struct Listen {
    /// A proxy with keepalive and nothing else.
    pub bare: SocketAddr,
    /// A proxy with the headers that the controller's NGINX and its predecessor's send, and without a log.
    pub headers: SocketAddr,
    /// The same by TLS.
    pub tls: SocketAddr,
    /// The same with the controller's access log: what text alone costs.
    pub alike: SocketAddr,
    /// The backend of all and of the controller.
    pub backend: SocketAddr,
}

impl Plain {
    /// Starts them. `conf` is the `nginx.conf` of the controller to be compared with, `workers` how many it has, `certificate` that of
    /// the listener of TLS, whose other settings are those of `conf`.
    ///
    /// # Errors
    /// The controller's NGINX sends other headers than `plain/alike.conf`, or NGINX can't be started.
    pub fn start(dir: &Path, listen: Listen, conf: &str, workers: usize, certificate: &Certificate) -> anyhow::Result<Self> {
        // Otherwise the comparison would be with something else, unnoticed.
        // The default profile has those of the http block; requests to authentication services come after it.
        let (ours, plain) = (headers(conf.split("\n    server {").next().unwrap_or(conf)), headers(ALIKE));
        ensure!(
            ours == plain,
            "the controller's NGINX sends the headers {ours:?}, tests/bench/src/plain/alike.conf {plain:?}: they must be the same"
        );
        let log_format = between(conf, "    log_format upstreaminfo", ";").context("nginx.conf has no log format upstreaminfo")?;
        let log = between(conf, "    access_log ", " if=").context("nginx.conf has no access log")?.trim_start_matches("    access_log ");
        let tls = listener(listen.tls, conf, dir);
        std::fs::write(dir.join(CERTIFICATE), &certificate.certificate_pem)?;
        std::fs::write(dir.join(KEY), &certificate.key_pem)?;
        let start = |name: &str, parts: &[&str], address: SocketAddr, workers: usize, log: &str| {
            let dir = dir.join(name);
            std::fs::create_dir(&dir)?;
            std::fs::write(dir.join("body"), [b'x'; BODY])?;
            let values = [
                ("@dir@", dir.display().to_string()),
                ("@workers@", workers.to_string()),
                ("@log_format@", format!("{log_format};")),
                ("@log@", log.to_owned()),
                ("@address@", address.to_string()),
                ("@tls@", if name == "headers" { tls.clone() } else { String::new() }),
                ("@backend@", listen.backend.to_string()),
            ];
            let text = values.iter().fold(parts.concat(), |text, (name, value)| text.replace(name, value));
            Instance::start(&dir.join("nginx.conf"), &text)
        };
        let backend = start("backend", &[HEAD, BACKEND], listen.backend, 1, "off")?;
        let proxies = [
            start("bare", &[HEAD, UPSTREAM, BARE], listen.bare, workers, "off")?,
            start("headers", &[HEAD, UPSTREAM, ALIKE], listen.headers, workers, "off")?,
            start("alike", &[HEAD, UPSTREAM, ALIKE], listen.alike, workers, log)?,
        ];
        Ok(Self { _backend: backend, proxies })
    }

    /// The workers of the proxies, in the order of [`Listen`].
    ///
    /// # Errors
    /// One of them has ended.
    pub fn workers(&self) -> anyhow::Result<[Vec<u32>; PROXIES]> {
        let [bare, headers, alike] = &self.proxies;
        Ok([workers(bare.0.id())?, workers(headers.0.id())?, workers(alike.0.id())?])
    }
}

/// A listener of TLS with the settings of a controller's `nginx.conf`, and with its certificate in the configuration.
fn listener(address: SocketAddr, conf: &str, dir: &Path) -> String {
    let settings = conf.lines().filter(|line| line.starts_with("    ssl_") && !line.contains("certificate"));
    let files = [("ssl_certificate", CERTIFICATE), ("ssl_certificate_key", KEY)];
    let files = files.map(|(directive, file)| format!("{directive} {};", dir.join(file).display()));
    std::iter::once(format!("listen {address} ssl http2 reuseport;")).chain(files).chain(settings.map(str::to_owned)).collect()
}

/// The children of a master.
fn workers(master: u32) -> anyhow::Result<Vec<u32>> {
    let children = std::fs::read_to_string(format!("/proc/{master}/task/{master}/children"))?;
    Ok(children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect())
}

/// A running NGINX. Dropping it ends it.
struct Instance(Child);

impl Instance {
    fn start(path: &Path, text: &str) -> anyhow::Result<Self> {
        std::fs::write(path, text)?;
        Ok(Self(Command::new("nginx").arg("-c").arg(path).stdout(Stdio::null()).spawn().context("nginx")?))
    }
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

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.0.id().to_string()).status();
        let _ = self.0.wait();
    }
}
