//! What the tests of this crate share: models built by hand, and a real NGINX that tests what is rendered.
#![allow(dead_code, reason = "each test binary uses its part")]
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "NGINX tests files")]

use std::collections::BTreeMap;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, LazyLock};
use std::{fs, io::Write};

use imbl::OrdMap;
use model::live::Endpoint;
use model::options::PemPair;
use model::{
    BackendId, BackendPort, BackendRecord, Fixed, GlobalHeaders, Globals, HostRecord, Listen, Live, Model, ObjectKey, Policy, Profile,
    Protocol, Route, StreamCertificate, StreamPort, StreamService,
};
use render::{Capabilities, FileSet, Paths};
use settings::Config;

/// A work directory that no test writes to: for goldens.
pub(crate) fn paths() -> Paths {
    Paths::new("/var/lib/narthex")
}

/// Globals with a configuration, on ports an ordinary user may open.
pub(crate) fn globals(config: Config) -> Arc<Globals> {
    Arc::new(Globals {
        config,
        headers: GlobalHeaders::default(),
        dh_parameters: None,
        listen: Listen { http: 8080, https: 8443, passthrough: None, stream: 10247 },
        static_certificate: PemPair { chain: "CHAIN".into(), key: "KEY".into() },
        health_check_path: "/healthz".into(),
        counting: None,
        databases: Vec::new(),
        allows_local: false,
        control_ports: Default::default(),
        places: Default::default(),
    })
}

/// A key pair, the same in each call: what is rendered twice is compared.
static PAIR: LazyLock<PemPair> = LazyLock::new(|| {
    let made = rcgen::generate_simple_self_signed(["db.example".to_owned()]).unwrap();
    PemPair { chain: made.cert.pem(), key: made.signing_key.serialize_pem() }
});

/// A TCP service, one with the PROXY protocol on both sides, one that is decrypted, and a UDP service, on ports that an ordinary user may open.
pub(crate) fn stream_services() -> OrdMap<StreamPort, Arc<StreamService>> {
    let entry = |protocol, number, name: &str, proxy| {
        let backend = BackendId { service: ObjectKey::new("default", name), port: BackendPort::Number(80) };
        let service = StreamService { backend, accepts_proxy: proxy, sends_proxy: proxy, certificate: None };
        (StreamPort { protocol, number }, Arc::new(service))
    };
    let (tcp, udp) = (Protocol::Tcp, Protocol::Udp);
    let certificate = StreamCertificate { id: "1d".into(), secret: ObjectKey::new("default", "pair"), pair: PAIR.clone() };
    let (port, plain) = entry(tcp, 5434, "tls", false);
    let decrypted = (port, Arc::new(StreamService { certificate: Some(Arc::new(certificate)), ..(*plain).clone() }));
    [entry(tcp, 5432, "db", false), entry(tcp, 5433, "mail", true), decrypted, entry(udp, 5353, "dns", false)].into_iter().collect()
}

/// Settings of the ConfigMap by their keys.
pub(crate) fn config(data: &[(&str, &str)]) -> Config {
    let data: BTreeMap<String, String> = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let (config, findings) = Config::parse(&data);
    assert!(findings.is_empty(), "{findings:?}");
    config
}

/// The fixed part with these profiles.
pub(crate) fn fixed(config: Config, profiles: impl IntoIterator<Item = Profile>) -> Fixed {
    let profiles = profiles.into_iter().chain([Profile::default()]).map(|profile| (profile.id(), Arc::new(profile))).collect();
    Fixed { globals: globals(config), profiles, ..Fixed::default() }
}

/// A route of Ingress `default/<ingress>` to port 80 of a Service of the same name.
pub(crate) fn route(ingress: &str, path: &str) -> Route {
    Route {
        namespace: "default".into(),
        ingress: ingress.into(),
        service: ingress.into(),
        port: "80".into(),
        path: path.into(),
        backend: format!("default/{ingress}:80").into(),
        ..Route::default()
    }
}

/// The same with this policy.
pub(crate) fn with(policy: Policy, route: Route) -> Route {
    Route { policy: Arc::new(policy), ..route }
}

