//! A directory of manifests, and a `narthex run` that serves it.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::PipeReader;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use parking_lot::Mutex;
use serde_json::Value;
use testkit::http::{Peer, Request, Response};
use testkit::poll;
use testkit::ports::Ports;

/// Longer than any test waits for anything that does happen.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A scratch directory with `manifests`, and what runs in it.
pub(crate) struct Bed {
    scratch: tempfile::TempDir,
    /// HTTP, HTTPS, health, and one for the test.
    ports: Vec<u16>,
    narthex: Option<Child>,
    data_plane: Option<Child>,
}

impl Bed {
    pub(crate) fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let bed = Self { scratch, ports: Ports::take(4).unwrap(), narthex: None, data_plane: None };
        fs::create_dir(bed.path("manifests")).unwrap();
        bed
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// Writes a file of the directory.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.path("manifests").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Starts the controller with these flags more, and waits until it serves. [`Self::ask`] reaches it.
    pub(crate) async fn start(&mut self, more: &[&str]) {
        let listen = format!("--listen=unix:{}", self.path("narthex.sock").display());
        let flags: Vec<&str> = more.iter().copied().chain([listen.as_str()]).collect();
        self.start_with(&flags).await;
    }

    /// The same without `--listen`.
    pub(crate) async fn start_with(&mut self, more: &[&str]) {
        let log = File::create(self.path("log")).unwrap();
        self.spawn(more, &log);
        self.serves().await;
    }

    async fn serves(&self) {
        let address = self.address(2);
        self.until("it serves", || async move {
            let response = Request::get(address, "/healthz").send().await?;
            anyhow::ensure!(response.status == 200, "{}", response.text());
            Ok(())
        })
        .await;
    }

    /// Starts it and waits for nothing.
    pub(crate) fn spawn_only(&mut self, more: &[&str]) {
        let log = File::create(self.path("log")).unwrap();
        self.spawn(more, &log);
    }

    /// Starts it with a pipe for its log: the end to read from.
    pub(crate) async fn start_piped(&mut self) -> PipeReader {
        let (reader, writer) = std::io::pipe().unwrap();
        self.spawn(&[], &writer);
        drop(writer);
        self.serves().await;
        reader
    }

    /// Starts the program as NGINX's container does.
    pub(crate) fn start_data_plane(&mut self) {
        let log = File::options().create(true).append(true).open(self.path("data-plane.log")).unwrap();
        let out = || Stdio::from(log.try_clone().unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_narthex"));
        command.arg("data-plane").arg(format!("--work-dir={}", self.path("work").display())).arg("--shutdown-grace-period=0");
        self.data_plane = Some(command.stdin(Stdio::null()).stdout(out()).stderr(out()).spawn().unwrap());
    }

    pub(crate) fn data_plane(&mut self) -> &mut Child {
        self.data_plane.as_mut().unwrap()
    }

    /// Kills the controller, as a kernel without memory does.
    pub(crate) fn kill(&mut self) {
        let mut narthex = self.narthex.take().unwrap();
        narthex.kill().unwrap();
        narthex.wait().unwrap();
    }

    fn spawn(&mut self, more: &[&str], log: &impl AsFd) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_narthex"));
        command.arg("run").args(self.flags()).args(more);
        self.spawn_command(command, log);
    }

    fn spawn_command(&mut self, mut command: Command, log: &impl AsFd) {
        let out = || Stdio::from(log.as_fd().try_clone_to_owned().unwrap());
        self.narthex = Some(command.stdin(Stdio::null()).stdout(out()).stderr(out()).spawn().unwrap());
    }

    /// The flags of every run.
    pub(crate) fn flags(&self) -> Vec<String> {
        let (manifests, work) = (self.path("manifests"), self.path("work"));
        let directories = [format!("--manifests={}", manifests.display()), format!("--work-dir={}", work.display())];
        let ports = ["http", "https", "healthz"].iter().zip(&self.ports).map(|(name, port)| format!("--{name}-port={port}"));
        let graces = ["--drain-timeout=0", "--shutdown-grace-period=0", "--post-shutdown-grace-period=0"];
        let others = graces.into_iter().chain(["--configmap=default/settings", "--sync-rate-limit=100"]).map(str::to_owned);
        directories.into_iter().chain(ports).chain(others).collect()
    }

    /// Starts a command that is, or runs, the controller, and waits until that serves.
    pub(crate) async fn start_command(&mut self, command: Command) {
        let log = File::create(self.path("log")).unwrap();
        self.spawn_command(command, &log);
        self.serves().await;
    }

