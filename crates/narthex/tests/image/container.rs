//! A container of the image: its root read-only, a user, few capabilities, no way to more.

use std::fs::{self, File, Permissions};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use nix::sched::{CloneFlags, unshare};
use serde_json::{Value, json};
use testkit::http::{Request, Response};
use testkit::poll;

/// Longer than any test waits for anything that does happen.
pub(crate) const LIMIT: Duration = Duration::from_secs(60);

/// The unpacked image.
pub(crate) fn root() -> PathBuf {
    std::env::var_os("NARTHEX_IMAGE_ROOT").expect("NARTHEX_IMAGE_ROOT names no image: run `make image-test`").into()
}

/// The settings of a container.
pub(crate) struct Settings<'a> {
    /// User and group.
    pub(crate) user: (u32, u32),
    pub(crate) arguments: &'a [&'a str],
    pub(crate) env: &'a [&'a str],
    /// `/run/narthex` can be written to, as with our chart; else only `/tmp` can be.
    pub(crate) work_dir: bool,
    /// What can't be executed.
    pub(crate) without: &'a [&'a str],
}

pub(crate) const DEFAULTS: Settings<'static> =
    Settings { user: (101, 82), arguments: &["/nginx-ingress-controller"], env: &[], work_dir: true, without: &[] };

/// A running container, in a network of this thread's own.
pub(crate) struct Container {
    scratch: tempfile::TempDir,
    name: String,
    user: (u32, u32),
    crun: Child,
}

impl Container {
    /// Starts it with a directory of manifests. The thread leaves the network of the machine: port 80 may be taken there.
    pub(crate) fn start(settings: &Settings<'_>, manifest: &str) -> Self {
        unshare(CloneFlags::CLONE_NEWNET).unwrap();
        assert!(Command::new("ip").args(["link", "set", "lo", "up"]).status().unwrap().success());
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        for (directory, mode) in [("manifests", 0o755), ("work", 0o777), ("tmp", 0o1777), ("state", 0o700)] {
            fs::create_dir(path(directory)).unwrap();
            fs::set_permissions(path(directory), Permissions::from_mode(mode)).unwrap();
        }
        fs::write(path("manifests/manifest.yaml"), manifest).unwrap();
        File::create(path("empty")).unwrap();
        fs::write(path("config.json"), specification(settings, scratch.path()).to_string()).unwrap();
        let log = File::create(path("log")).unwrap();
        let name = format!("narthex-image-{}", std::process::id());
        let mut command = crun(scratch.path());
        command.arg("run").arg("--bundle").arg(scratch.path()).arg(&name);
        let crun = command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
        Self { scratch, name, user: settings.user, crun }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.path("log")).unwrap_or_default()
    }

    /// Runs a command in it, as `kubectl exec` does.
    pub(crate) fn exec(&self, command: &[&str]) -> Output {
        crun(self.scratch.path())
            .args(["exec", "--user", &format!("{}:{}", self.user.0, self.user.1), &self.name])
            .args(command)
            .output()
            .unwrap()
    }

    /// The answer of port 80, when there is one.
    pub(crate) async fn answer(&self, host: &str) -> Response {
        self.until(|| async {
            Request::get(SocketAddr::from(([127, 0, 0, 1], 80)), "/").host(host).header("Connection", "close").send().await
        })
        .await
    }

    /// Waits for something, and shows the log if it does not come.
    pub(crate) async fn until<T, Fut: Future<Output = anyhow::Result<T>>>(&self, state: impl FnMut() -> Fut) -> T {
        poll(LIMIT, state).await.unwrap_or_else(|error| panic!("{error:#}\n{}", self.log()))
    }

    /// Waits for the end: the exit code.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        self.crun.wait().unwrap().code()
    }

    /// Its processes, as the machine numbers them: pid and title.
    pub(crate) fn processes(&self) -> Vec<(i32, String)> {
        let state: Value =
            serde_json::from_slice(&crun(self.scratch.path()).arg("state").arg(&self.name).output().unwrap().stdout).unwrap();
        let space = |pid: i32| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let own = space(state["pid"].as_i64().unwrap().try_into().unwrap());
        let pids = ngx_proc::procfs::pids().into_iter().filter(|pid| space(*pid) == own);
        pids.map(|pid| (pid, ngx_proc::procfs::title(pid))).collect()
    }
}

impl Drop for Container {
    fn drop(&mut self) {
        let _ = crun(self.scratch.path()).args(["delete", "--force", &self.name]).output();
        let _ = self.crun.wait();
    }
}

pub(crate) fn crun(scratch: &Path) -> Command {
    let mut command = Command::new("crun");
    command.arg("--cgroup-manager=disabled").arg("--root").arg(scratch.join("state"));
    command
}

fn specification(settings: &Settings<'_>, scratch: &Path) -> Value {
    let capabilities = json!(["CAP_NET_BIND_SERVICE"]);
    let arguments: Vec<&str> = ["/usr/bin/narthex"].iter().chain(settings.arguments).copied().collect();
    let env = ["PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "XDG_RUNTIME_DIR=/run"];
    json!({
        "ociVersion": "1.0.2",
        "root": {"path": root(), "readonly": true},
        "process": {
            "user": {"uid": settings.user.0, "gid": settings.user.1},
            "args": arguments,
            "env": env.iter().chain(settings.env).collect::<Vec<_>>(),
            "cwd": "/etc/nginx",
            "noNewPrivileges": true,
            "capabilities": {"bounding": capabilities, "permitted": capabilities, "effective": capabilities},
        },
        "mounts": mounts(settings, scratch),
        "linux": {"namespaces": [{"type": "pid"}, {"type": "mount"}, {"type": "ipc"}, {"type": "uts"}]},
    })
}

fn mounts(settings: &Settings<'_>, scratch: &Path) -> Vec<Value> {
    let bind = |source: &str, destination: &str, mode: &str| json!({"type": "bind", "source": scratch.join(source), "destination": destination, "options": ["rbind", mode]});
    let mut mounts = vec![
        json!({"type": "proc", "source": "proc", "destination": "/proc"}),
        json!({"type": "tmpfs", "source": "tmpfs", "destination": "/dev", "options": ["nosuid", "mode=755"]}),
        bind("manifests", "/usr/local/certificates", "ro"),
        bind("tmp", "/tmp", "rw"),
    ];
    if settings.work_dir {
        mounts.push(bind("work", "/run/narthex", "rw"));
    }
    mounts.extend(settings.without.iter().map(|program| bind("empty", program, "ro")));
    mounts
}
