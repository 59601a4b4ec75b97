//! An NGINX with files of its own, and the `narthex watch` beside it.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, ensure};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use testkit::http::{Request, Response};
use testkit::poll;
use testkit::ports::Ports;

use crate::PATIENCE;

/// Both processes. Dropping it ends them.
pub struct Watch {
    scratch: tempfile::TempDir,
    nginx: Child,
    narthex: Option<Child>,
    port: u16,
    listen: SocketAddr,
}

impl Watch {
    /// Starts an NGINX that answers `v0`, and `narthex watch` with these flags on this address; waits until it is ready.
    ///
    /// # Errors
    /// When it does not get ready: the error holds its log.
    pub async fn start(listen: SocketAddr, flags: &[String], env: &[(&str, &str)]) -> anyhow::Result<Self> {
        let binary = std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN names no binary: run the cases with `make e2e`")?;
        let scratch = tempfile::Builder::new().prefix("narthex-watch-").tempdir()?;
        let (dir, port) = (scratch.path().to_owned(), Ports::one()?);
        fs::set_permissions(&dir, fs::Permissions::from_mode(0o755))?;
        fs::create_dir(dir.join("conf.d"))?;
        fs::create_dir(dir.join("tmp"))?;
        fs::set_permissions(dir.join("tmp"), fs::Permissions::from_mode(0o777))?;
        write_site(&dir, port, "v0")?;
        let temp =
            ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path {}/tmp/{name};", dir.display()));
        let main = format!(
            "pid {dir}/nginx.pid; error_log {dir}/error.log notice; worker_processes 1; events {{ worker_connections 128; }}
http {{ access_log off; {} include {dir}/conf.d/*.conf; }}\n",
            temp.join(" "),
            dir = dir.display()
        );
        fs::write(dir.join("nginx.conf"), main)?;
        let log = || File::options().create(true).append(true).open(dir.join("log"));
        let mut nginx = Command::new("nginx");
        nginx.arg("-p").arg(&dir).arg("-c").arg(dir.join("nginx.conf")).args(["-g", "daemon off;"]);
        let nginx = nginx.stdin(Stdio::null()).stdout(log()?).stderr(log()?).spawn()?;
        let mut watch = Self { nginx, narthex: None, port, listen, scratch };
        watch.until("v0").await?;
        let mut narthex = Command::new(binary);
        narthex.arg("watch").arg("--config-dir").arg(dir.join("conf.d")).arg("--pid-file").arg(dir.join("nginx.pid"));
        narthex
            .arg(format!("--listen={listen}"))
            .arg("--allow=127.0.0.0/8")
            .args(flags)
            .env_remove("POD_NAME")
            .env_remove("POD_NAMESPACE")
            .envs(env.iter().copied());
        watch.narthex = Some(narthex.stdin(Stdio::null()).stdout(log()?).stderr(log()?).spawn()?);
        let ready = poll(PATIENCE, || async {
            let response = Request::get(watch.listen, "/readyz").host("n").send().await?;
            ensure!(response.status == 200, "{}", response.text());
            Ok(())
        });
        ready.await.with_context(|| watch.log())?;
        Ok(watch)
    }

    /// A file of the configuration.
    pub fn conf(&self, name: &str) -> PathBuf {
        self.scratch.path().join("conf.d").join(name)
    }

    /// Makes the site answer this text.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn write(&self, text: &str) -> anyhow::Result<()> {
        write_site(self.scratch.path(), self.port, text)
    }

    /// Waits until NGINX answers this text.
    ///
    /// # Errors
    /// When it does not.
    pub async fn until(&self, text: &str) -> anyhow::Result<()> {
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        let served = poll(PATIENCE, || async {
            let body = Request::get(address, "/").host("x").header("Connection", "close").send().await?.text();
            ensure!(body == text, "it answers {body:?}");
            Ok(())
        });
        served.await.with_context(|| self.log())
    }

    /// Asks for a reload.
    ///
    /// # Errors
    /// No answer.
    pub async fn reload(&self) -> anyhow::Result<Response> {
        Request::new("POST", self.listen, "/reload").host("n").timeout(PATIENCE * 2).send().await
    }

    /// Reloads that this NGINX has begun.
    pub fn reloads(&self) -> usize {
        let log = fs::read_to_string(self.scratch.path().join("error.log")).unwrap_or_default();
        log.lines().filter(|line| line.ends_with("reconfiguring") && line.contains("SIGHUP")).count()
    }

    /// Kills `narthex watch` (SIGKILL); its NGINX goes on.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let mut narthex = self.narthex.take().context("it does not run")?;
        narthex.kill()?;
        narthex.wait()?;
        Ok(())
    }

    /// The log of both.
    pub fn log(&self) -> String {
        fs::read_to_string(self.scratch.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if let Some(narthex) = &mut self.narthex {
            let _ = narthex.kill();
            let _ = narthex.wait();
        }
        let _ = kill(Pid::from_raw(self.nginx.id().cast_signed()), Signal::SIGTERM);
        let _ = self.nginx.wait();
    }
}

fn write_site(dir: &Path, port: u16, text: &str) -> anyhow::Result<()> {
    let site = format!("server {{ listen 127.0.0.1:{port}; location / {{ return 200 '{text}'; }} }}\n");
    Ok(fs::write(dir.join("conf.d/site.conf"), site)?)
}
