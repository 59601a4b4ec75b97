//! Two NGINX: one runs what is rendered and gets routes as data, one runs the same as text of its own ([`crate::oracle`]).
//!
//! They listen on the same ports of different loopback addresses, so that their configurations say the same about ports.
//! Both tell in a response header which rule answered.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use model::{Fixed, Live, Model};
use nginx::{Options, Supervisor};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use render::{Capabilities, FileSet, Paths};
use tempfile::TempDir;

use crate::oracle;
use crate::plain::Plain;

/// Where the router listens.
pub const ROUTER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
/// Where the text listens.
pub const TEXT: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// How long an NGINX may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most records in one request to the control socket.
const BATCH: usize = 200;

/// Both NGINX.
#[derive(Debug)]
pub struct Sides {
    router: Side,
    /// The other one, with the text that it runs.
    text: Option<(Plain, String)>,
    caps: Capabilities,
    port: u16,
}

/// One NGINX with a work directory of its own.
#[derive(Debug)]
pub struct Side {
    supervisor: Supervisor,
    paths: Paths,
    live: Live,
    _dir: TempDir,
}

impl Sides {
    /// Work directories, nothing running yet. `port` is the one of plain HTTP in the models that will be applied.
    ///
    /// # Errors
    /// There is no NGINX with Lua on this machine, or no directory can be made.
    pub async fn new(port: u16) -> anyhow::Result<Self> {
        let caps = nginx::detect(None).await.context("this test needs a real NGINX")?;
        Ok(Self { router: Side::open(&caps).await?, text: None, caps, port })
    }

    /// Brings both to a model.
    ///
    /// # Errors
    /// One of them refuses it, or does not answer.
    pub async fn apply(&mut self, model: &Model) -> anyhow::Result<()> {
        let mut model = model.clone();
        Arc::make_mut(&mut model.fixed.globals).config.bind_address = vec![IpAddr::V4(ROUTER)];
        let set = render::render(&naming_rules(&model.fixed)?, &self.caps, &self.router.paths)?;
        self.router.bring(&set, &model.live).await.context("the NGINX of the router")?;

        // The former one ends first: it has the port.
        self.text = None;
        let listen = SocketAddr::new(TEXT.into(), self.port);
        let mut text = Ok(String::new());
        let binary = nginx::find_binary(None)?;
        let start = Plain::start(&binary, listen, |dir| {
            text = oracle::write(&model, &self.caps, dir, listen);
            text.as_ref().cloned().unwrap_or_default()
        });
        let started = start.await;
        self.text = Some((started.context("the NGINX of the text")?, text?));
        Ok(())
    }

    /// The text for one host, as far as there is one.
    pub fn text_of(&self, host: &str) -> String {
        let text = self.text.as_ref().map_or("", |(_, text)| text);
        let name = format!("\"{host}\"");
        text.split("    server {").find(|server| server.lines().take(3).any(|line| line.contains(&name))).unwrap_or_default().to_owned()
    }

    /// Where the router answers, and where the text does.
    pub fn addresses(&self) -> [SocketAddr; 2] {
        [SocketAddr::new(ROUTER.into(), self.port), SocketAddr::new(TEXT.into(), self.port)]
    }
}

impl Side {
    /// A work directory, nothing running yet.
    ///
    /// # Errors
    /// No directory can be made, or there is no NGINX.
    pub async fn open(caps: &Capabilities) -> anyhow::Result<Self> {
        let dir = tempfile::tempdir()?;
        // Workers are another user where the tests run as root.
        std::fs::set_permissions(dir.path(), PermissionsExt::from_mode(0o755))?;
        let paths = Paths::new(dir.path());
        let mut options = Options::new(nginx::find_binary(None)?, paths.clone());
        options.worker_user.clone_from(&caps.worker_user);
        Ok(Self { supervisor: Supervisor::open(options).await?, paths, live: Live::default(), _dir: dir })
    }

    /// Brings it to a model, as the controller does.
    ///
    /// # Errors
    /// When it refuses the model, or does not answer.
    pub async fn apply(&mut self, model: &Model, caps: &Capabilities) -> anyhow::Result<()> {
        let set = render::render(&model.fixed, caps, &self.paths)?;
        self.bring(&set, &model.live).await
    }

    /// The control socket.
    pub fn control(&self) -> PathBuf {
        self.paths.control_socket()
    }

    async fn bring(&mut self, set: &FileSet, live: &Live) -> anyhow::Result<()> {
        let applied = self.supervisor.apply(set).await?;
        if applied.started {
            self.live = Live::default();
        }
        let lines: Vec<String> = self.live.delta(live).iter().map(model::Op::line).collect();
        let client = self.supervisor.live();
        for batch in lines.chunks(BATCH) {
            client.post(batch.join("\n")).await?;
        }
        self.live = live.clone();
        let state = client.set_generation(model::live::wire::format()).await?;
        anyhow::ensure!(state.digest == live.digest(), "it holds other records than were posted: {state:?}");
        Ok(())
    }
}

impl Side {
    fn end(&self) {
        // NGINX removes the file when it ends.
        let pid = std::fs::read_to_string(self.paths.pid()).ok().and_then(|text| text.trim().parse().ok());
        if let Some(pid) = pid {
            // It may have ended meanwhile.
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
    }
}

impl Drop for Side {
    /// A supervisor leaves NGINX serving; a test that failed must not.
    fn drop(&mut self) {
        self.end();
    }
}

impl Sides {
    /// Ends both.
    ///
    /// # Errors
    /// One does not end in time.
    pub async fn quit(self) -> anyhow::Result<()> {
        self.router.end();
        tokio::time::timeout(PATIENCE, self.router.supervisor.exited()).await.context("NGINX does not end")?;
        Ok(())
    }
}

/// With the header that tells which rule answered.
fn naming_rules(fixed: &Fixed) -> anyhow::Result<Fixed> {
    let mut fixed = fixed.clone();
    let snippets = &mut Arc::make_mut(&mut fixed.globals).config.snippets;
    snippets.http_snippet = Some(oracle::rule_header().parse()?);
    Ok(fixed)
}
