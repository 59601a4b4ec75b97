//! A Prometheus of Debian's package, with a target as a ServiceMonitor makes it.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use anyhow::{Context, ensure};
use e2e::{Controller, PATIENCE};
use serde_json::Value;
use testkit::http::Request;
use testkit::poll;
use testkit::ports::Ports;

/// A running Prometheus. Dropping the last clone ends it.
#[derive(Clone)]
pub(super) struct Prometheus {
    address: SocketAddr,
    _process: Arc<Process>,
}

struct Process {
    child: Child,
    _files: tempfile::TempDir,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Prometheus {
    /// One that scrapes a controller every second.
    pub(super) async fn scraping(controller: &Controller, namespace: &str) -> anyhow::Result<Self> {
        let files = tempfile::tempdir()?;
        let config = format!(
            "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\n\
             scrape_configs:\n\
             - job_name: narthex-controller-metrics\n\
             \x20 static_configs:\n\
             \x20 - targets: ['{}']\n\
             \x20   labels: {{namespace: '{namespace}', service: narthex-controller-metrics, pod: pod-1, endpoint: metrics}}\n",
            controller.health()
        );
        let path = files.path().join("prometheus.yml");
        std::fs::write(&path, config)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, Ports::one()?));
        let log = std::fs::File::create(files.path().join("log"))?;
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", path.display()))
            .arg(format!("--storage.tsdb.path={}", files.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("prometheus: run scripts/setup.sh prometheus")?;
        let process = Process { child, _files: files };
        let prometheus = Self { address, _process: Arc::new(process) };
        poll(PATIENCE, || async {
            ensure!(prometheus.has_data("up == 1").await?, "the target is not scraped yet");
            Ok(())
        })
        .await?;
        Ok(prometheus)
    }

    /// Whether a query has a result with a number.
    pub(super) async fn has_data(&self, query: &str) -> anyhow::Result<bool> {
        let body = format!("query={}", escaped(query));
        let request = Request::new("POST", self.address, "/api/v1/query").host("localhost").body(body);
        let answer = request.header("Content-Type", "application/x-www-form-urlencoded").send().await?;
        let answer: Value = serde_json::from_slice(&answer.body).context("no JSON")?;
        ensure!(answer["status"] == "success", "{answer}");
        let results = answer["data"]["result"].as_array().context("no result")?;
        Ok(results.iter().any(|result| result["value"][1].as_str().is_some_and(|value| value != "NaN")))
    }
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
