//! A controller whose work directory is a small disk of its own, and whose NGINX can be made to fail.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use nix::unistd::Uid;
use testkit::failing::FailingNginx;
use testkit::http::Request;
use testkit::load::{Load, Running};
use testkit::manifests;
use testkit::ports::Ports;
use testkit::{clock, poll, processes};

/// The environment that NGINX passes on to its workers.
const KEPT: &str = "env FAKETIME_TIMESTAMP_FILE; env FAKETIME_NO_CACHE; env FAKETIME_DONT_FAKE_MONOTONIC;";

/// Longer than anything takes that does happen; the machine may be busy.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Bed {
    scratch: tempfile::TempDir,
    pub(crate) nginx: FailingNginx,
    /// Keeps the namespace with the disk.
    holder: Child,
    /// HTTP, HTTPS, health.
    ports: Vec<u16>,
    narthex: Option<Child>,
    flags: Vec<String>,
    /// Hard limit of descriptors of the controller and its NGINX, which nothing in a container can raise.
    pub(crate) most_descriptors: Option<u32>,
    /// Whether [`Self::clock`] sets the clock of the controller and its NGINX.
    pub(crate) own_clock: bool,
    /// The wanted target of each host's redirect.
    pub(crate) truth: BTreeMap<String, String>,
}

