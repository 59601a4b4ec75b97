//! A controller to be measured, as a process of its own.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use testkit::bed::Bed;
use testkit::http::Request;
use testkit::ports::Ports;

/// Flags of a controller that writes nothing to the cluster.
pub const QUIET: [&str; 2] = ["--update-status=false", "--disable-sync-events"];

/// A running `narthex run`. Dropping it ends it.
pub struct Controller {
    child: Option<Child>,
    scratch: tempfile::TempDir,
    ports: Vec<u16>,
    kubeconfig: PathBuf,
    namespace: String,
    flags: Vec<String>,
}

impl Controller {
    /// Starts one on a namespace.
    ///
    /// # Errors
    /// When it does not get healthy.
    pub async fn start(bed: &Bed, namespace: &str) -> anyhow::Result<Self> {
        Self::start_with(bed, namespace, &QUIET.map(str::to_owned)).await
    }

    /// The same with these flags in the place of [`QUIET`].
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_with(bed: &Bed, namespace: &str, flags: &[String]) -> anyhow::Result<Self> {
        let mut controller = Self {
            child: None,
            scratch: tempfile::tempdir()?,
            ports: Ports::take(3)?,
            kubeconfig: bed.kubeconfig().to_owned(),
            namespace: namespace.to_owned(),
            flags: flags.to_vec(),
        };
        controller.launch()?;
        controller.healthy().await?;
        Ok(controller)
    }

    /// Starts the process without waiting.
    ///
    /// # Errors
    /// There is no binary.
    pub fn launch(&mut self) -> anyhow::Result<()> {
        let binary = std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN names no binary: run `make bench`")?;
        let log = std::fs::File::options().create(true).append(true).open(self.scratch.path().join("log"))?;
        let child = Command::new(binary)
            .args(["run", "--drain-timeout=1", "--enable-metrics"])
            .arg(format!("--kubeconfig={}", self.kubeconfig.display()))
            .arg(format!("--watch-namespace={}", self.namespace))
            .arg(format!("--work-dir={}", self.work_dir().display()))
            .arg(format!("--http-port={}", self.ports[0]))
            .arg(format!("--https-port={}", self.ports[1]))
            .arg(format!("--healthz-port={}", self.ports[2]))
            .args(&self.flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        self.child = Some(child);
        Ok(())
    }

    /// Waits until /healthz answers 200.
    ///
    /// # Errors
    /// When it does not within a minute: the error holds the log.
    pub async fn healthy(&self) -> anyhow::Result<()> {
        let began = Instant::now();
        while began.elapsed() < Duration::from_secs(60) {
            if Request::get(self.health(), "/healthz").send().await.is_ok_and(|response| response.status == 200) {
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        bail!("the controller did not get healthy:\n{}", std::fs::read_to_string(self.scratch.path().join("log"))?)
    }

    /// Kills the controller alone; its NGINX goes on.
    ///
    /// # Errors
    /// When it is not running.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let mut child = self.child.take().context("not running")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }

    /// Ends it and its NGINX.
    ///
    /// # Errors
    /// When it can't be waited for.
    pub fn stop(&mut self) -> anyhow::Result<()> {
        if let Some(mut child) = self.child.take() {
            Command::new("kill").arg(child.id().to_string()).status()?;
            child.wait()?;
        }
        Ok(())
    }

    fn address(&self, index: usize) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports[index]).into()
    }

    /// Its address.
    pub fn http(&self) -> SocketAddr {
        self.address(0)
    }

    /// Its listener of HTTPS.
    pub fn https(&self) -> SocketAddr {
        self.address(1)
    }

    fn health(&self) -> SocketAddr {
        self.address(2)
    }

    /// Its work directory.
    pub fn work_dir(&self) -> PathBuf {
        self.scratch.path().join("work")
    }

    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.as_ref().map_or(0, Child::id)
    }

    /// The NGINX master and its workers.
    ///
    /// # Errors
    /// There is none.
    pub fn nginx(&self) -> anyhow::Result<(u32, Vec<u32>)> {
        let master: u32 = std::fs::read_to_string(self.work_dir().join("run/nginx.pid"))?.trim().parse()?;
        let children = std::fs::read_to_string(format!("/proc/{master}/task/{master}/children"))?;
        Ok((master, children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()))
    }

    /// The whole text of `/metrics`.
    ///
    /// # Errors
    /// No answer.
    pub async fn metrics(&self) -> anyhow::Result<String> {
        Ok(Request::get(self.health(), "/metrics").timeout(Duration::from_secs(30)).send().await?.text())
    }

    /// The sum of all series of a metric, or one of them by its labels.
    ///
    /// # Errors
    /// No answer.
    pub async fn metric(&self, name: &str) -> anyhow::Result<f64> {
        let text = self.metrics().await?;
        let values = text.lines().filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])));
        Ok(values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        if self.stop().is_err() || self.child.is_none() {
            // A killed controller leaves its NGINX.
            if let Ok((master, _)) = self.nginx() {
                let _ = Command::new("kill").arg(master.to_string()).stderr(Stdio::null()).status();
            }
        }
    }
}

/// Resident memory of a process in bytes.
///
/// # Errors
/// The process is gone.
pub fn resident_bytes(pid: u32) -> anyhow::Result<u64> {
    status_kib(pid, "VmRSS:").map(|kib| kib * 1024)
}

fn status_kib(pid: u32, field: &str) -> anyhow::Result<u64> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(Path::new(&path))?;
    let line = text.lines().find_map(|line| line.strip_prefix(field)).with_context(|| format!("{path} has no {field}"))?;
    Ok(line.trim().trim_end_matches(" kB").parse()?)
}

/// Processor time of a process so far.
///
/// # Errors
/// The process is gone.
pub fn cpu(pid: u32) -> anyhow::Result<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = text.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    // utime and stime, in the kernel's hundredths of a second.
    let ticks: u64 = fields.get(11).context("utime")?.parse::<u64>()? + fields.get(12).context("stime")?.parse::<u64>()?;
    Ok(Duration::from_millis(ticks * 10))
}
