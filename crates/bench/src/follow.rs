//! How soon plain NGINX serves a mounted ConfigMap that has changed: by `narthex watch`, by a loop around `inotifywait`, and by one that looks every 5 s.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use testkit::ports::Ports;

use crate::measure::{Prober, percentile};
use crate::report::{Report, ms};

/// Changes for each figure; each begins after a quiet time.
const SAMPLES: usize = 20;
const PAUSE: Duration = Duration::from_millis(700);

/// An NGINX with its configuration in a directory as the kubelet writes it.
struct Site {
    dir: tempfile::TempDir,
    port: u16,
    version: usize,
    /// Ended with this.
    children: Vec<Child>,
}

impl Drop for Site {
    fn drop(&mut self) {
        // Newest first: who follows goes before who is followed.
        for child in self.children.iter_mut().rev() {
            // SIGTERM, so that NGINX takes its workers along.
            let _ = Command::new("kill").arg(child.id().to_string()).status();
            let _ = child.wait();
        }
    }
}

impl Site {
    fn start() -> anyhow::Result<Self> {
        let mut site = Self { dir: tempfile::tempdir()?, port: Ports::one()?, version: 0, children: Vec::new() };
        let dir = site.dir.path().display().to_string();
        fs::create_dir(site.dir.path().join("conf.d"))?;
        site.change()?;
        let temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path {dir}/{name};")).join(" ");
        let main = format!(
            "pid {dir}/nginx.pid; error_log {dir}/error.log; worker_processes 2; events {{}} http {{ access_log off; {temp} include {dir}/conf.d/*.conf; }}"
        );
        fs::write(site.dir.path().join("nginx.conf"), main)?;
        site.spawn("nginx", &["-p", &dir, "-c", &format!("{dir}/nginx.conf"), "-g", "daemon off;"])?;
        Ok(site)
    }

    fn spawn(&mut self, program: &str, arguments: &[&str]) -> anyhow::Result<()> {
        let log = fs::File::create(self.dir.path().join(format!("{}.log", Path::new(program).file_name().unwrap_or_default().display())))?;
        let child = Command::new(program).args(arguments).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn();
        self.children.push(child.with_context(|| program.to_owned())?);
        Ok(())
    }

    /// The kubelet's four steps; measured from after the rename.
    fn change(&mut self) -> anyhow::Result<()> {
        self.version += 1;
        let root = self.dir.path().join("conf.d");
        let new = format!("..2026_01_02_03_04_05.{}", self.version);
        fs::create_dir(root.join(&new))?;
        let text = format!("server {{ listen 127.0.0.1:{}; location / {{ return 200 'v{}'; }} }}", self.port, self.version);
        fs::write(root.join(&new).join("site.conf"), text)?;
        let old = fs::read_link(root.join("..data")).ok();
        symlink(&new, root.join("..data_tmp"))?;
        fs::rename(root.join("..data_tmp"), root.join("..data"))?;
        match old {
            Some(old) => fs::remove_dir_all(root.join(old))?,
            None => symlink("..data/site.conf", root.join("site.conf"))?,
        }
        Ok(())
    }

    async fn samples(&mut self, count: usize) -> anyhow::Result<Vec<Duration>> {
        let mut samples = Vec::new();
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        for _ in 0..count {
            tokio::time::sleep(PAUSE).await;
            self.change()?;
            let text = format!("v{}", self.version);
            samples.push(Prober::new(address).until("x", |response| response.text() == text).await?);
        }
        Ok(samples)
    }
}

/// Adds a row for each way.
///
/// # Errors
/// There is no NGINX or no `narthex`, or it never serves a change.
pub async fn measure(report: &mut Report) -> anyhow::Result<()> {
    let binary = std::env::var("NARTHEX_BIN").context("NARTHEX_BIN names no binary: run `make bench`")?;
    let mut site = Site::start()?;
    let dir = site.dir.path().display().to_string();
    site.spawn(&binary, &["watch", "--config-dir", &format!("{dir}/conf.d"), "--pid-file", &format!("{dir}/nginx.pid")])?;
    let mut samples = site.samples(SAMPLES).await?;
    let (p50, max) = (percentile(&mut samples, 50.0), percentile(&mut samples, 100.0));
    let figure = format!("p50 {}, max {}", ms(p50), ms(max));
    report.add("mounted ConfigMap served, `narthex watch`", figure, "p50 ≤ 600 ms", p50 <= Duration::from_millis(600), "");
    drop(site);

    let inotify = "while inotifywait -qq -r -e modify,move,create,delete \"$0/conf.d\"; do sleep 0.25; nginx -t -c \"$0/nginx.conf\" && kill -HUP \"$(cat \"$0/nginx.pid\")\"; done";
    if Command::new("inotifywait").arg("--help").stdout(Stdio::null()).status().is_ok() {
        by_script(report, "mounted ConfigMap served, a loop around inotifywait", inotify).await?;
    }
    let period = "old=; while sleep 5; do new=$(cat \"$0\"/conf.d/*.conf | sha256sum); [ \"$new\" = \"$old\" ] || { nginx -t -c \"$0/nginx.conf\" && kill -HUP \"$(cat \"$0/nginx.pid\")\"; }; old=$new; done";
    by_script(report, "mounted ConfigMap served, a look every 5 s", period).await
}

async fn by_script(report: &mut Report, what: &str, script: &str) -> anyhow::Result<()> {
    let mut site = Site::start()?;
    let dir = site.dir.path().display().to_string();
    site.spawn("sh", &["-c", script, &dir])?;
    let mut samples = site.samples(5).await?;
    let figure = format!("p50 {}, max {}", ms(percentile(&mut samples, 50.0)), ms(percentile(&mut samples, 100.0)));
    report.add(what, figure, "", true, "");
    Ok(())
}