impl Bed {
    /// Nothing runs yet. `more`: flags of the controller.
    pub(crate) fn new(more: &[&str]) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
        for directory in ["manifests", "work"] {
            fs::create_dir(scratch.path().join(directory)).unwrap();
        }
        let nginx = FailingNginx::new(scratch.path()).unwrap();
        let mount =
            format!("mount -t tmpfs -o size=24m,mode=755 tmpfs {} && echo ready && exec sleep 3600", scratch.path().join("work").display());
        let mut command = Command::new("unshare");
        if !Uid::effective().is_root() {
            command.arg("--map-root-user");
        }
        let mut holder = command.args(["--mount", "sh", "-c", &mount]).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n", "the disk of the test can't be mounted");
        let ports = Ports::take(3).unwrap();
        let flags = more.iter().map(|flag| (*flag).to_owned()).collect();
        Self { scratch, nginx, holder, ports, narthex: None, flags, most_descriptors: None, own_clock: false, truth: BTreeMap::new() }
    }

    /// The same with so many hosts, serving.
    pub(crate) async fn serving(hosts: usize, more: &[&str]) -> Self {
        let mut bed = Self::new(more);
        bed.serve(hosts).await;
        bed
    }

    pub(crate) async fn serve(&mut self, hosts: usize) {
        self.settings("# nothing");
        for number in 0..hosts {
            self.host(&format!("h{number}"), "https://one.example.com", None);
        }
        self.start();
        self.settled().await;
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    /// A path of the work directory, seen from here.
    fn on_disk(&self, name: &str) -> PathBuf {
        Path::new(&format!("/proc/{}/root", self.holder.id())).join(self.path("work").strip_prefix("/").unwrap()).join(name)
    }

    /// Sets the global settings: text for the `http` block.
    pub(crate) fn settings(&self, snippet: &str) {
        let text = format!(
            "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\ndata:\n  worker-processes: '1'\n  main-snippet: {KEPT}\n  http-snippet: |\n    {snippet}\n"
        );
        self.write("settings.yaml", &text);
    }

    /// An Ingress that redirects its host; with `kilobytes` it needs a profile of its own.
    pub(crate) fn host(&mut self, name: &str, target: &str, kilobytes: Option<u32>) {
        let buffer = kilobytes.map(|size| format!("{size}k"));
        let own: Vec<_> = buffer.iter().map(|size| ("proxy-buffer-size", size.as_str())).collect();
        let text = manifests::redirect_with(name, target, &own);
        self.write(&format!("{name}.yaml"), &text);
        self.truth.insert(name.to_owned(), target.to_owned());
    }

    /// By rename: a reader never sees half of it.
    pub(crate) fn write(&self, name: &str, text: &str) {
        let scratch = self.path("new.yaml");
        fs::write(&scratch, text).unwrap();
        fs::rename(scratch, self.path("manifests").join(name)).unwrap();
    }

    /// A command on the controller's disk.
    fn inside(&self) -> Command {
        let mut command = Command::new("nsenter");
        command.arg(format!("--target={}", self.holder.id()));
        if !Uid::effective().is_root() {
            command.args(["--user", "--preserve-credentials"]);
        }
        command.arg("--mount");
        command
    }

    /// Starts the controller; does not wait.
    pub(crate) fn start(&mut self) {
        let log = File::options().create(true).append(true).open(self.path("log")).unwrap();
        let mut command = self.inside();
        if let Some(most) = self.most_descriptors {
            command.args(["setpriv", "--bounding-set=-sys_resource", "prlimit", &format!("--nofile={most}:{most}")]);
        }
        command.arg(env!("CARGO_BIN_EXE_narthex")).arg("run").arg("--manifests").arg(self.path("manifests"));
        command.arg("--work-dir").arg(self.path("work")).arg("--nginx-binary").arg(self.nginx.binary());
        command.args([format!("--http-port={}", self.ports[0]), format!("--https-port={}", self.ports[1])]);
        command.arg(format!("--healthz-port={}", self.ports[2]));
        command.args(["--configmap=default/settings", "--drain-timeout=0", "--sync-rate-limit=100"]).args(&self.flags);
        if self.own_clock {
            command.envs(clock::environment(&self.path("clock")));
        }
        self.narthex = Some(command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
    }

    pub(crate) fn controller(&self) -> i32 {
        self.narthex.as_ref().unwrap().id().cast_signed()
    }

    /// Sets the clock of the controller and its NGINX so many seconds off.
    pub(crate) fn clock(&self, off: i32) {
        fs::write(self.path("new-clock"), format!("{off:+}")).unwrap();
        fs::rename(self.path("new-clock"), self.path("clock")).unwrap();
    }

    pub(crate) fn kill_controller(&mut self) {
        if let Some(mut narthex) = self.narthex.take() {
            processes::signal(narthex.id().cast_signed(), Signal::SIGKILL);
            narthex.wait().unwrap();
        }
    }

    /// Starts a controller again that found no descriptor to start with, as a kubelet does. Returns whether there was one.
    pub(crate) fn restart_ended(&mut self) -> bool {
        let ended = self.narthex.as_mut().is_some_and(|narthex| narthex.try_wait().unwrap().is_some());
        if ended {
            let log = self.log();
            assert!(log.lines().rev().take(20).any(|line| line.contains("Too many open files")), "the controller ended: {log}");
            self.start();
        }
        ended
    }

    /// The soft limit of the controller's descriptors: none more can be opened, or as many as it likes.
    pub(crate) fn descriptors(&self, soft: &str) {
        let status = Command::new("prlimit").args([format!("--pid={}", self.controller()), format!("--nofile={soft}:")]).status();
        assert!(status.unwrap().success());
    }

    /// Leaves NGINX no memory for anything new, or as much as it likes.
    pub(crate) fn no_memory(&self, on: bool) {
        self.nginx.no_memory(on, &self.path("work/nginx.conf"));
    }

    /// Leaves no room on the controller's disk, or frees it again.
    pub(crate) fn fill_disk(&self, full: bool) {
        let path = self.on_disk("fill");
        if full {
            let mut file = File::create(path).unwrap();
            while file.write_all(&[0; 4096]).is_ok() {}
        } else {
            drop(fs::remove_file(path));
        }
    }

    /// Has NGINX read records of another format, as that of another release of the controller does.
    pub(crate) fn change_format(&self) {
        let path = self.on_disk("lua/narthex/state/wire.lua");
        let text = fs::read_to_string(&path).unwrap();
        let ours = model::live::wire::format();
        assert!(text.contains(ours));
        fs::write(path, text.replace(ours, &"0".repeat(ours.len()))).unwrap();
        processes::signal(self.masters()[0], Signal::SIGHUP);
    }

    /// The masters that run the configuration of this bed.
    pub(crate) fn masters(&self) -> Vec<i32> {
        processes::masters(&self.path("work/nginx.conf"))
    }

    pub(crate) fn workers(&self) -> Vec<i32> {
        processes::workers(&self.path("work/nginx.conf"))
    }

    pub(crate) fn address(&self, index: usize) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports[index]).into()
    }

    /// Target of the redirect of a host.
    pub(crate) async fn target(&self, host: &str) -> anyhow::Result<String> {
        let host = format!("{host}.example.com");
        let response = Request::get(self.address(0), "/").host(&host).header("Connection", "close").send().await?;
        Ok(response.header("location").map_or_else(|| format!("status {}", response.status), str::to_owned))
    }

    /// Waits until every host's answer is the truth, one master runs, nothing is quarantined, and the controller says that all is well.
    pub(crate) async fn settled(&self) {
        self.settled_within(LIMIT).await.unwrap_or_else(|error| panic!("{error:#}\n{}", self.log()));
    }

    pub(crate) async fn settled_within(&self, limit: Duration) -> anyhow::Result<()> {
        poll(limit, || async {
            for (host, target) in &self.truth {
                let found = self.target(host).await?;
                anyhow::ensure!(found == *target, "{host} leads to {found}, not to {target}");
            }
            anyhow::ensure!(self.masters().len() == 1, "masters: {:?}", self.masters());
            let ready = self.ready().await?;
            anyhow::ensure!(ready.0 && !ready.1.contains("degraded"), "{}", ready.1);
            Ok(())
        })
        .await
    }

    pub(crate) async fn ready(&self) -> anyhow::Result<(bool, String)> {
        let response = Request::get(self.address(2), "/readyz").send().await?;
        Ok((response.status == 200, response.text()))
    }

    pub(crate) async fn healthy(&self) -> bool {
        Request::get(self.address(2), "/healthz").send().await.is_ok_and(|response| response.status == 200)
    }

    pub(crate) async fn until<T, Fut: Future<Output = anyhow::Result<T>>>(&self, what: &str, state: impl FnMut() -> Fut) -> T {
        poll(LIMIT, state).await.unwrap_or_else(|error| panic!("{what}: {error:#}\n{}", self.log()))
    }

    /// Waits until the readiness says this.
    pub(crate) async fn says(&self, text: &str) {
        self.until(text, || async {
            let (_, body) = self.ready().await?;
            anyhow::ensure!(body.contains(text), "{body}");
            Ok(())
        })
        .await;
    }

    pub(crate) fn load(&self, host: &str, rate: u32) -> Running {
        Load { expected_status: 301, ..Load::new(self.request(host), rate) }.start()
    }

    /// The same with a connection for each request.
    pub(crate) fn fresh_load(&self, host: &str, rate: u32) -> Running {
        Load { expected_status: 301, ..Load::new(self.request(host).header("Connection", "close"), rate) }.start()
    }

    fn request(&self, host: &str) -> Request {
        Request::get(self.address(0), "/").host(format!("{host}.example.com"))
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Some(narthex) = &mut self.narthex {
            processes::signal(narthex.id().cast_signed(), Signal::SIGCONT);
            processes::signal(narthex.id().cast_signed(), Signal::SIGTERM);
            let _ = narthex.wait();
        }
        for pid in self.workers().into_iter().chain(self.masters()) {
            processes::signal(pid, Signal::SIGKILL);
        }
        let _ = self.holder.kill();
        let _ = self.holder.wait();
    }
}
