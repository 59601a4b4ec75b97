//! Requests a second beside a plain NGINX proxy, in alternating rounds.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};

/// A plain NGINX that proxies everything to one endpoint with keepalive: the best that NGINX itself does.
pub struct Plain(Child);

impl Plain {
    /// Starts one.
    ///
    /// # Errors
    /// It can't be started.
    pub fn start(dir: &Path, listen: SocketAddr, endpoint: SocketAddr, workers: usize) -> anyhow::Result<Self> {
        let d = dir.display();
        let conf = format!(
            "daemon off; worker_processes {workers}; pid {d}/plain.pid; error_log stderr crit;
events {{ worker_connections 16384; multi_accept on; }}
http {{
    access_log off;
    client_body_temp_path {d}/b; proxy_temp_path {d}/p; fastcgi_temp_path {d}/f; uwsgi_temp_path {d}/u; scgi_temp_path {d}/s;
    keepalive_requests 1000000;
    upstream backend {{ server {endpoint}; keepalive 320; keepalive_requests 1000000; }}
    server {{
        listen {listen};
        location / {{ proxy_pass http://backend; proxy_http_version 1.1; proxy_set_header Connection \"\"; proxy_set_header Host $host; proxy_buffering off; }}
    }}
}}"
        );
        let path = dir.join("plain.conf");
        std::fs::write(&path, conf)?;
        let child = Command::new("nginx").arg("-c").arg(&path).stdout(Stdio::null()).spawn().context("nginx")?;
        Ok(Self(child))
    }
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
