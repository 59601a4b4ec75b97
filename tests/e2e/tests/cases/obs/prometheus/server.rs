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
        Self::scraping_all(&[("narthex-controller-metrics", controller.health())], namespace, &[]).await
    }

    /// One that scrapes targets, each as a job of its own, with further flags.
    pub(super) async fn scraping_all(targets: &[(&str, SocketAddr)], namespace: &str, flags: &[&str]) -> anyhow::Result<Self> {
        let files = tempfile::tempdir()?;
        let mut config = "global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n".to_owned();
        for (job, target) in targets {
            config += &format!(
                "- job_name: {job}\n\
                 \x20 static_configs:\n\
                 \x20 - targets: ['{target}']\n\
                 \x20   labels: {{namespace: '{namespace}', service: narthex-controller-metrics, pod: pod-1, endpoint: metrics}}\n"
            );
        }
        let path = files.path().join("prometheus.yml");
        std::fs::write(&path, config)?;
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, Ports::one()?));
        let log = std::fs::File::create(files.path().join("log"))?;
        let child = Command::new("prometheus")
            .arg(format!("--config.file={}", path.display()))
            .arg(format!("--storage.tsdb.path={}", files.path().join("data").display()))
            .arg(format!("--web.listen-address={address}"))
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .context("prometheus: run scripts/setup.sh prometheus")?;
        let process = Process { child, _files: files };
        let prometheus = Self { address, _process: Arc::new(process) };
        poll(PATIENCE, || async {
            ensure!(prometheus.has_data(&format!("count(up == 1) == {}", targets.len())).await?, "the targets are not scraped yet");
            Ok(())
        })
        .await?;
        Ok(prometheus)
    }

    /// The field `data` of an answer of the API.
    pub(super) async fn data(&self, path: &str, pairs: &[(&str, &str)]) -> anyhow::Result<Value> {
        let body: Vec<String> = pairs.iter().map(|(name, value)| format!("{}={}", escaped(name), escaped(value))).collect();
        let request = Request::new("POST", self.address, format!("/api/v1/{path}")).host("localhost").body(body.join("&"));
        let answer = request.header("Content-Type", "application/x-www-form-urlencoded").send().await?;
        let answer: Value = serde_json::from_slice(&answer.body).context("no JSON")?;
        ensure!(answer["status"] == "success", "{answer}");
        Ok(answer["data"].clone())
    }

    /// Whether a query has a result with a number.
    pub(super) async fn has_data(&self, query: &str) -> anyhow::Result<bool> {
        let data = self.data("query", &[("query", query)]).await?;
        let results = data["result"].as_array().context("no result")?;
        Ok(results.iter().any(|result| result["value"][1].as_str().is_some_and(|value| value != "NaN")))
    }
}

fn escaped(text: &str) -> String {
    text.bytes().map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") }).collect()
}
