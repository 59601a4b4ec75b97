//! A controller with a directory as its source, a service that is asked, and two backends.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use k8s_openapi::ByteString;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use testkit::gate::Gate;
use testkit::http::Request;
use testkit::kube::{Certificate, mk_authority, mk_tls_secret};
use testkit::poll;
use testkit::ports::Ports;

use crate::backend::Backend;
use crate::guard::{Guard, USER};

/// Longer than anything takes that does happen; the machine may be busy.
const LIMIT: Duration = Duration::from_secs(60);

/// A host, and how it is at the moment.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Host {
    pub(crate) guard: Guard,
    /// KiB of a buffer: a profile of its own.
    pub(crate) size: Option<u8>,
    /// A server block of its own.
    pub(crate) host_server: bool,
}

pub(crate) struct Bed {
    scratch: tempfile::TempDir,
    /// HTTP, HTTPS, health.
    ports: Vec<u16>,
    narthex: Option<Child>,
    gate: Gate,
    client: Certificate,
    /// Backends of the hosts that are always protected, and of the last one, which is not always.
    pub(crate) guarded: Backend,
    pub(crate) late: Backend,
    pub(crate) hosts: Vec<Host>,
    /// Version of the settings, so far.
    texts: usize,
}

pub(crate) fn name(host: usize) -> String {
    format!("h{host}.example.com")
}