    /// The program by another name.
    pub(crate) fn called(&self, name: &str) -> PathBuf {
        let link = self.path(name);
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_narthex"), &link).unwrap();
        link
    }

    /// Waits for the end: the exit code.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        let narthex = Mutex::new(self.narthex.take().unwrap());
        self.until("it ends", || async { narthex.lock().try_wait()?.map(|status| status.code()).context("it runs") }).await
    }

    /// The port of plain HTTP.
    pub(crate) fn http_port(&self) -> u16 {
        self.ports[0]
    }

    /// Waits for something, and shows the log if it does not come.
    pub(crate) async fn until<T, Fut: Future<Output = anyhow::Result<T>>>(&self, what: &str, state: impl FnMut() -> Fut) -> T {
        poll(LIMIT, state).await.unwrap_or_else(|error| panic!("{what}: {error:#}\n{}", self.log()))
    }

    fn address(&self, index: usize) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports[index]).into()
    }

    /// Address of NGINX.
    pub(crate) fn http(&self) -> SocketAddr {
        self.address(0)
    }

    /// Address for a listener of the test's own.
    pub(crate) fn own(&self) -> SocketAddr {
        self.address(3)
    }

    /// Target of the redirect of this host, if there is one.
    pub(crate) async fn target(&self, host: &str) -> anyhow::Result<String> {
        let response = Request::get(self.address(0), "/").host(host).header("Connection", "close").send().await?;
        Ok(response.header("location").map_or_else(|| format!("status {}", response.status), str::to_owned))
    }

    /// Waits until this host is redirected there.
    pub(crate) async fn leads(&self, host: &str, target: &str) {
        self.until(host, || async {
            let found = self.target(host).await?;
            anyhow::ensure!(found == target, "it leads to {found}, not to {target}");
            Ok(())
        })
        .await;
    }

    /// A request to the socket of `--listen`.
    pub(crate) fn ask(&self, method: &str, path: &str) -> Request {
        Request::new(method, Peer::Unix(self.path("narthex.sock")), path).host("n").timeout(LIMIT)
    }

    /// `POST /reload`: the status and the answer.
    pub(crate) async fn reload(&self) -> (u16, Value) {
        let response = self.ask("POST", "/reload").send().await.unwrap();
        (response.status, json(&response))
    }

    /// The sum of all series of a metric whose labels hold this text.
    pub(crate) async fn metric(&self, name: &str, label: &str) -> f64 {
        let text = Request::get(self.address(2), "/metrics").send().await.unwrap().text();
        let series = text.lines().filter(|line| line.starts_with(name) && line.contains(label));
        series.filter_map(|line| line.rsplit_once(' ')?.1.parse::<f64>().ok()).sum()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.controller()), signal).unwrap();
    }

    pub(crate) fn controller(&self) -> i32 {
        self.narthex.as_ref().unwrap().id().cast_signed()
    }

    pub(crate) fn master(&self) -> i32 {
        fs::read_to_string(self.path("work/run/nginx.pid")).unwrap().trim().parse().unwrap()
    }

    /// All workers of NGINX.
    pub(crate) fn children(&self) -> Vec<i32> {
        let master = self.master();
        let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children")).unwrap();
        children.split_ascii_whitespace().map(|pid| pid.parse().unwrap()).collect()
    }

    /// The workers of NGINX that accept connections.
    pub(crate) fn workers(&self) -> BTreeSet<i32> {
        let serves = |pid: &i32| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|title| String::from_utf8_lossy(&title).trim_end_matches('\0') == "nginx: worker process")
        };
        self.children().into_iter().filter(serves).collect()
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Waits until the log holds this.
    pub(crate) async fn says(&self, text: &str) {
        self.until(text, || async {
            anyhow::ensure!(self.log().contains(text), "the log does not say it");
            Ok(())
        })
        .await;
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        // They take their NGINX along.
        for child in [&self.data_plane, &self.narthex].into_iter().flatten() {
            let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
        }
        for child in [&mut self.data_plane, &mut self.narthex].into_iter().flatten() {
            let _ = child.wait();
        }
    }
}

pub(crate) fn json(response: &Response) -> Value {
    serde_json::from_str(&response.text()).unwrap()
}

/// The global settings, of which one is text for the `http` block.
pub(crate) fn settings(snippet: &str) -> String {
    format!(
        "apiVersion: v1
kind: ConfigMap
metadata: {{name: settings}}
data:
  worker-processes: '2'
  http-snippet: |
    {snippet}
"
    )
}
