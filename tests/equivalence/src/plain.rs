//! An NGINX that runs a text.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command};
use std::time::Duration;

use anyhow::Context;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tempfile::TempDir;

/// How long it may take to listen.
const PATIENCE: Duration = Duration::from_secs(10);

/// A running NGINX.
#[derive(Debug)]
pub struct Plain {
    child: Child,
    _dir: TempDir,
}

impl Plain {
    /// Starts the binary with what `conf` makes of its directory, and waits until it listens there.
    ///
    /// # Errors
    /// NGINX can't be started, or does not listen in time.
    pub async fn start(binary: &Path, listens: SocketAddr, conf: impl FnOnce(&Path) -> String) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        // Workers are another user where the tests run as root.
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755))?;
        let file = dir.path().join("nginx.conf");
        std::fs::write(&file, conf(dir.path()))?;
        let mut command = Command::new(binary);
        let child = command.arg("-p").arg(dir.path()).arg("-c").arg(&file).args(["-e", "stderr"]).spawn().context("start NGINX")?;
        let plain = Self { child, _dir: dir };
        testkit::poll(PATIENCE, || async { Ok(tokio::net::TcpStream::connect(listens).await.map(drop)?) }).await?;
        Ok(plain)
    }
}

impl Drop for Plain {
    fn drop(&mut self) {
        // It may have ended meanwhile.
        let _ = kill(Pid::from_raw(self.child.id().cast_signed()), Signal::SIGTERM);
        let _ = self.child.wait();
    }
}
