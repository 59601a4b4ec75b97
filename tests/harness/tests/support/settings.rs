//! A cluster whose main ConfigMap, and the ConfigMaps of headers that it names, hold any text; beside Ingresses of every kind of location.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::Ingress;
use model::options::PemPair;
use model::{BackendId, BackendPort, BuildOptions, Builder, Fixed, ObjectKey, Protocol, Snapshot, StreamPort, StreamService};
use proptest::prelude::*;
use proptest::sample::select;
use render::{Capabilities, FileSet, Paths};
use serde_json::json;
use settings::{CONFIG_KEYS, ConfigEntry};

use super::tokens;

pub(crate) type Data = BTreeMap<String, String>;

/// The keys, but those that are text of the administrator.
pub(crate) fn keys() -> impl Iterator<Item = &'static ConfigEntry> {
    CONFIG_KEYS.iter().copied().filter(|entry| !entry.name.ends_with("-snippet"))
}

/// Their examples.
pub(crate) fn examples() -> Data {
    keys().map(|entry| (entry.name.to_owned(), entry.example.to_owned())).collect()
}

/// What the ConfigMaps hold.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Input {
    /// The main one.
    pub(crate) data: Data,
    /// `add-headers` and `proxy-set-headers`, where the main one does not name others.
    pub(crate) headers: [Data; 2],
}

const NAMES: [&str; 2] = ["add-headers", "proxy-set-headers"];

impl Input {
    /// The model that is made of it.
    pub(crate) fn fixed(&self, capabilities: &Capabilities) -> Fixed {
        let options = BuildOptions {
            configmap: Some(ObjectKey::new("n", "settings")),
            watch_ingress_without_class: true,
            fallback_certificate: CERTIFICATE.clone(),
            http_port: 8080,
            https_port: 8443,
            missing: capabilities.missing(),
            ..BuildOptions::default()
        };
        let built = Builder::new(options).build(&self.snapshot());
        Fixed { stream_services: stream_services(capabilities), ..built.model.fixed }
    }

    fn snapshot(&self) -> Snapshot {
        let map = |data: &Data| Arc::new(ConfigMap { data: Some(data.clone()), ..ConfigMap::default() });
        let mut data = self.data.clone();
        let mut snapshot = Snapshot::default();
        for (name, headers) in NAMES.into_iter().zip(&self.headers) {
            if !headers.is_empty() {
                snapshot.config_maps.insert(ObjectKey::new("n", name), map(headers));
                data.insert(name.to_owned(), format!("n/{name}"));
            }
        }
        snapshot.config_maps.insert(ObjectKey::new("n", "settings"), map(&data));
        snapshot.ingresses.extend(INGRESSES.iter().cloned());
        snapshot
    }

    /// What NGINX gets.
    pub(crate) fn render(&self, capabilities: &Capabilities, paths: &Paths) -> Result<FileSet, String> {
        render::render(&self.fixed(capabilities), capabilities, paths).map_err(|error| format!("{self:?} can't be rendered: {error:?}"))
    }
}

static CERTIFICATE: LazyLock<PemPair> = LazyLock::new(|| {
    let made = rcgen::generate_simple_self_signed(["fallback.example.com".to_owned()]).unwrap();
    PemPair { chain: made.cert.pem(), key: made.signing_key.serialize_pem() }
});

/// One for each kind of location.
static INGRESSES: LazyLock<Vec<(ObjectKey, Arc<model::Ingress>)>> = LazyLock::new(|| {
    let kinds: &[&[(&str, &str)]] = &[
        &[],
        &[("backend-protocol", "HTTPS")],
        &[("backend-protocol", "GRPC")],
        &[("backend-protocol", "FCGI")],
        &[("auth-url", "http://auth.example.com/"), ("auth-signin", "http://$host/login")],
        &[("mirror-target", "http://mirror.example.com/")],
        &[("ssl-ciphers", "HIGH:!aNULL")],
        &[("custom-http-errors", "404")],
    ];
    kinds.iter().enumerate().map(|(at, annotations)| ingress(at, annotations)).collect()
});

