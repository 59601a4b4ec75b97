//! A work directory with a real NGINX, and requests to it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

use nginx::{DataPlane, DataPlaneServer, Options, Place, Supervisor};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use render::{Capabilities, File, FileSet, Paths};

/// A work directory; what runs in it ends with it.
pub(crate) struct AnyBed<const SPLIT: bool> {
    /// Ends before its directory does.
    data_plane: Option<DataPlaneThread>,
    _dir: tempfile::TempDir,
    pub(crate) paths: Paths,
    pub(crate) port: u16,
    pub(crate) caps: Capabilities,
}

/// NGINX is run by the test itself.
pub(crate) type Bed = AnyBed<false>;
/// NGINX is run by a data plane.
pub(crate) type SplitBed = AnyBed<true>;

/// A data plane with threads of its own.
pub(crate) struct DataPlaneThread {
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl DataPlaneThread {
    /// Starts it, and waits until it listens.
    pub(crate) fn start(paths: &Paths, caps: &Capabilities) -> Self {
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let (ready, listens) = std::sync::mpsc::channel();
        let server = DataPlaneServer::new(nginx::find_binary(None).unwrap(), caps.clone(), paths.clone());
        let paths = paths.clone();
        let thread = std::thread::spawn(move || {
            tokio::runtime::Runtime::new().unwrap().block_on(async {
                let listener = DataPlaneServer::listen(&paths).await.unwrap();
                ready.send(()).unwrap();
                tokio::select! { () = server.serve(listener) => {}, _ = stopped => {} }
            });
        });
        listens.recv().unwrap();
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for DataPlaneThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        let _ = self.thread.take().unwrap().join();
    }
}

/// A port without a listener, below the range from which the kernel takes ports for connections.
pub(crate) fn free_port() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = (std::process::id() % 900) as u16 * 20;
    let candidates = std::iter::repeat_with(|| 12_000 + (base + NEXT.fetch_add(1, Ordering::Relaxed)) % 18_000);
    candidates.take(18_000).find(|&port| TcpListener::bind(("127.0.0.1", port)).is_ok()).unwrap()
}

