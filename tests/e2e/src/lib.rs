//! Common parts of the end-to-end cases: a controller of their own, in the bed, with ports and a namespace of its own.
//!
//! Run them with `make e2e` (or `bed run -- run-tests --package e2e`); they need `NARTHEX_BIN`.

mod account;
mod answers;
pub mod browser;
mod ending;
pub mod helm;
pub mod hostile;
mod live;
mod objects;
pub mod receiver;
pub mod rollout;
pub mod watch;

use std::collections::BTreeMap;
use std::fs::File;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::IngressClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, Patch, PatchParams, PostParams};
use parking_lot::Mutex;
use testkit::bed::Bed;
use testkit::http::{Request, Response};
use testkit::kube::{Namespace, mk_ingress_class};
use testkit::poll;
use testkit::ports::Ports;

pub use answers::has_fake_certificate;
pub use objects::{Echo, Namespaced, Servers, rule};

/// Longest time of a change before a case fails. Changes take milliseconds; the machine may be busy.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// A case's surroundings: the shared bed and a namespace for itself.
pub struct Case {
    /// The bed.
    pub bed: Bed,
    /// Deleted when the case ends.
    pub namespace: Namespace,
}

impl Case {
    /// Enters the bed and makes a namespace whose name begins with `id`.
    ///
    /// # Errors
    /// There is no bed.
    pub async fn new(id: &str) -> anyhow::Result<Self> {
        Self::with_bed(Bed::from_env()?, id).await
    }

    /// The same in another bed.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn with_bed(bed: Bed, id: &str) -> anyhow::Result<Self> {
        let namespace = bed.namespace(&id.to_ascii_lowercase().replace('_', "-")).await?;
        ensure_class(&namespace, mk_ingress_class("nginx", "k8s.io/ingress-nginx")).await?;
        Ok(Self { bed, namespace })
    }

    /// The namespace's name.
    pub fn ns(&self) -> &str {
        self.namespace.name()
    }

    /// Applies YAML in which `{NS}` stands for the namespace's name.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn apply(&self, yaml: &str) -> anyhow::Result<()> {
        self.namespace.apply(&yaml.replace("{NS}", self.ns())).await
    }

    /// A controller with the usual flags: this namespace only, the ConfigMap `settings` of it.
    pub fn controller(&self) -> Launch<'_> {
        let args = vec![format!("--watch-namespace={}", self.ns()), format!("--configmap={}/settings", self.ns())];
        Launch { case: self, args, env: Vec::new(), work_dir: None }
    }

    /// A controller with no flags but those that the harness itself needs.
    pub fn bare_controller(&self) -> Launch<'_> {
        Launch { case: self, args: Vec::new(), env: Vec::new(), work_dir: None }
    }

    /// Sets the keys of the ConfigMap `settings`, replacing all others.
    ///
    /// # Errors
    /// The API server refuses it.
    pub async fn settings(&self, settings: &[(&str, &str)]) -> anyhow::Result<()> {
        let mut data: BTreeMap<String, String> = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        data.entry("worker-processes".into()).or_insert_with(|| "1".into());
        let map = ConfigMap {
            metadata: ObjectMeta { name: Some("settings".into()), ..Default::default() },
            data: Some(data),
            ..Default::default()
        };
        self.namespace.api::<ConfigMap>().patch("settings", &PatchParams::apply("e2e").force(), &Patch::Apply(map)).await?;
        Ok(())
    }
}

/// Makes a class unless it exists.
///
/// # Errors
/// The API server refuses it.
pub async fn ensure_class(namespace: &Namespace, class: IngressClass) -> anyhow::Result<()> {
    let api: Api<IngressClass> = Api::all(namespace.client().clone());
    match api.create(&PostParams::default(), &class).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// A controller about to start.
pub struct Launch<'a> {
    case: &'a Case,
    args: Vec<String>,
    env: Vec<(String, String)>,
    work_dir: Option<PathBuf>,
}

