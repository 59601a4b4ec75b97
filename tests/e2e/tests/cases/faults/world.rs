//! A controller behind a proxy to the API server, its objects, and what they say.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, ensure};
use e2e::{Case, Controller};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{DeleteParams, Patch, PatchParams};
use nix::sys::signal::Signal;
use testkit::api_proxy::ApiProxy;
use testkit::echo::{self, Handle, Identity, Seen};
use testkit::failing::FailingNginx;
use testkit::http::Request;
use testkit::kube::{PathType, mk_ingress, mk_service, mk_slice};
use testkit::load::{Load, Running};
use testkit::{poll_every, ports, processes};

/// Numbers of hosts that come and go, of Services, and of servers that they share.
pub(crate) const HOSTS: usize = 6;
pub(crate) const SERVICES: usize = 4;
pub(crate) const SERVERS: usize = 4;

/// Longest time from the last repair to the state that the API server describes.
const REPAIR: Duration = Duration::from_secs(10);
/// Requests a second of either kind of clients.
const RATE: u32 = 150;
/// The host that is always there, for the load.
const STEADY: &str = "steady.example.com";

pub(crate) struct World {
    case: Case,
    pub(crate) proxy: ApiProxy,
    pub(crate) nginx: FailingNginx,
    /// Directory of the script around NGINX.
    _scratch: tempfile::TempDir,
    controller: Controller,
    /// They answer all the time, so that any endpoint that was ever good is.
    servers: Vec<Handle>,
}

fn stop(on: bool) -> Signal {
    if on { Signal::SIGSTOP } else { Signal::SIGCONT }
}

fn host(number: usize) -> String {
    format!("h{number}.example.com")
}

impl World {
    pub(crate) async fn serving() -> anyhow::Result<Self> {
        let case = Case::new("faults").await?;
        let proxy = ApiProxy::start(case.bed.info()).await?;
        let scratch = tempfile::tempdir()?;
        let nginx = FailingNginx::new(scratch.path())?;
        let mut servers = Vec::new();
        for address in ports::addresses(SERVERS)? {
            servers.push(echo::start((address, 8080).into(), Identity::named(address.to_string())).await?);
        }
        for service in 0..SERVICES {
            case.create(&mk_service(&format!("s{service}"), 80, 8080, None)).await?;
        }
        let ingress = mk_ingress("steady").class("nginx").host(STEADY).path("/", PathType::Prefix, "s0", 80);
        case.create(&ingress.build()).await?;
        let binary = format!("--nginx-binary={}", nginx.binary().display());
        let controller = case.controller().flag(&binary).start_as(proxy.kubeconfig()).await?;
        let world = Self { case, proxy, nginx, _scratch: scratch, controller, servers };
        for service in 0..SERVICES {
            world.endpoints(service, 1 << service).await?;
        }
        for number in 0..HOSTS / 2 {
            world.route(number, number, None).await?;
        }
        world.settled().await?;
        Ok(world)
    }

    /// Requests with fresh connections and with kept ones.
    pub(crate) fn loads(&self) -> [Running; 2] {
        let request = Request::get(self.controller.http(), "/").host(STEADY);
        [request.clone().header("Connection", "close"), request].map(|request| Load::new(request, RATE).start())
    }

    async fn apply<K: e2e::Namespaced>(&self, name: &str, object: &K) -> anyhow::Result<()> {
        let params = PatchParams::apply("e2e").force();
        self.case.namespace.api::<K>().patch(name, &params, &Patch::Apply(object)).await?;
        Ok(())
    }

    pub(crate) async fn route(&self, number: usize, service: usize, size: Option<u8>) -> anyhow::Result<()> {
        let name = format!("h{number}");
        let ingress = mk_ingress(&name).class("nginx").host(&host(number)).path("/", PathType::Prefix, &format!("s{service}"), 80);
        let ingress = match size {
            Some(size) => ingress.annotation("proxy-buffer-size", &format!("{}k", u32::from(size) + 4)),
            None => ingress,
        };
        self.apply(&name, &ingress.build()).await
    }

    pub(crate) async fn unroute(&self, number: usize) -> anyhow::Result<()> {
        match self.case.namespace.api::<Ingress>().delete(&format!("h{number}"), &DeleteParams::default()).await {
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
            result => Ok(result.map(drop)?),
        }
    }

