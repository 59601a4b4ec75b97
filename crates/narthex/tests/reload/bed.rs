//! A directory with an NGINX, a `narthex watch` beside it, and requests to both.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use testkit::http::{Peer, Request, Response};
use testkit::poll;
use testkit::ports::Ports;

/// Longer than any test waits for anything that does happen.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// A scratch directory and what runs in it.
pub(crate) struct Bed {
    scratch: tempfile::TempDir,
    pub(crate) port: u16,
    nginx: Option<Child>,
    narthex: Option<Child>,
}

/// A child that ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Bed {
    /// An NGINX that includes `conf.d/*.conf`, not started; `conf.d/site.conf` answers `v0`.
    pub(crate) fn new() -> Self {
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let bed = Self { scratch, port: Ports::one().unwrap(), nginx: None, narthex: None };
        let dir = bed.path("");
        for directory in ["conf.d", "tmp"] {
            fs::create_dir(bed.path(directory)).unwrap();
        }
        fs::set_permissions(bed.path("tmp"), fs::Permissions::from_mode(0o777)).unwrap();
        let temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {}/tmp/{name};", dir.display()))
            .join(" ");
        let main = format!(
            "pid {dir}/nginx.pid; error_log {dir}/error.log notice; worker_processes 2; worker_shutdown_timeout 20s;
events {{ worker_connections 512; }}
http {{ access_log off; {temp} include {dir}/conf.d/*.conf; }}
",
            dir = dir.display()
        );
        fs::write(bed.path("nginx.conf"), main).unwrap();
        bed.write("v0");
        bed
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        // Without a `/` at the end.
        self.scratch.path().join(name).components().collect()
    }

    /// A server that answers this text.
    pub(crate) fn site(&self, text: &str) -> String {
        format!(
            "server {{ listen 127.0.0.1:{}; location / {{ return 200 '{text}'; }} location = /pid {{ return 200 '$pid'; }} }}\n",
            self.port
        )
    }

    pub(crate) fn write(&self, text: &str) {
        fs::write(self.path("conf.d/site.conf"), self.site(text)).unwrap();
    }

    /// The command line of its NGINX.
    pub(crate) fn nginx_command(&self) -> Vec<String> {
        let own = |path: PathBuf| path.display().to_string();
        ["nginx".into(), "-p".into(), own(self.path("")), "-c".into(), own(self.path("nginx.conf")), "-g".into(), "daemon off;".into()]
            .to_vec()
    }

    pub(crate) async fn start_nginx(&mut self) {
        let words = self.nginx_command();
        self.start_nginx_by(Command::new(&words[0]).args(&words[1..])).await;
    }

    pub(crate) async fn start_nginx_by(&mut self, command: &mut Command) {
        let log = File::options().create(true).append(true).open(self.path("nginx.out")).unwrap();
        self.nginx = Some(command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
        poll(LIMIT, || self.body("/")).await.unwrap();
    }

    pub(crate) fn stop_nginx(&mut self) {
        let mut nginx = self.nginx.take().unwrap();
        self.signal(nginx.id(), Signal::SIGTERM);
        nginx.wait().unwrap();
    }

    pub(crate) fn master(&self) -> i32 {
        fs::read_to_string(self.path("nginx.pid")).unwrap().trim().parse().unwrap()
    }

    /// `narthex` with these arguments, none of the environment that it understands, and its messages in a file.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let log = File::options().create(true).append(true).open(self.path("narthex.log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_narthex"));
        for name in ["CONFIG_DIR", "PROCESS_NAME", "RELOAD_SIGNAL", "WATCH_LIST", "WATCH_PERIOD", "VERBOSE"] {
            command.env_remove(name);
        }
        command.args(arguments).stdin(Stdio::null()).stderr(log);
        command
    }

    /// Starts `narthex watch` for `conf.d`, with these arguments more, and waits for its first run.
    pub(crate) async fn watch(&mut self, more: &[&str]) {
        let (conf, pid) = (self.path("conf.d").display().to_string(), self.path("nginx.pid").display().to_string());
        let mut arguments = vec!["watch", "--config-dir", &conf, "--pid-file", &pid];
        arguments.extend(more);
        self.spawn_watch(&arguments).await;
    }

    /// Starts `narthex` with a status file and a socket, and waits for its first run.
    pub(crate) async fn spawn_watch(&mut self, arguments: &[&str]) {
        self.spawn_watch_by(&[], arguments).await;
    }

    /// The same, started by another program.
    pub(crate) async fn spawn_watch_by(&mut self, by: &[&str], arguments: &[&str]) {
        let (status, socket) = (self.path("status.json").display().to_string(), format!("unix:{}", self.path("narthex.sock").display()));
        let mut all = vec![arguments[0], "--status-file", &status];
        if !arguments.contains(&"--listen") {
            all.extend(["--listen", &socket]);
        }
        all.extend(&arguments[1..]);
        let mut command = self.command(&all);
        if let Some((program, words)) = by.split_first() {
            let log = File::options().append(true).open(self.path("narthex.log")).unwrap();
            let (narthex, words) = (command.get_program().to_owned(), [words.to_vec()].concat());
            let mut outer = Command::new(program);
            outer.args(words).arg(narthex).args(&all).stdin(Stdio::null()).stderr(log);
            command = outer;
        }
        self.narthex = Some(command.spawn().unwrap());
        poll(LIMIT, || async { self.try_status() }).await.unwrap();
    }

    /// The one that watches.
    pub(crate) fn narthex(&mut self) -> &mut Child {
        self.narthex.as_mut().unwrap()
    }

    pub(crate) fn signal(&self, pid: u32, signal: Signal) {
        kill(Pid::from_raw(pid.cast_signed()), signal).unwrap();
    }

    pub(crate) async fn get(&self, path: &str) -> anyhow::Result<Response> {
        let address = SocketAddr::from(([127, 0, 0, 1], self.port));
        Request::get(address, path).host("x").header("Connection", "close").send().await
    }

    pub(crate) async fn body(&self, path: &str) -> anyhow::Result<String> {
        let response = self.get(path).await?;
        anyhow::ensure!(response.status == 200, "status {}", response.status);
        Ok(response.text())
    }

    /// Waits until NGINX answers this text, three times in a row: no old worker does any more.
    pub(crate) async fn serves(&self, text: &str) {
        let served = poll(LIMIT, || async {
            for _ in 0..3 {
                let body = self.body("/").await?;
                anyhow::ensure!(body == text, "it answers {body:?}");
            }
            Ok(())
        });
        if let Err(error) = served.await {
            panic!("{error:#}\n{}", self.logs());
        }
    }

    /// Writes a server that answers this text, and waits until it is served and its run was reported.
    pub(crate) async fn change(&self, text: &str) -> Value {
        let run = self.try_status().unwrap()["run"].as_u64();
        self.write(text);
        self.serves(text).await;
        self.status("the change is reported", |status| status["run"].as_u64() > run && status["result"] == "applied").await
    }

    /// The workers that accept connections.
    pub(crate) fn workers(&self) -> BTreeSet<i32> {
        let master = self.master();
        let children = fs::read_to_string(format!("/proc/{master}/task/{master}/children")).unwrap();
        let children = children.split_ascii_whitespace().map(|pid| pid.parse().unwrap());
        let serves = |pid: &i32| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|title| String::from_utf8_lossy(&title).trim_end_matches('\0') == "nginx: worker process")
        };
        children.filter(serves).collect()
    }

    pub(crate) fn logs(&self) -> String {
        let read = |name: &str| fs::read_to_string(self.path(name)).unwrap_or_default();
        format!("--- narthex\n{}--- nginx\n{}{}", read("narthex.log"), read("nginx.out"), read("error.log"))
    }

    fn try_status(&self) -> anyhow::Result<Value> {
        Ok(serde_json::from_slice(&fs::read(self.path("status.json"))?)?)
    }

    /// Waits for a report of which this holds.
    pub(crate) async fn status(&self, what: &str, holds: impl Fn(&Value) -> bool) -> Value {
        let seen = poll(LIMIT, || async {
            let status = self.try_status()?;
            anyhow::ensure!(holds(&status), "{status:#}");
            Ok(status)
        });
        seen.await.unwrap_or_else(|error| panic!("{what}: {error:#}\n{}", self.logs()))
    }

    /// Waits for this result.
    pub(crate) async fn result(&self, result: &str) -> Value {
        self.status(result, |status| status["result"] == result).await
    }

    /// A request to the socket of `narthex watch`.
    pub(crate) async fn ask(&self, method: &str, path: &str) -> Response {
        Request::new(method, Peer::Unix(self.path("narthex.sock")), path).host("n").timeout(LIMIT).send().await.unwrap()
    }

    /// Number of runs that ended so.
    pub(crate) async fn runs(&self, result: &str) -> u64 {
        count(&self.ask("GET", "/metrics").await.text(), result)
    }
}

/// The number of runs with a result, in the text of the metrics.
pub(crate) fn count(metrics: &str, result: &str) -> u64 {
    let name = format!("narthex_watch_runs_total{{result=\"{result}\"}} ");
    metrics.lines().find_map(|line| line.strip_prefix(&name)).unwrap().parse().unwrap()
}

pub(crate) fn is_root() -> bool {
    nix::unistd::geteuid().is_root()
}

impl Drop for Bed {
    fn drop(&mut self) {
        // The master first by its pid file: it may be the child of another process, and its workers end with it.
        let master = fs::read_to_string(self.path("nginx.pid")).ok().and_then(|text| text.trim().parse().ok());
        if let Some(narthex) = &mut self.narthex {
            let _ = narthex.kill();
            let _ = narthex.wait();
        }
        if let Some(nginx) = &mut self.nginx {
            // It takes its workers along, whatever mounts it has.
            let _ = kill(Pid::from_raw(nginx.id().cast_signed()), Signal::SIGTERM);
            let _ = nginx.wait();
        }
        let ours = |pid: &i32| {
            fs::read(format!("/proc/{pid}/cmdline"))
                .is_ok_and(|line| String::from_utf8_lossy(&line).contains(&*self.path("").to_string_lossy()))
        };
        if let Some(pid) = master.filter(ours) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        // Workers that lost their master serve on; their error log tells whose they are.
        for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
            let log = self.path("error.log");
            let opened = fs::read_dir(entry.path().join("fd")).into_iter().flatten().flatten();
            if opened.filter_map(|file| fs::read_link(file.path()).ok()).any(|target| target == log) {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
        }
    }
}

/// Whether a file holds a text.
pub(crate) fn holds(path: &Path, text: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|found| found.contains(text))
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, holds: impl Fn() -> bool) {
    let seen = poll(LIMIT, || async {
        anyhow::ensure!(holds(), "{what}: not yet");
        Ok(())
    });
    seen.await.unwrap();
}
