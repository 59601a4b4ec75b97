//! Random Ingresses over many hosts, in sets that share nothing but the catch-all, so that one configuration tests many sets.

mod annotations;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context;
use jiff::Timestamp;
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServicePort, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule, IngressServiceBackend, IngressSpec, IngressTLS,
    ServiceBackendPort,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use model::options::{LocalEndpoints, PemPair};
use model::{BuildOptions, ObjectKey, Snapshot};

use crate::Dice;

/// Where everything lies.
pub const NAMESPACE: &str = "shop";
const PREFIX: &str = "nginx.ingress.kubernetes.io";
/// What the Secret of passwords says: `user:secret` in the hash that every NGINX knows.
pub const USERS: &str = "user:{SHA}5en6G6MezRroT3XKqkdPOmY/BfQ=\n";
/// Services with a backend each.
const SERVICES: [&str; 4] = ["one", "two", "three", "four"];
/// A Service without endpoints.
const EMPTY: &str = "empty";
/// The Service behind `--default-backend-service`.
const DEFAULT: &str = "default";

/// Parts between slashes of a plain path.
const SEGMENTS: [&str; 34] = [
    "foo",
    "foo",
    "foo",
    "bar",
    "bar",
    "Foo",
    "BAR",
    "a.b",
    "a b",
    "%41",
    "%2F",
    "%",
    "ü",
    "日本",
    "q\"q",
    "it's",
    "d$d",
    "$1",
    "$host",
    "${x}",
    "back\\slash",
    "end\\",
    "foo+",
    "semi;colon",
    "a?b",
    "#h",
    "{b}",
    "~t",
    "*",
    "(p)",
    "[c]",
    "^x",
    "a|b",
    "healthz",
];

/// Parts of a path that no normalised URI has.
const UNREACHABLE: [&str; 3] = ["", ".", ".."];

/// Paths of Ingresses that match by regular expression.
const REGEXES: [&str; 41] = [
    "/foo(ba|[^/])*z",
    "/",
    "/foo",
    "/foo/",
    "/foo(/|$)(.*)",
    "/bar(/|$)(.*)",
    "/(a|b|foo)",
    "/[a-z]+",
    "/[A-Z]{3}$",
    "/foo(?=/bar)",
    "/(?!admin).*",
    r"/id/\d{2,}$",
    "^/foo",
    "/foo$",
    "/(.*)",
    "/()(.*)",
    "/Foo",
    "/foo.bar",
    "/a b",
    "/x{2}",
    "/\"q\"",
    "/it's",
    "/(?<name>[a-z]+)/x",
    "/ü+",
    "/[^/]+/end",
    "/$",
    r"/\.",
    "/foo/?",
    r"/(foo|bar)/(\w+)",
    r"/\x41",
    "/foo|/bar",
    "/a|^/b|c",
    "/(?i:foo)",
    "/(?-i)foo",
    "/foo;{}",
    r"/\$",
    "/.*?/bar",
    "/(a+)+$",
    r"/\w+\z",
    "/(",
    "/foo[",
];

/// One set: its Ingresses, the hosts that they name, and the paths that they say.
#[derive(Debug)]
pub struct RuleSet {
    /// The objects.
    pub ingresses: Vec<Ingress>,
    /// As they are written in the rules, without the catch-all.
    pub hosts: Vec<String>,
    /// Paths, whatever their type.
    pub paths: Vec<String>,
    /// The longest odd request target. Engines give up on long ones at limits of their own, and random regexes backtrack much.
    pub longest: usize,
}