    pub(crate) async fn endpoints(&self, service: usize, servers: u8) -> anyhow::Result<()> {
        let chosen = self.servers.iter().enumerate().filter(|(number, _)| servers >> number & 1 == 1);
        let addresses: Vec<_> = chosen.map(|(_, server)| server.address()).collect();
        let name = format!("s{service}");
        self.apply(&name, &mk_slice(&name, &name, &addresses)).await
    }

    fn conf(&self) -> std::path::PathBuf {
        self.controller.work_dir().join("nginx.conf")
    }

    pub(crate) fn kill_masters(&self) {
        processes::masters(&self.conf()).into_iter().for_each(|pid| processes::signal(pid, Signal::SIGKILL));
    }

    pub(crate) fn kill_workers(&self) {
        processes::workers(&self.conf()).into_iter().for_each(|pid| processes::signal(pid, Signal::SIGKILL));
    }

    pub(crate) fn stop_workers(&self, on: bool) {
        processes::workers(&self.conf()).into_iter().for_each(|pid| processes::signal(pid, stop(on)));
    }

    pub(crate) fn stop_controller(&self, on: bool) {
        if let Some(pid) = self.controller.pid() {
            processes::signal(pid.cast_signed(), stop(on));
        }
    }

    pub(crate) fn no_memory(&self, on: bool) {
        self.nginx.no_memory(on, &self.conf());
    }

    /// Settings that NGINX refuses, or good ones.
    pub(crate) async fn settings(&self, broken: bool) -> anyhow::Result<()> {
        let snippet = if broken { "no_such_directive on;" } else { "# sound" };
        self.case.settings(&[("http-snippet", snippet)]).await
    }

    /// Kills the controller and starts another, without waiting for it.
    pub(crate) fn restart(&mut self) -> anyhow::Result<()> {
        self.controller.kill()?;
        self.controller.spawn()
    }

    pub(crate) fn log(&self) -> String {
        self.controller.log()
    }

    /// By the API server: each host with the addresses that may answer, none where it has no Ingress.
    async fn truth(&self) -> anyhow::Result<BTreeMap<String, BTreeSet<String>>> {
        let mut services = BTreeMap::<String, BTreeSet<String>>::new();
        for slice in self.case.namespace.api::<EndpointSlice>().list(&Default::default()).await? {
            let service = slice.metadata.labels.unwrap_or_default().remove("kubernetes.io/service-name").context("a Service")?;
            let addresses = slice.endpoints.into_iter().flat_map(|endpoint| endpoint.addresses);
            services.entry(service).or_default().extend(addresses.map(|address| format!("{address}:8080")));
        }
        let mut hosts: BTreeMap<_, _> = (0..HOSTS).map(|number| (host(number), BTreeSet::new())).collect();
        for ingress in self.case.namespace.api::<Ingress>().list(&Default::default()).await? {
            for rule in ingress.spec.and_then(|spec| spec.rules).unwrap_or_default() {
                let path = rule.http.and_then(|http| http.paths.into_iter().next()).context("a path")?;
                let service = path.backend.service.context("a Service")?.name;
                hosts.insert(rule.host.context("a host")?, services.get(&service).cloned().unwrap_or_default());
            }
        }
        Ok(hosts)
    }

    /// The address that answers a host.
    async fn answer(&self, host: &str) -> anyhow::Result<Option<String>> {
        let response = self.controller.get(host, "/").await?;
        match response.status {
            200 => Ok(Some(Seen::read(&response.body)?.address)),
            404 => Ok(None),
            status => anyhow::bail!("{host} is answered {status}"),
        }
    }

    /// Waits until every host's answers are what the API server says, one master runs, and the controller says that all is well.
    pub(crate) async fn settled(&self) -> anyhow::Result<()> {
        poll_every(Duration::from_millis(100), REPAIR, || async {
            for (host, expected) in self.truth().await? {
                let mut seen = BTreeSet::new();
                // More than there are endpoints, so that one that should be gone has its turn.
                for _ in 0..=SERVERS {
                    seen.extend(self.answer(&host).await?);
                }
                ensure!(seen.is_subset(&expected) && seen.is_empty() == expected.is_empty(), "{host}: {seen:?}, not {expected:?}");
            }
            let masters = processes::masters(&self.conf());
            ensure!(masters.len() == 1, "masters: {masters:?}");
            let ready = Request::get(self.controller.health(), "/readyz").send().await?;
            ensure!(ready.status == 200 && !ready.text().contains("degraded"), "{}", ready.text());
            Ok(())
        })
        .await
    }
}