/// A record in plain mode: exact paths and prefixes with their routes.
pub(crate) fn record(exact: &[(&str, u32)], prefix: &[(&str, u32)], routes: Vec<Route>) -> Arc<HostRecord> {
    let map = |list: &[(&str, u32)]| list.iter().map(|(path, i)| (Arc::from(*path), *i)).collect();
    let routes = routes.into_iter().map(Arc::new).collect();
    Arc::new(HostRecord { exact: map(exact), prefix: map(prefix), routes, ..HostRecord::default() })
}

/// A record in regex mode.
pub(crate) fn regex_record(regex: &[(&str, u32)], routes: Vec<Route>) -> Arc<HostRecord> {
    let regex = regex.iter().map(|(regex, i)| (Arc::from(*regex), *i)).collect();
    Arc::new(HostRecord { regex, routes: routes.into_iter().map(Arc::new).collect(), ..HostRecord::default() })
}

/// A model with these hosts, TLS on some, and the backends that routes name.
pub(crate) fn model(fixed: Fixed, hosts: Vec<(&str, Arc<HostRecord>)>, tls: &[&str]) -> Model {
    let mut live = Live::default();
    let endpoint = Endpoint { address: [10, 0, 0, 1].into(), port: 8080, weight: 1 };
    for (host, record) in hosts {
        for route in &record.routes {
            let name = format!("{}-{}-{}", route.namespace, route.service, route.port).into();
            if !route.backend.is_empty() {
                live.backends.insert(
                    route.backend.clone(),
                    Arc::new(BackendRecord { name, endpoints: vec![endpoint.clone()], ..BackendRecord::default() }),
                );
            }
        }
        live.hosts.insert(host.into(), record);
    }
    live.servers.extend(tls.iter().map(|name| (Arc::from(*name), Arc::from("certificate"))));
    Model { fixed, live }
}

/// What the NGINX of this machine can do.
///
/// # Panics
/// When there is none: these tests prove nothing without it.
pub(crate) fn installed() -> Capabilities {
    let output = Command::new("nginx").arg("-V").output().unwrap_or_else(|error| {
        panic!("the tests need NGINX with Lua (Debian: apt-get install nginx libnginx-mod-http-lua): nginx -V: {error}");
    });
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let version = text.split("nginx/").nth(1).and_then(|rest| rest.split_whitespace().next()).expect("nginx -V names its version");
    let numbers: Vec<u32> = version.split('.').map(|number| number.parse().expect("a version has numbers")).collect();
    let modules_dir =
        text.split("--modules-path=").nth(1).and_then(|rest| rest.split_whitespace().next()).unwrap_or("/usr/lib/nginx/modules");
    let modules = fs::read_dir(modules_dir)
        .unwrap_or_else(|error| panic!("{modules_dir}: {error}"))
        .filter_map(|entry| Some(entry.ok()?.path().file_stem()?.to_str()?.to_owned()))
        .collect();
    Capabilities { version: (numbers[0], numbers[1], numbers[2]), modules_dir: modules_dir.into(), modules, ..Capabilities::assumed() }
}

/// Writes a file set, with a key pair that is one, and lets NGINX test `conf`, which was rendered for `paths`.
#[track_caller]
pub(crate) fn accepted_by_nginx(set: &FileSet, conf: &str, paths: &Paths) {
    for directory in [paths.run_dir(), paths.certs_dir(), paths.temp_dir(), paths.lua_dir(), paths.inner_dir()] {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory).unwrap();
    }
    for file in &set.files {
        let path = paths.work_dir.join(&file.path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        write(&path, file.mode, &file.bytes);
    }
    let pair = rcgen::generate_simple_self_signed(["example.com".to_owned()]).unwrap();
    write(&paths.static_certificate(), 0o600, format!("{}{}", pair.cert.pem(), pair.signing_key.serialize_pem()).as_bytes());
    write(&paths.conf(), 0o644, conf.as_bytes());
    let output = Command::new("nginx").args(["-t", "-e", "stderr", "-c"]).arg(paths.conf()).output().expect("nginx was run before");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !stderr.contains("[emerg]") && !stderr.contains("[warn]"), "nginx -t: {stderr}\n{}", numbered(conf));
}

fn write(path: &Path, mode: u32, bytes: &[u8]) {
    fs::OpenOptions::new().write(true).create(true).truncate(true).mode(mode).open(path).unwrap().write_all(bytes).unwrap();
}

fn numbered(text: &str) -> String {
    text.lines().enumerate().map(|(at, line)| format!("{:5} {line}\n", at + 1)).collect()
}