impl Launch<'_> {
    /// Adds a flag; `{NS}` stands for the namespace's name.
    pub fn flag(mut self, flag: &str) -> Self {
        self.args.push(flag.replace("{NS}", self.case.ns()));
        self
    }

    /// Adds an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// Gives it, and its NGINX, a clock of its own: a file has the seconds to add, such as `-120`.
    pub fn clock(mut self, file: &Path) -> Self {
        let environment = testkit::clock::environment(file);
        self.env.extend(environment.map(|(name, value)| (name.to_owned(), value.display().to_string())));
        self
    }

    /// Uses a work directory that outlives the controller.
    pub fn work_dir(mut self, dir: &Path) -> Self {
        self.work_dir = Some(dir.to_owned());
        self
    }

    /// Starts it and waits until it is healthy.
    ///
    /// # Errors
    /// When it ends or does not get healthy: the error holds its log.
    pub async fn start(self) -> anyhow::Result<Controller> {
        let kubeconfig = self.case.bed.kubeconfig().to_owned();
        self.start_as(&kubeconfig).await
    }

    /// The same as the user of a kubeconfig file instead of as an administrator.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn start_as(self, kubeconfig: &Path) -> anyhow::Result<Controller> {
        if self.args.iter().any(|arg| arg.starts_with("--configmap=")) {
            let api = self.case.namespace.api::<ConfigMap>();
            if api.get_opt("settings").await?.is_none() {
                self.case.settings(&[]).await?;
            }
        }
        let source = format!("--kubeconfig={}", kubeconfig.display());
        let args = std::iter::once(source).chain(self.args).collect();
        Controller::launch(args, self.env, self.work_dir, None).await
    }
}

/// A running `narthex run`. Dropping it stops it and its NGINX.
pub struct Controller {
    child: Option<Child>,
    scratch: tempfile::TempDir,
    work_dir: PathBuf,
    ports: Vec<u16>,
    args: Vec<String>,
    env: Vec<(String, String)>,
}

impl Controller {
    /// Starts one with these flags and waits until it is healthy. `ports`: those of an earlier one.
    ///
    /// # Errors
    /// When it ends or does not get healthy: the error holds its log.
    pub async fn launch(
        args: Vec<String>,
        env: Vec<(String, String)>,
        work_dir: Option<PathBuf>,
        ports: Option<Vec<u16>>,
    ) -> anyhow::Result<Self> {
        let scratch = tempfile::Builder::new().prefix("narthex-").tempdir()?;
        let work_dir = work_dir.unwrap_or_else(|| scratch.path().join("work"));
        let ports = match ports {
            Some(ports) => ports,
            None => Ports::take(3)?,
        };
        let mut controller = Self { child: None, scratch, work_dir, ports, args, env };
        controller.start().await?;
        Ok(controller)
    }

    /// Starts it again after [`Self::kill`], with the same flags, ports and work directory, and waits until it is healthy.
    ///
    /// # Errors
    /// As [`Self::launch`].
    pub async fn start(&mut self) -> anyhow::Result<()> {
        self.spawn()?;
        self.healthy().await.with_context(|| format!("the controller did not start:\n{}", self.log()))
    }