impl Bed {
    /// Serving, with so many hosts.
    pub(crate) async fn serving(hosts: usize) -> Self {
        let scratch = tempfile::tempdir().unwrap();
        fs::set_permissions(scratch.path(), fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(scratch.path().join("manifests")).unwrap();
        let gate = Gate::start((Ipv4Addr::LOCALHOST, 0).into()).await.unwrap();
        let authority = mk_authority("ca").unwrap();
        let names: Vec<String> = (0..hosts).map(name).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let client = authority.sign(&["a client"]).unwrap();
        let mut tls = mk_tls_secret("tls", &authority.sign(&names).unwrap());
        tls.data.get_or_insert_default().insert("ca.crt".into(), ByteString(authority.certificate_pem.clone().into_bytes()));
        let (guarded, late) = (Backend::start().await, Backend::start().await);
        let guards = Guard::PROTECTING.iter().cycle().map(|guard| Host { guard: *guard, size: None, host_server: false });
        let mut hosts: Vec<Host> = guards.take(hosts).collect();
        hosts.last_mut().unwrap().guard = Guard::Open;
        let mut bed = Self { scratch, ports: Ports::take(3).unwrap(), narthex: None, gate, client, guarded, late, hosts, texts: 0 };
        let mut tls = serde_json::to_value(tls).unwrap();
        tls["apiVersion"] = json!("v1");
        tls["kind"] = json!("Secret");
        bed.write("tls.json", &tls);
        let users = format!("{}:{{PLAIN}}{}\n", USER.0, USER.1);
        bed.write(
            "users.json",
            &json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "users" }, "stringData": { "auth": users } }),
        );
        bed.service("guarded", bed.guarded.address);
        bed.service("late", bed.late.address);
        bed.settings();
        (0..bed.hosts.len()).for_each(|host| bed.put(host));
        bed.start();
        bed.settled().await;
        bed
    }

    /// By rename: a reader never sees half of it.
    fn write(&self, name: &str, object: &Value) {
        let scratch = self.scratch.path().join("new.json");
        fs::write(&scratch, object.to_string()).unwrap();
        fs::rename(scratch, self.scratch.path().join("manifests").join(name)).unwrap();
    }

    fn service(&self, name: &str, address: SocketAddr) {
        let ports = json!([{ "name": "http", "port": 80 }]);
        self.write(
            &format!("{name}-service.json"),
            &json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name }, "spec": { "clusterIP": "10.0.0.1", "ports": ports } }),
        );
        let metadata = json!({ "name": name, "labels": { "kubernetes.io/service-name": name } });
        let ports = json!([{ "name": "http", "port": address.port() }]);
        let endpoints = json!([{ "addresses": [address.ip().to_string()], "conditions": { "ready": true } }]);
        self.write(
            &format!("{name}-slice.json"),
            &json!({ "apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice", "metadata": metadata, "addressType": "IPv4", "ports": ports,
                "endpoints": endpoints }),
        );
    }

    /// Sets the global settings, to another text each time.
    pub(crate) fn settings(&mut self) {
        self.texts += 1;
        let data = json!({ "worker-processes": "2", "allow-snippet-annotations": "true", "annotations-risk-level": "Critical",
            "http-snippet": format!("# {}", self.texts) });
        self.write("settings.json", &json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "settings" }, "data": data }));
    }

    /// Writes the Ingress of a host as it is to be.
    pub(crate) fn put(&self, host: usize) {
        let Host { guard, size, host_server } = self.hosts[host];
        let mut annotations = guard.annotations(&self.gate.url(&format!("/basic-auth/{}/{}", USER.0, USER.1)));
        annotations.extend(size.map(|size| ("proxy-buffer-size", format!("{}k", u32::from(size) + 4))));
        annotations.extend(host_server.then(|| ("server-snippet", format!("# of {host}"))));
        let annotations = annotations.into_iter().map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), json!(value)));
        let service = if host + 1 == self.hosts.len() { "late" } else { "guarded" };
        let path = json!({ "path": "/", "pathType": "Prefix", "backend": { "service": { "name": service, "port": { "number": 80 } } } });
        let spec = json!({ "ingressClassName": "nginx", "tls": [{ "hosts": [name(host)], "secretName": "tls" }],
            "rules": [{ "host": name(host), "http": { "paths": [path] } }] });
        let metadata = json!({ "name": format!("h{host}"), "annotations": Value::from_iter(annotations) });
        let ingress = json!({ "apiVersion": "networking.k8s.io/v1", "kind": "Ingress", "metadata": metadata, "spec": spec });
        self.write(&format!("h{host}.json"), &ingress);
    }

    /// Starts the controller; does not wait.
    pub(crate) fn start(&mut self) {
        let log = File::options().create(true).append(true).open(self.scratch.path().join("log")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_narthex"));
        command.arg("run").arg("--manifests").arg(self.scratch.path().join("manifests"));
        command.arg("--work-dir").arg(self.scratch.path().join("work"));
        command.args([format!("--http-port={}", self.ports[0]), format!("--https-port={}", self.ports[1])]);
        command.arg(format!("--healthz-port={}", self.ports[2]));
        command.args(["--configmap=default/settings", "--drain-timeout=0", "--sync-rate-limit=100"]);
        self.narthex = Some(command.stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap());
    }

    pub(crate) fn kill_controller(&mut self) {
        let mut narthex = self.narthex.take().unwrap();
        narthex.kill().unwrap();
        narthex.wait().unwrap();
    }

    /// Kills one of NGINX's workers, perhaps one that drains.
    pub(crate) fn kill_worker(&self, which: usize) {
        let pid = fs::read_to_string(self.scratch.path().join("work/run/nginx.pid")).unwrap_or_default();
        let children = fs::read_to_string(format!("/proc/{0}/task/{0}/children", pid.trim())).unwrap_or_default();
        let workers: Vec<i32> = children.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect();
        if let Some(pid) = workers.get(which % workers.len().max(1)) {
            // What is gone already needs no signal.
            let _ = kill(Pid::from_raw(*pid), Signal::SIGKILL);
        }
    }

    pub(crate) fn http(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports[0]).into()
    }

    pub(crate) fn https(&self) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, self.ports[1]).into()
    }

    /// The status that a client without credentials gets, over TLS or not.
    pub(crate) async fn ask(&self, host: usize, tls: bool) -> anyhow::Result<u16> {
        let request = if tls { Request::get(self.https(), "/").tls(name(host)) } else { Request::get(self.http(), "/") };
        Ok(request.host(name(host)).header("Connection", "close").send().await?.status)
    }

    /// Waits until a client without credentials is refused, over TLS and without, or not.
    pub(crate) async fn until_refused(&self, host: usize, refused: bool) {
        self.until(&format!("{} refuses: {refused}", name(host)), || async {
            // Workers that know the next profile refuse what names one of before; those of before serve it until the new record is there.
            anyhow::ensure!(self.holds_nothing().await?, "routes wait for a reload");
            for tls in [true, false] {
                let status = self.ask(host, tls).await?;
                anyhow::ensure!((status != 200) == refused, "status {status}, with TLS: {tls}");
            }
            Ok(())
        })
        .await;
    }

    /// Whether the newest routes of every host are those that NGINX has.
    async fn holds_nothing(&self) -> anyhow::Result<bool> {
        let get = |path: &'static str| Request::get(SocketAddr::from((Ipv4Addr::LOCALHOST, self.ports[2])), path).send();
        let is_ready = get("/readyz").await?.status == 200;
        Ok(is_ready && get("/metrics").await?.text().lines().any(|line| line == "narthex_held_hosts 0"))
    }

    /// Waits until every host answers requests with credentials, and all is as it is to be.
    pub(crate) async fn settled(&self) {
        self.until("every host answers requests with credentials", || async {
            for (host, state) in self.hosts.iter().enumerate() {
                let request = Request::get(self.https(), "/").tls(name(host)).host(name(host));
                let Some((request, expected)) = state.guard.invite(request, &self.client) else { continue };
                let status = request.header("Connection", "close").send().await?.status;
                anyhow::ensure!(status == expected, "{} ({state:?}): {status}, not {expected}", name(host));
            }
            Ok(())
        })
        .await;
    }

    async fn until<Fut: Future<Output = anyhow::Result<()>>>(&self, what: &str, state: impl FnMut() -> Fut) {
        poll(LIMIT, state).await.unwrap_or_else(|error| panic!("{what}: {error:#}\n{}", self.log()));
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.scratch.path().join("log")).unwrap_or_default()
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Some(narthex) = &mut self.narthex {
            let _ = kill(Pid::from_raw(narthex.id().cast_signed()), Signal::SIGTERM);
            let _ = narthex.wait();
        }
    }
}
