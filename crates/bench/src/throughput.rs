//! Requests a second beside a plain NGINX proxy, in alternating rounds.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};

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
    /// It can't be started.
    pub fn start(dir: &Path, listen: Listen, conf: &str, workers: usize) -> anyhow::Result<Self> {
        let Listen { bare, alike, backend } = listen;
        let d = dir.display();
        let headers: String =
            conf.lines().filter(|line| line.trim().starts_with("proxy_set_header ")).map(|line| format!("{line}\n")).collect();
        let headers = headers.replace("$narthex_vhost", "$best_http_host");
        let maps = between(conf, "    map $http_upgrade ", "    ssl_protocols").context("the maps of nginx.conf")?;
        let log_format = between(conf, "    log_format upstreaminfo", ";").context("the log format of nginx.conf")?;
        let text = format!(
            "daemon off; worker_processes {workers}; pid {d}/plain.pid; error_log stderr crit;
events {{ worker_connections 16384; multi_accept on; }}
http {{
    access_log off;
    client_body_temp_path {d}/b; proxy_temp_path {d}/p; fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
    keepalive_requests 1000000;
    proxy_http_version 1.1; proxy_buffering off;
{maps}{log_format};
    upstream backend {{ server {backend}; keepalive 320; keepalive_requests 1000000; }}
    server {{
        listen {bare};
        location / {{ proxy_pass http://backend; proxy_set_header Connection \"\"; proxy_set_header Host $host; }}
    }}
    server {{
        listen {alike};
        access_log /dev/stdout upstreaminfo;
        set $proxy_upstream_name bench; set $proxy_alternative_upstream_name \"\";
{headers}
        location / {{ proxy_pass http://backend; }}
    }}
    server {{
        listen {backend};
        location / {{ default_type text/plain; return 200 ok; }}
    }}
}}"
        );
        let path = dir.join("plain.conf");
        std::fs::write(&path, text)?;
        let child = Command::new("nginx").arg("-c").arg(&path).stdout(Stdio::null()).spawn().context("nginx")?;
        Ok(Self(child))
    }
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