impl<const SPLIT: bool> AnyBed<SPLIT> {
    pub(crate) async fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let paths = Paths { work_dir: dir.path().to_owned() };
        let caps = nginx::detect(None).await.unwrap();
        let data_plane = SPLIT.then(|| DataPlaneThread::start(&paths, &caps));
        Self { data_plane, _dir: dir, paths, port: free_port(), caps }
    }

    pub(crate) fn options(&self) -> Options {
        let place = match SPLIT {
            true => Place::DataPlane(DataPlane::socket(&self.paths)),
            false => Place::Here(nginx::find_binary(None).unwrap()),
        };
        let mut options = Options::at(place, self.paths.clone());
        options.worker_user = self.caps.worker_user.clone();
        options.port_flags.insert(self.port, "--http-port");
        options
    }

    /// Ends the data plane, if there is one, and starts another.
    pub(crate) fn restart_data_plane(&mut self) {
        self.data_plane = None;
        self.data_plane = SPLIT.then(|| DataPlaneThread::start(&self.paths, &self.caps));
    }

    pub(crate) async fn open(&self) -> Supervisor {
        Supervisor::open(self.options()).await.unwrap()
    }

    /// A supervisor whose NGINX serves the revision `one`.
    pub(crate) async fn serving(&self) -> Supervisor {
        let mut supervisor = self.open().await;
        supervisor.apply(&self.set("one", "")).await.unwrap();
        supervisor
    }

    /// A file set that answers its revision on the port, with more listeners or directives.
    pub(crate) fn set(&self, revision: &str, more: &str) -> FileSet {
        self.set_on(self.port, revision, more)
    }

    pub(crate) fn set_on(&self, port: u16, revision: &str, more: &str) -> FileSet {
        let user = self.caps.worker_user.as_ref().map(|user| format!("user {};", user.replace(':', " "))).unwrap_or_default();
        let (run, tmp) = (self.paths.run_dir(), self.paths.temp_dir());
        let (run, tmp) = (run.display(), tmp.display());
        let conf = format!(
            "daemon off; {user}\npid {run}/nginx.pid;\nerror_log {run}/error.log crit;\nworker_processes 2;\nworker_shutdown_timeout 20s;
events {{ worker_connections 512; }}
http {{
    access_log off;
    client_body_temp_path {tmp}/body; proxy_temp_path {tmp}/proxy; fastcgi_temp_path {tmp}/fastcgi;
    uwsgi_temp_path {tmp}/uwsgi; scgi_temp_path {tmp}/scgi;
    keepalive_requests 100;
    server {{
        listen unix:{run}/control.sock;
        client_header_timeout 1s;
        location / {{ return 200 '{{\"revision\":\"{revision}\",\"generation\":null,\"rev\":1,\"digest\":\"0\",\"entries\":0,\"pid\":$pid}}'; }}
        location = /keys {{ return 200 'h\tfoo.example.com\nb\tns/svc:80\n'; }}
        location = /record {{ return 200 '$arg_k $http_narthex_master'; }}
        location = /status {{ stub_status; }}
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{ return 200 '{revision}'; }}
    }}
    {more}
}}
"
        );
        let file = |path: &str, mode, text: String| File { path: path.into(), mode, bytes: text.into_bytes() };
        let files = vec![file("nginx.conf", 0o644, conf), file("lua/marker.lua", 0o644, format!("return '{revision}'\n"))];
        FileSet { revision: revision.to_owned(), files, moves: false, origins: Vec::new() }
    }

    /// The body of `GET /`, or why there is none.
    pub(crate) fn get(&self) -> std::io::Result<String> {
        get(self.port)
    }

    pub(crate) fn conf(&self) -> String {
        fs::read_to_string(self.paths.conf()).unwrap()
    }

    /// Pid of the master by its pid file.
    pub(crate) fn master(&self) -> i32 {
        fs::read_to_string(self.paths.pid()).unwrap().trim().parse().unwrap()
    }

    /// The workers that accept connections.
    pub(crate) fn workers(&self) -> BTreeSet<i32> {
        let title = |pid: &i32| fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let serves = |pid: &i32| String::from_utf8_lossy(&title(pid)).trim_end_matches('\0') == "nginx: worker process";
        self.group(self.master()).into_iter().filter(serves).collect()
    }

    /// Processes in the group of a master.
    pub(crate) fn group(&self, master: i32) -> Vec<i32> {
        pids().filter(|&pid| group_of(pid) == Some(master)).collect()
    }
}

impl<const SPLIT: bool> Drop for AnyBed<SPLIT> {
    /// Whatever a failed test left running has the error log of this work directory open.
    fn drop(&mut self) {
        let log = self.paths.error_log();
        let opened = |pid: &i32| {
            let descriptors = fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten();
            descriptors.filter_map(|entry| fs::read_link(entry.path()).ok()).any(|target| target == log)
        };
        for pid in pids().filter(|pid| *pid != std::process::id() as i32).filter(opened) {
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
    }
}

fn pids() -> impl Iterator<Item = i32> {
    fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
}

fn group_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat[stat.rfind(')')? + 1..].split_ascii_whitespace();
    (fields.next()? != "Z").then_some(())?;
    fields.nth(1)?.parse().ok()
}

pub(crate) fn get(port: u16) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(("127.0.0.1", port))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)))?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n")?;
    body(stream)
}

/// The body of the answer on a connection that the server closes.
pub(crate) fn body(mut stream: TcpStream) -> std::io::Result<String> {
    let mut text = String::new();
    stream.read_to_string(&mut text)?;
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
    body.filter(|_| text.starts_with("HTTP/1.1 200")).ok_or_else(|| std::io::Error::other(format!("answer {text:?}")))
}

/// Waits until something holds.
#[track_caller]
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(10);
    while !condition() {
        assert!(Instant::now() < deadline, "{what} does not come");
        std::thread::yield_now();
    }
}

/// A signal to a process.
pub(crate) fn signal(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).unwrap();
}

/// Whether a file has this text.
pub(crate) fn holds(path: &Path, text: &str) -> bool {
    fs::read_to_string(path).is_ok_and(|found| found.contains(text))
}