    /// The same without waiting.
    ///
    /// # Errors
    /// When it can't be started.
    pub fn spawn(&mut self) -> anyhow::Result<()> {
        let binary = std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN names no binary: run the cases with `make e2e`")?;
        let log = File::options().create(true).append(true).open(self.log_path())?;
        let mut command = Command::new(binary);
        command.args(["run", "--drain-timeout=1", "--shutdown-grace-period=0", "--post-shutdown-grace-period=0", "--log-level=info"]);
        command.args(&self.args).arg("--work-dir").arg(&self.work_dir);
        command.arg(format!("--http-port={}", self.http().port())).arg(format!("--https-port={}", self.https().port()));
        command.arg(format!("--healthz-port={}", self.health().port()));
        command.envs(self.env.iter().map(|(name, value)| (name, value))).stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log);
        self.child = Some(command.spawn()?);
        Ok(())
    }

    /// Waits until it is healthy or has ended.
    async fn healthy(&mut self) -> anyhow::Result<()> {
        let address = self.health();
        let child = Mutex::new(self.child.as_mut().context("the controller is not running")?);
        let ended = poll(PATIENCE, || async {
            if let Some(status) = child.lock().try_wait()? {
                return Ok(Some(status));
            }
            let response = Request::get(address, "/healthz").send().await?;
            ensure!(response.status == 200, "/healthz: {}", response.status);
            Ok(None)
        })
        .await?;
        match ended {
            Some(status) => bail!("it ended with {status}"),
            None => Ok(()),
        }
    }

    fn address(&self, index: usize) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports[index]).into()
    }

    /// Its address for HTTP.
    pub fn http(&self) -> SocketAddr {
        self.address(0)
    }

    /// Its address for HTTPS.
    pub fn https(&self) -> SocketAddr {
        self.address(1)
    }

    /// Its address for health and metrics.
    pub fn health(&self) -> SocketAddr {
        self.address(2)
    }

    /// Its work directory.
    pub fn work_dir(&self) -> &Path {
        &self.work_dir
    }

    /// Process id of the controller.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// Process id of the NGINX master.
    ///
    /// # Errors
    /// There is no pid file.
    pub fn nginx_pid(&self) -> anyhow::Result<i32> {
        Ok(std::fs::read_to_string(self.work_dir.join("run/nginx.pid"))?.trim().parse()?)
    }

    fn log_path(&self) -> PathBuf {
        self.scratch.path().join("log")
    }

    /// Its log, NGINX included, which writes requests as clients sent them.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(self.log_path()).unwrap_or_default()).into_owned()
    }

    /// `GET path` over HTTP.
    ///
    /// # Errors
    /// No answer.
    pub async fn get(&self, host: &str, path: &str) -> anyhow::Result<Response> {
        Request::get(self.http(), path).host(host).send().await
    }

    /// `GET path` over HTTPS, with SNI and Host.
    ///
    /// # Errors
    /// No answer.
    pub async fn get_tls(&self, host: &str, path: &str) -> anyhow::Result<Response> {
        Request::get(self.https(), path).tls(host).host(host).send().await
    }

    /// Waits until `GET path` is answered with `status`.
    ///
    /// # Errors
    /// When it is not within [`PATIENCE`]: the error holds the last answer and the log.
    pub async fn until(&self, host: &str, path: &str, status: u16) -> anyhow::Result<Response> {
        let what = format!("{status} for {host}{path}");
        self.until_that(&what, host, path, |response| response.status == status).await
    }

    /// Waits until the answer to `GET path` satisfies a condition.
    ///
    /// # Errors
    /// As [`Self::until`].
    pub async fn until_that(&self, what: &str, host: &str, path: &str, good: impl Fn(&Response) -> bool) -> anyhow::Result<Response> {
        let result = poll(PATIENCE, || async {
            let response = self.get(host, path).await?;
            ensure!(good(&response), "waiting for {what}: {} {}", response.status, response.text());
            Ok(response)
        });
        result.await.with_context(|| format!("log of the controller:\n{}", self.log()))
    }

    /// The whole text of /metrics.
    ///
    /// # Errors
    /// No answer.
    pub async fn metrics(&self) -> anyhow::Result<String> {
        Ok(Request::get(self.health(), "/metrics").send().await?.text())
    }

    /// The sum of all series of a metric.
    ///
    /// # Errors
    /// No answer.
    pub async fn metric(&self, name: &str) -> anyhow::Result<f64> {
        let text = self.metrics().await?;
        let values = text.lines().filter(|line| line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' '])));
        Ok(values.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum())
    }

    /// Confirmed reloads so far.
    ///
    /// # Errors
    /// No answer.
    pub async fn reloads(&self) -> anyhow::Result<f64> {
        Ok(self.metric("nginx_ingress_controller_success").await? - self.metric("narthex_nginx_starts_total").await?)
    }

    /// `narthex conf ARGS`, every run of white space one blank.
    ///
    /// # Errors
    /// The command fails.
    pub fn conf(&self, args: &[&str]) -> anyhow::Result<String> {
        let binary = std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN")?;
        let output = Command::new(binary).arg("conf").arg("--work-dir").arg(&self.work_dir).args(args).output()?;
        ensure!(output.status.success(), "narthex conf: {}", String::from_utf8_lossy(&output.stderr));
        Ok(String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// `nginx.conf` as it is on disk, every run of white space one blank.
    ///
    /// # Errors
    /// When it can't be read.
    pub fn nginx_conf(&self) -> anyhow::Result<String> {
        let text = std::fs::read_to_string(self.work_dir.join("nginx.conf"))?;
        Ok(text.split_whitespace().collect::<Vec<_>>().join(" "))
    }

    /// Kills the controller alone (SIGKILL); its NGINX goes on.
    ///
    /// # Errors
    /// When it is not running.
    pub fn kill(&mut self) -> anyhow::Result<()> {
        let mut child = self.child.take().context("the controller is not running")?;
        child.kill()?;
        child.wait()?;
        Ok(())
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        use nix::sys::signal::{Signal, kill};
        use nix::unistd::Pid;
        if let Some(mut child) = self.child.take() {
            let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
            let _ = child.wait();
        } else if let Ok(pid) = self.nginx_pid() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
        }
        if std::thread::panicking() {
            print_log(&self.log());
        }
    }
}

/// Everything but all the access log: its last lines are enough to see what was going on.
#[expect(clippy::print_stderr, reason = "the log of a failed case")]
fn print_log(log: &str) {
    const ACCESS_LINES: usize = 10;
    let is_access = |line: &&str| line.contains(" HTTP/1.1\" ") || line.contains(" HTTP/2.0\" ");
    let mut skip = log.lines().filter(is_access).count().saturating_sub(ACCESS_LINES);
    eprintln!("--- log of the controller, {skip} lines of the access log left out");
    for line in log.lines() {
        if is_access(&line) && skip > 0 {
            skip -= 1;
        } else {
            eprintln!("{line}");
        }
    }
}