fn ingress(at: usize, annotations: &[(&str, &str)]) -> (ObjectKey, Arc<model::Ingress>) {
    let annotations: BTreeMap<String, &str> =
        annotations.iter().map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), *value)).collect();
    let backend = json!({"service": {"name": "a", "port": {"number": 80}}});
    let object: Ingress = serde_json::from_value(json!({
        "metadata": {"name": format!("i{at}"), "namespace": "n", "annotations": annotations},
        "spec": {"rules": [{"host": format!("h{at}.example.com"), "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}]},
    }))
    .unwrap();
    (ObjectKey::new("n", format!("i{at}").as_str()), Arc::new(object.into()))
}

/// A TCP and a UDP service.
fn stream_services(capabilities: &Capabilities) -> imbl::OrdMap<StreamPort, Arc<StreamService>> {
    if capabilities.missing().contains(&model::Module::StreamScript) {
        return imbl::OrdMap::new();
    }
    let service = |name: &str| {
        let backend = BackendId { service: ObjectKey::new("n", name), port: BackendPort::Number(80) };
        Arc::new(StreamService { backend, accepts_proxy: false, sends_proxy: false, certificate: None })
    };
    let (tcp, udp) = (StreamPort { protocol: Protocol::Tcp, number: 5432 }, StreamPort { protocol: Protocol::Udp, number: 5353 });
    [(tcp, service("db")), (udp, service("dns"))].into_iter().collect()
}

/// Texts near values: at the ends of ranges, with units, long ones, with what has a meaning to NGINX.
pub(crate) const ODD: &[&str] = &[
    "",
    " ",
    "0",
    "1",
    "7",
    "63",
    "1024",
    "65535",
    "65536",
    "1048577",
    "2147483647",
    "2147483648",
    "4294967295",
    "9223372036854775807",
    "18446744073709551616",
    "-1",
    "0x7fffffff",
    "1k",
    "31k",
    "1g",
    "8796093022207m",
    "9007199254740991k",
    "1ms",
    "1500ms",
    "0s",
    "68y",
    "1h 30m",
    "off",
    "on",
    "true",
    "false",
    "auto",
    "none",
    "default",
    "*",
    "~",
    "~x",
    "~*x",
    "~(?<host>x)",
    "Default,default,a,A,hostnames,\\x",
    "$",
    "$1",
    "$host",
    "${host}x",
    "$nothing",
    "$uri $status",
    "escape=json $status",
    "escape=",
    "a b c",
    "a;b",
    "\"; } server {",
    "'",
    "\\",
    "a\nb",
    "a\r\nb: c",
    "\0",
    "é",
    "#",
    "{{ x }}",
    "{% raw %}",
    "x-y",
    "X_Y,x-y,X-Y",
    "127.0.0.1",
    "127.0.0.1,127.0.0.1",
    "0.0.0.0,127.0.0.1,::,::1,::ffff:127.0.0.1",
    "10.0.0.0/8,10.0.0.0/8,::/0",
    "n/nothing",
    "proxy_protocol",
    "http://a.example.com/",
    "GET",
    "200 404 1m",
    "TLSv1 TLSv1",
    "HIGH:@STRENGTH",
    "X25519:X25519",
    "SSL:10m",
    "buffer=1k flush=1s",
    "flush=1s",
    "buffer=0",
    "syslog:server=127.0.0.1",
    "syslog:",
    "/dev/null",
    "/logs/$1",
    "stderr",
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
];

/// Long texts, which are not written out.
pub(crate) fn long() -> Vec<String> {
    let mut texts: Vec<String> = ["a", "\\", "\"", "$", "é", "a ", "a,", "1", "1,", "\\\\"]
        .iter()
        .flat_map(|unit| [50, 300, 5000].map(|count| unit.repeat(count)))
        .collect();
    texts.extend(["a", "\"", "\\."].map(|unit| format!("~{}", unit.repeat(900))));
    texts.push((0..2000).map(|at| format!("agent-{at},")).collect());
    texts.push((0..500).map(|at| format!("application/x-{at} ")).collect());
    texts
}

/// Text near a value of a key: the example with something before, behind or in the middle of it, an odd one, or anything.
pub(crate) fn value(entry: &'static ConfigEntry) -> impl Strategy<Value = String> {
    let example = entry.example;
    let middle = (0..=example.len()).rev().find(|at| *at <= example.len() / 2 && example.is_char_boundary(*at)).unwrap_or_default();
    prop_oneof![
        2 => tokens(6),
        1 => tokens(4).prop_map(move |text| format!("{example}{text}")),
        1 => tokens(4).prop_map(move |text| format!("{text}{example}")),
        1 => tokens(4).prop_map(move |text| format!("{}{text}{}", &example[..middle], &example[middle..])),
        1 => Just(example.to_owned()),
        3 => select(ODD).prop_map(str::to_owned),
        1 => select(long()),
    ]
}

/// A key with such a text.
pub(crate) fn setting() -> impl Strategy<Value = (&'static ConfigEntry, String)> {
    select(keys().collect::<Vec<_>>()).prop_flat_map(|entry| (Just(entry), value(entry)))
}

/// Headers of one of the ConfigMaps: names and values.
pub(crate) fn headers() -> impl Strategy<Value = Data> {
    let name = prop_oneof![3 => "[A-Za-z][A-Za-z0-9_-]{0,60}", 1 => tokens(3), 1 => select(ODD).prop_map(str::to_owned)];
    let variable = select(ngx_value::built_in_variables().collect::<Vec<_>>()).prop_map(|name| format!("${name}"));
    let text = prop_oneof![2 => tokens(6), 1 => variable, 1 => select(ODD).prop_map(str::to_owned), 1 => select(long())];
    prop::collection::btree_map(name, text, 0..4)
}
