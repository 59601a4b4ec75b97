//! Two NGINX: one runs what is rendered and gets routes as data, one runs the equivalent text.
//!
//! They listen on the same ports of different loopback addresses, so that their configurations say the same about ports.
//! Three things are added to the files: both tell in a response header which rule answered, and the text gets the control
//! socket, which it needs for the endpoints and has no block for, and a revision of its own for each version.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use model::{Live, Model};
use nginx::{Options, Supervisor};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use render::{Capabilities, ConfFilter, FileSet, Paths};
use tempfile::TempDir;

/// Where the router listens.
pub const ROUTER: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 1);
/// Where the text listens.
pub const TEXT: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// The response header that tells which rule answered.
pub const RULE_HEADER: &str = "x-rule";

/// How long an NGINX may take to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Most records in one request to the control socket.
const BATCH: usize = 200;

/// Both NGINX.
#[derive(Debug)]
pub struct Sides {
    router: Side,
    text: Side,
    caps: Capabilities,
    port: u16,
    /// How many models they were brought to.
    version: u64,
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
        Ok(Self { router: Side::open(&caps).await?, text: Side::open(&caps).await?, caps, port, version: 0 })
    }

    /// Brings both to a model.
    ///
    /// # Errors
    /// One of them refuses it, or does not answer.
    pub async fn apply(&mut self, model: &Model) -> anyhow::Result<()> {
        self.version += 1;
        let mut model = model.clone();
        Arc::make_mut(&mut model.fixed.globals).config.bind_address = vec![IpAddr::V4(ROUTER)];
        let mut set = render::render(&model.fixed, &self.caps, &self.router.paths)?;
        change(&mut set, naming_rules)?;
        self.router.bring(&set, &model.live).await.context("the NGINX of the router")?;

        Arc::make_mut(&mut model.fixed.globals).config.bind_address = vec![IpAddr::V4(TEXT)];
        let mut set = render::render(&model.fixed, &self.caps, &self.text.paths)?;
        let conf = render::conf(&model, &self.caps, &self.text.paths, ConfFilter::default())?;
        let revision = format!("{:016x}", self.version);
        change(&mut set, |rendered| {
            let control = rendered.find("    # The control plane's own door").context("the configuration has no control socket")?;
            // Both end alike, with the stream block.
            let http = conf.split_once("\nstream {").map_or(&*conf, |(http, _)| http);
            let end = http.rfind('}').context("the text has no end")?;
            naming_rules(&format!("{}\n{}", &http[..end], &rendered[control..]))
        })?;
        let text = String::from_utf8(set.conf().to_vec())?.replace(&set.revision, &revision);
        set.files[0].bytes = text.into_bytes();
        set.revision = revision;
        self.text.bring(&set, &model.live).await.context("the NGINX of the text")
    }

    /// The equivalent text for one host, as far as there is one.
    pub fn text_of(&self, model: &Model, host: &str) -> String {
        let filter = ConfFilter { host: Some(host), path: None };
        render::conf(model, &self.caps, &self.text.paths, filter).unwrap_or_else(|error| error.to_string())
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
    /// It refuses the model, or does not answer.
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
        if let Some(pid) = self.supervisor.pid() {
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
        for side in [&self.router, &self.text] {
            side.end();
            tokio::time::timeout(PATIENCE, side.supervisor.exited()).await.context("NGINX does not end")?;
        }
        Ok(())
    }
}

fn change(set: &mut FileSet, how: impl FnOnce(&str) -> anyhow::Result<String>) -> anyhow::Result<()> {
    let conf = how(std::str::from_utf8(set.conf())?)?;
    set.files[0].bytes = conf.into_bytes();
    Ok(())
}

/// Adds the header that tells which rule answered.
fn naming_rules(conf: &str) -> anyhow::Result<String> {
    let at = conf.find("    upstream upstream_balancer").context("the configuration has no upstream block")?;
    let names = ["namespace", "ingress_name", "service_name", "service_port", "location_path", "proxy_upstream_name"];
    let value: Vec<String> = names.iter().map(|name| format!("${{{name}}}")).collect();
    Ok(format!("{}    add_header {RULE_HEADER} \"{}\" always;\n{}", &conf[..at], value.join(" | "), &conf[at..]))
}