/// The endpoints of all Services.
#[derive(Debug)]
pub struct Backends(BTreeMap<&'static str, SocketAddr>);

impl Backends {
    /// Starts them.
    ///
    /// # Errors
    /// One can't listen.
    pub fn start() -> std::io::Result<Self> {
        SERVICES.into_iter().chain([DEFAULT]).map(|name| Ok((name, crate::echo::start(name)?))).collect::<std::io::Result<_>>().map(Self)
    }
}

/// What the models are built with.
///
/// # Errors
/// No key pair can be made.
pub fn settings(http_port: u16, https_port: u16) -> anyhow::Result<BuildOptions> {
    let pair = rcgen::generate_simple_self_signed(["ingress.local".to_owned()]).context("generate a key pair")?;
    Ok(BuildOptions {
        watch_ingress_without_class: true,
        configmap: Some(ObjectKey::new(NAMESPACE, "settings")),
        default_backend_service: Some(ObjectKey::new(NAMESPACE, DEFAULT)),
        fallback_certificate: PemPair { chain: pair.cert.pem(), key: pair.signing_key.serialize_pem() },
        http_port,
        https_port,
        local: LocalEndpoints { allowed: true, ..LocalEndpoints::default() },
        ..BuildOptions::default()
    })
}

/// A cluster with these sets. `with_default`: the default backend has an endpoint.
pub fn snapshot(sets: &[RuleSet], backends: &Backends, dice: &mut Dice, with_default: bool) -> Snapshot {
    let mut snapshot = Snapshot::default();
    let authority = backends.0[SERVICES[0]].to_string();
    for ingress in sets.iter().flat_map(|set| &set.ingresses) {
        let mut ingress = ingress.clone();
        for value in ingress.metadata.annotations.iter_mut().flat_map(BTreeMap::values_mut) {
            *value = value.replace("//AUTH/", &format!("//{authority}/"));
        }
        snapshot.ingresses.insert(key(&ingress.metadata), Arc::new(ingress.into()));
    }
    for name in SERVICES.into_iter().chain([EMPTY, DEFAULT]) {
        let address = backends.0.get(name).filter(|_| with_default || name != DEFAULT);
        snapshot.services.insert(ObjectKey::new(NAMESPACE, name), Arc::new(service(name).into()));
        snapshot.endpoint_slices.insert(ObjectKey::new(NAMESPACE, name), Arc::new(slice(name, address).into()));
    }
    snapshot.config_maps.insert(ObjectKey::new(NAMESPACE, "settings"), Arc::new(config_map(dice)));
    let answers = [("X-Custom", "of $host"), ("X-Dollar", "$")].map(|(name, value)| (name.to_owned(), value.to_owned()));
    let answers = ConfigMap { metadata: named("answers"), data: Some(answers.into()), ..ConfigMap::default() };
    snapshot.config_maps.insert(ObjectKey::new(NAMESPACE, "answers"), Arc::new(answers));
    let users = BTreeMap::from([("auth".to_owned(), ByteString(USERS.as_bytes().to_vec()))]);
    let users = Secret { metadata: named("users"), data: Some(users), ..Secret::default() };
    snapshot.secrets.insert(ObjectKey::new(NAMESPACE, "users"), Arc::new(users));
    snapshot
}

fn config_map(dice: &mut Dice) -> ConfigMap {
    let fixed = [
        ("disable-access-log", "true"),
        ("disable-ipv6", "true"),
        ("error-log-level", "crit"),
        ("global-allowed-response-headers", "X-Custom,X-Dollar"),
        ("worker-processes", "1"),
    ];
    let often = [
        ("http-redirect-code", "301"),
        ("no-tls-redirect-locations", "/foo,/.well-known/acme-challenge"),
        ("preserve-trailing-slash", "true"),
        ("proxy-body-size", "1k"),
        ("ssl-redirect", "false"),
        ("force-ssl-redirect", "true"),
        ("use-forwarded-headers", "true"),
        ("compute-full-forwarded-for", "true"),
        ("use-port-in-redirects", "true"),
        ("whitelist-source-range", "127.0.0.0/8"),
        ("denylist-source-range", "127.0.0.0/8"),
        ("proxy-add-original-uri-header", "true"),
    ];
    let chosen =
        often.into_iter().filter(|(name, _)| dice.percent(if name.starts_with("deny") || name.starts_with("force") { 8 } else { 25 }));
    let data = fixed.into_iter().chain(chosen.collect::<Vec<_>>()).map(|(name, value)| (name.to_owned(), value.to_owned()));
    ConfigMap { metadata: named("settings"), data: Some(data.collect()), ..ConfigMap::default() }
}

fn named(name: &str) -> ObjectMeta {
    ObjectMeta { namespace: Some(NAMESPACE.into()), name: Some(name.into()), ..ObjectMeta::default() }
}

fn key(metadata: &ObjectMeta) -> ObjectKey {
    ObjectKey::new(metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}

fn service(name: &str) -> Service {
    let port = ServicePort { name: Some("http".into()), port: 80, ..ServicePort::default() };
    Service { metadata: named(name), spec: Some(ServiceSpec { ports: Some(vec![port]), ..ServiceSpec::default() }), status: None }
}

fn slice(name: &str, address: Option<&SocketAddr>) -> EndpointSlice {
    let mut metadata = named(name);
    metadata.labels = Some(BTreeMap::from([("kubernetes.io/service-name".to_owned(), name.to_owned())]));
    EndpointSlice {
        metadata,
        address_type: "IPv4".into(),
        endpoints: address
            .map(|address| Endpoint { addresses: vec![address.ip().to_string()], ..Endpoint::default() })
            .into_iter()
            .collect(),
        ports: address
            .map(|address| vec![EndpointPort { name: Some("http".into()), port: Some(address.port().into()), ..EndpointPort::default() }]),
    }
}

/// The set of a number. Set 0 may have rules without a host.
pub fn rule_set(number: usize, dice: &mut Dice) -> RuleSet {
    let hosts = [format!("a{number}.test"), format!("b{number}.test"), format!("*.w{number}.test"), format!("deep.w{number}.test")];
    let mut set = RuleSet { ingresses: Vec::new(), hosts: hosts.to_vec(), paths: Vec::new(), longest: 5000 };
    if number == 0 {
        set.ingresses.push(with_group());
    }
    let regexes_percent = dice.of(&[0, 0, 30, 100]);
    for i in 0..=dice.roll(4) {
        let regexes = dice.percent(regexes_percent);
        let ingress = ingress(number, i, regexes, dice, &mut set);
        if dice.percent(10) {
            set.ingresses.push(canary(&ingress, dice));
        }
        set.ingresses.push(ingress);
    }
    set
}

/// Names the group that a rewrite target names as a variable, which must exist.
fn with_group() -> Ingress {
    let port = ServiceBackendPort { name: None, number: Some(80) };
    let service = IngressServiceBackend { name: SERVICES[0].into(), port: Some(port) };
    let backend = IngressBackend { service: Some(service), resource: None };
    let path = HTTPIngressPath { path: Some("/(?<name>[a-z]+)".into()), path_type: "ImplementationSpecific".into(), backend };
    let mut metadata = named("with-group");
    metadata.annotations = Some(BTreeMap::from([(format!("{PREFIX}/use-regex"), "true".to_owned())]));
    let rule = IngressRule { host: Some("group.test".into()), http: Some(HTTPIngressRuleValue { paths: vec![path] }) };
    Ingress { metadata, spec: Some(IngressSpec { rules: Some(vec![rule]), ..IngressSpec::default() }), status: None }
}

fn ingress(number: usize, i: usize, regexes: bool, dice: &mut Dice, set: &mut RuleSet) -> Ingress {
    let mut metadata = named(&format!("r{number}-{i}"));
    let created = Timestamp::constant(1_700_000_000 + dice.roll(3) as i64, 0);
    metadata.creation_timestamp = Some(Time(created));
    metadata.annotations = Some(annotations::of_rules(number, regexes, dice));
    let rules: Vec<IngressRule> = (0..=dice.roll(3))
        .map(|_| {
            let host = if number == 0 && dice.percent(30) { None } else { Some(dice.among(&set.hosts).clone()) };
            let host = if dice.percent(10) { host.map(|host| host.to_ascii_uppercase()) } else { host };
            let paths: Vec<HTTPIngressPath> = (0..=dice.roll(4)).map(|_| path(regexes, dice, set)).collect();
            IngressRule { host, http: Some(HTTPIngressRuleValue { paths }) }
        })
        .collect();
    let only_default = number == 0 && dice.percent(20);
    let tls = dice.percent(15).then(|| vec![IngressTLS { hosts: Some(vec![dice.among(&set.hosts).clone()]), secret_name: None }]);
    Ingress {
        metadata,
        spec: Some(IngressSpec {
            default_backend: (only_default || dice.percent(10)).then(|| backend(dice)),
            rules: (!only_default).then_some(rules),
            tls,
            ingress_class_name: None,
        }),
        status: None,
    }
}

/// A canary with the rules of another Ingress, and a backend of its own.
fn canary(of: &Ingress, dice: &mut Dice) -> Ingress {
    let mut canary = of.clone();
    canary.metadata.name = canary.metadata.name.map(|name| format!("{name}-canary"));
    canary.metadata.annotations = Some(annotations::of_canary(dice));
    let spec = canary.spec.get_or_insert_default();
    let paths = spec.rules.iter_mut().flatten().filter_map(|rule| rule.http.as_mut()).flat_map(|http| &mut http.paths);
    paths.for_each(|path| path.backend = backend(dice));
    canary
}

fn backend(dice: &mut Dice) -> IngressBackend {
    let name = if dice.percent(6) { dice.of(&[EMPTY, "missing"]) } else { dice.of(&SERVICES) };
    let port = if dice.percent(50) {
        ServiceBackendPort { name: Some("http".into()), number: None }
    } else {
        ServiceBackendPort { name: None, number: Some(80) }
    };
    IngressBackend { service: Some(IngressServiceBackend { name: name.into(), port: Some(port) }), resource: None }
}

fn path(regexes: bool, dice: &mut Dice, set: &mut RuleSet) -> HTTPIngressPath {
    let path = if regexes && dice.percent(85) {
        if dice.percent(70) {
            dice.of(&REGEXES).to_owned()
        } else {
            set.longest = 50;
            format!("/{}", regex(dice, 3))
        }
    } else {
        plain_path(dice)
    };
    let path_type = if regexes && dice.percent(80) {
        "ImplementationSpecific"
    } else {
        dice.of(&["Exact", "Prefix", "Prefix", "ImplementationSpecific"])
    };
    set.paths.push(path.clone());
    HTTPIngressPath { path: Some(path), path_type: path_type.into(), backend: backend(dice) }
}

fn plain_path(dice: &mut Dice) -> String {
    let mut path = String::new();
    for _ in 0..dice.roll(4) {
        path.push('/');
        path.push_str(if dice.percent(3) { dice.of(&UNREACHABLE) } else { dice.of(&SEGMENTS) });
    }
    if path.is_empty() || dice.percent(35) {
        path.push('/');
    }
    path
}

/// A regex over few letters, so that it often matches. Groups may be empty, alternatives may share beginnings.
fn regex(dice: &mut Dice, depth: usize) -> String {
    if depth == 0 {
        return dice.of(&["a", "b", "/", "ab", "[ab]", "[^/]", ".", r"\w", "A", ""]).to_string();
    }
    let inner = regex(dice, depth - 1);
    match dice.roll(8) {
        0 => format!("({inner})"),
        1 => format!("({inner}|{})", regex(dice, depth - 1)),
        2 => format!("(?:{inner}){}", dice.of(&["*", "+", "?", "{2}", "{0,2}?"])),
        3 => format!("{inner}{}", dice.of(&["$", "(/|$)", "(.*)", "(?=a|/)", "(?!b)"])),
        4 => format!("{inner}|{}", regex(dice, depth - 1)),
        _ => format!("{inner}{}", regex(dice, depth - 1)),
    }
}
