//! Plain NGINX with its configuration in a mounted volume, who follows it, and requests meanwhile.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::Context;
use testkit::http::Request;
use testkit::load::{Load, Running};
use testkit::mounted::Mounted;
use testkit::poll_every;
use testkit::ports::Ports;

/// Requests a second, one half on connections of their own and one half on kept ones.
pub const RATE: u32 = 1000;
/// Longest wait for NGINX to come or go.
const PATIENCE: Duration = Duration::from_secs(30);

/// An NGINX whose volume is `conf.d`. What runs beside it ends with it.
pub struct Site {
    dir: tempfile::TempDir,
    port: u16,
    /// Directives for its server.
    locations: String,
    mounted: Mounted,
    version: usize,
    /// Each leads a process group.
    children: Vec<Child>,
}

impl Drop for Site {
    fn drop(&mut self) {
        // Newest first: who follows goes before who is followed. The group: scripts have children.
        for child in self.children.iter_mut().rev() {
            let _ = Command::new("kill").args(["-TERM", "--", &format!("-{}", child.id())]).stderr(Stdio::null()).status();
            let _ = child.wait();
        }
        // One that was started by a script is no child of ours.
        let _ = self.signal("TERM");
    }
}

impl Site {
    /// The files of an NGINX that reads `include` (a directory) and answers `v1`; `locations` are more of them. It is not started.
    ///
    /// # Errors
    /// No file can be written.
    pub fn new(include: &str, locations: &str) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        let root = dir.path().join("conf.d");
        fs::create_dir(&root)?;
        let mounted = Mounted::new(root);
        let mut site = Self { dir, port: Ports::one()?, locations: locations.to_owned(), mounted, version: 0, children: Vec::new() };
        site.change()?;
        let dir = site.dir.path().display().to_string();
        let temp = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path {dir}/{name};")).join(" ");
        let main = format!(
            "pid {dir}/nginx.pid; error_log {dir}/error.log notice; worker_processes 2; events {{}} http {{ access_log off; {temp} include {dir}/{include}/*.conf; }}"
        );
        fs::write(site.path("nginx.conf"), main)?;
        Ok(site)
    }

    /// A file of its directory.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Starts NGINX, as the runtime of a container does, and waits until it answers; an error if it ends instead.
    ///
    /// # Errors
    /// When it refuses its configuration, or there is none.
    pub async fn start_nginx(&mut self) -> anyhow::Result<()> {
        let conf = self.path("nginx.conf").display().to_string();
        self.spawn(Command::new("nginx").args(["-c", &conf, "-g", "daemon off;"]))?;
        poll_every(Duration::from_millis(5), PATIENCE, || {
            let ended = self.ended();
            let answer = self.request("/", false).send();
            async move { if ended.is_some() { Ok(ended) } else { answer.await.map(|_| None) } }
        })
        .await?
        .map_or(Ok(()), |status| Err(anyhow::anyhow!("NGINX ended: {status}")))
    }

    /// Exit of the newest child, if it has ended. All are waited for: one that is not stays visible as a process.
    fn ended(&mut self) -> Option<ExitStatus> {
        let ended: Vec<Option<ExitStatus>> = self.children.iter_mut().map(|child| child.try_wait().ok().flatten()).collect();
        ended.last().copied().flatten()
    }

    /// Runs something beside it, with its directory as `SITE`.
    ///
    /// # Errors
    /// There is no such program.
    pub fn spawn(&mut self, command: &mut Command) -> anyhow::Result<()> {
        let log = fs::File::options().create(true).append(true).open(self.path("output.log"))?;
        command.env("SITE", self.dir.path()).process_group(0).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.children.push(command.spawn().with_context(|| format!("{command:?}"))?);
        Ok(())
    }

    /// Waits for the end of what was started last.
    ///
    /// # Errors
    /// When it does not end.
    pub async fn finished(&mut self) -> anyhow::Result<()> {
        poll_every(Duration::from_millis(5), PATIENCE, || {
            let ended = self.ended();
            async move { ended.map(|_| ()).context("it still runs") }
        })
        .await
    }

    /// Sends a signal to NGINX's master; none if there is none.
    ///
    /// # Errors
    /// `kill` can't be run.
    pub fn signal(&self, name: &str) -> io::Result<()> {
        if let Ok(pid) = fs::read_to_string(self.path("nginx.pid")) {
            Command::new("kill").args([&format!("-{name}"), pid.trim()]).stderr(Stdio::null()).status()?;
        }
        Ok(())
    }

    /// Waits until the master has taken its pid file away.
    ///
    /// # Errors
    /// When it does not.
    pub async fn gone(&self) -> anyhow::Result<()> {
        poll_every(Duration::from_millis(5), PATIENCE, || async {
            anyhow::ensure!(!self.path("nginx.pid").exists(), "NGINX still runs");
            Ok(())
        })
        .await
    }

    /// Number of times that NGINX read its configuration again.
    pub fn reloads(&self) -> usize {
        fs::read_to_string(self.path("error.log")).unwrap_or_default().matches(": reconfiguring\n").count()
    }

    /// Another text is to be served; when it could be read, and the text.
    ///
    /// # Errors
    /// The volume can't be written.
    pub fn change(&mut self) -> anyhow::Result<(Instant, String)> {
        self.version += 1;
        let text = format!("v{}", self.version);
        let Self { port, locations, .. } = self;
        let site = format!("server {{ listen 127.0.0.1:{port}; {locations} location / {{ return 200 '{text}'; }} }}");
        Ok((self.mounted.write(&[("site.conf", site)])?, text))
    }

    /// The volume gets a file that NGINX refuses.
    ///
    /// # Errors
    /// The volume can't be written.
    pub fn spoil(&mut self) -> anyhow::Result<()> {
        self.mounted.write(&[("site.conf", "server { listen 80")])?;
        Ok(())
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// A request to it, its connection kept or not.
    pub fn request(&self, path: &str, keep: bool) -> Request {
        let request = Request::get(self.address(), path).host("x");
        if keep { request } else { request.header("Connection", "close") }
    }

    /// [`RATE`] to it.
    pub fn load(&self) -> Loads {
        let load = |keep| (keep, Load { connections: 32, ..Load::new(self.request("/", keep), RATE / 2) }.start());
        Loads(vec![load(false), load(true)])
    }
}

/// Requests on connections of their own, and on kept ones.
pub struct Loads(Vec<(bool, Running)>);

impl Loads {
    /// Waits until each has begun this many more.
    pub async fn begin(&self, count: u64) {
        for (_, load) in &self.0 {
            load.begin(count).await;
        }
    }

    /// New connections lead there from now on.
    pub fn turn_to(&self, site: &Site) {
        for (keep, load) in &self.0 {
            load.turn_to(site.request("/", *keep));
        }
    }

    /// Ends them: how many failed, and how many there were.
    pub async fn stop(self) -> (usize, usize) {
        let (mut failed, mut all) = (0, 0);
        for (_, load) in self.0 {
            let report = load.stop().await;
            failed += report.failures.len();
            all += report.requests();
        }
        (failed, all)
    }
}
