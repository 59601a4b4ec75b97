//! Containers of `crun`.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use anyhow::Context;
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sys::signal::Signal;
use serde_json::Value;
use tokio::process::{Child, Command};

/// A container that runs. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Running {
    /// Directory of its specification and its writable layer.
    bundle: PathBuf,
    name: String,
    user: (u32, u32),
    child: Child,
    /// Whether its root is a layer of its own over the image.
    layered: bool,
}

/// The directories of a container that is to be started.
pub(super) struct Bundle<'a> {
    /// A new directory for this start of it.
    pub(super) directory: PathBuf,
    /// Name, unique on this machine's view of `crun`.
    pub(super) name: String,
    /// Its output is appended to it.
    pub(super) log: &'a Path,
    /// The file that gets its process id.
    pub(super) pid_file: &'a Path,
}

impl Running {
    /// Starts it. `image`: the root below a writable layer, if its specification asks for one.
    ///
    /// # Errors
    /// A file can't be written, the layer can't be mounted, or there is no `crun`.
    pub(super) fn start(bundle: Bundle<'_>, specification: &Value, image: Option<&Path>) -> anyhow::Result<Self> {
        let directory = bundle.directory;
        fs::create_dir_all(&directory).with_context(|| format!("directory {}", directory.display()))?;
        fs::write(directory.join("config.json"), specification.to_string())?;
        if let Some(image) = image {
            layer(image, &directory)?;
        }
        let log = File::options().create(true).append(true).open(bundle.log).with_context(|| format!("log {}", bundle.log.display()))?;
        let mut command = crun(&directory);
        command.arg("run").arg("--bundle").arg(&directory).arg("--pid-file").arg(bundle.pid_file).arg(&bundle.name);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        let child = command.spawn().context("cannot start crun (apt-get install crun)")?;
        let id = |name: &str| specification["process"]["user"][name].as_u64().and_then(|id| u32::try_from(id).ok()).unwrap_or_default();
        Ok(Self { bundle: directory, name: bundle.name, user: (id("uid"), id("gid")), child, layered: image.is_some() })
    }

    /// Waits for its end: the exit code, 128 + n after a signal n.
    ///
    /// # Errors
    /// The system can't say.
    pub(super) async fn ended(&mut self) -> anyhow::Result<i32> {
        Ok(self.child.wait().await?.code().unwrap_or(137))
    }

    /// Sends a signal to its first process; one that has ended needs none.
    pub(super) async fn signal(&self, signal: Signal) {
        let sent = crun(&self.bundle).arg("kill").arg(&self.name).arg(signal.as_str()).stdin(Stdio::null()).output().await;
        if let Ok(output) = sent.as_ref()
            && !output.status.success()
        {
            tracing::debug!(name = self.name, "{}", String::from_utf8_lossy(&output.stderr));
        }
    }

    /// A handle for commands in it.
    pub(super) fn exec(&self) -> Exec {
        Exec { bundle: self.bundle.clone(), name: self.name.clone(), user: self.user }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Its first process takes all others along.
        if self.child.try_wait().ok().flatten().is_none() {
            let mut kill = crun(&self.bundle).into_std();
            let _ = kill.arg("kill").arg(&self.name).arg(Signal::SIGKILL.as_str()).stdin(Stdio::null()).stderr(Stdio::null()).status();
        }
        if self.layered {
            let _ = umount2(&self.bundle.join("rootfs"), MntFlags::MNT_DETACH);
        }
    }
}

/// The way into a running container.
#[derive(Debug, Clone)]
pub(in crate::kubelet) struct Exec {
    bundle: PathBuf,
    name: String,
    user: (u32, u32),
}

impl Exec {
    /// Runs a command in it, as its user.
    ///
    /// # Errors
    /// There is no `crun`.
    pub(super) async fn run(&self, command: &[String]) -> anyhow::Result<Output> {
        let user = format!("{}:{}", self.user.0, self.user.1);
        let mut crun = crun(&self.bundle);
        crun.args(["exec", "--user", &user, &self.name]).args(command).stdin(Stdio::null()).kill_on_drop(true);
        crun.output().await.context("cannot start crun")
    }
}

fn crun(bundle: &Path) -> Command {
    let mut command = Command::new("crun");
    command.arg("--cgroup-manager=disabled").arg("--root").arg(bundle.join("state"));
    command
}

/// Mounts a writable layer over the image at `rootfs`.
fn layer(image: &Path, bundle: &Path) -> anyhow::Result<()> {
    for name in ["upper", "work", "rootfs"] {
        fs::create_dir_all(bundle.join(name))?;
    }
    let options =
        format!("lowerdir={},upperdir={},workdir={}", image.display(), bundle.join("upper").display(), bundle.join("work").display());
    let target = bundle.join("rootfs");
    mount(Some("overlay"), &target, Some("overlay"), MsFlags::empty(), Some(options.as_str()))
        .with_context(|| format!("cannot mount a writable layer at {}", target.display()))
}
