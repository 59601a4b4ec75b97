//! An incremental build gives what a build from nothing gives, whatever the order of changes.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServicePort, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::api::networking::v1::*;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::options::HostOwnership;
use model::plan::{Plan, plan};
use model::{BuildOptions, Builder, Live, ObjectKey, Snapshot};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use settings::CONFIG_KEYS;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
const NAMESPACES: [&str; 2] = ["x", "y"];
const HOSTS: [&str; 7] =
    ["one.example.com", "www.one.example.com", "two.example.com", "*.example.com", "three.example.com", "", "four.example.com"];
const PATHS: [&str; 7] = ["/", "/foo", "/foo/", "/foo/bar", "/id/[0-9]+$", "/a(/|$)(.*)", "/("];
const ANNOTATIONS: [(&str, &str); 44] = [
    ("auth-type", "basic"),
    ("auth-secret", "a"),
    ("auth-tls-secret", "x/a"),
    ("auth-url", "http://auth.example.com/"),
    ("auth-proxy-set-headers", "x/a"),
    ("allowlist-source-range", "10.0.0.0/8"),
    ("from-to-www-redirect", "true"),
    ("app-root", "/x"),
    ("server-alias", "*.four.example.com,~^v[0-9],www.one.example.com"),
    ("server-alias", "~^v[0-9],*.example.com"),
    ("ssl-ciphers", "HIGH"),
    ("enable-cors", "true"),
    ("permanent-redirect", "/new"),
    ("custom-headers", "x/a"),
    ("use-regex", "true"),
    ("rewrite-target", "/$2"),
    ("ssl-redirect", "false"),
    ("proxy-body-size", "8m"),
    ("proxy-buffer-size", "8k"),
    ("load-balance", "ewma"),
    ("service-upstream", "true"),
    ("server-alias", "four.example.com,alias.example.com"),
    ("server-alias", "alias.example.com"),
    ("proxy-read-timeout", "7"),
    ("canary", "true"),
    ("canary", "true"),
    ("canary-weight", "20"),
    ("canary-by-header", "X-Canary"),
    ("affinity", "cookie"),
    ("affinity", "cookie"),
    ("affinity-mode", "persistent"),
    ("affinity-canary-behavior", "legacy"),
    ("upstream-hash-by", "$request_uri"),
    ("proxy-body-size", "nonsense"),
    ("limit-rps", "nonsense"),
    ("no-such-thing", "1"),
    ("force-ssl-redirect", "true"),
    ("ssl-passthrough", "true"),
    ("ssl-passthrough", "true"),
    ("backend-protocol", "HTTPS"),
    ("proxy-ssl-secret", "x/a"),
    ("fastcgi-params-configmap", "settings"),
    ("mirror-target", "http://a/$request_uri"),
    ("proxy-cookie-path", "/one/ /"),
];

/// A source of choices out of one number, so that a failing case shrinks.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.roll(all.len())]
    }
}

fn meta(key: &ObjectKey) -> ObjectMeta {
    ObjectMeta { namespace: Some(key.namespace.to_string()), name: Some(key.name.to_string()), ..Default::default() }
}

fn backend(dice: &mut Dice) -> IngressBackend {
    let port = match dice.roll(3) {
        0 => ServiceBackendPort { name: Some("http".into()), number: None },
        1 => ServiceBackendPort { name: None, number: Some(80) },
        _ => ServiceBackendPort { name: None, number: Some(81) },
    };
    IngressBackend { service: Some(IngressServiceBackend { name: dice.of(&NAMES).into(), port: Some(port) }), resource: None }
}

fn ingress(key: &ObjectKey, dice: &mut Dice) -> Ingress {
    let mut metadata = meta(key);
    let created = format!("\"2020-01-01T00:00:0{}Z\"", dice.roll(3));
    metadata.creation_timestamp = Some(serde_json::from_str(&created).expect("a time"));
    let annotations: BTreeMap<String, String> = (0..dice.roll(4))
        .map(|_| dice.of(&ANNOTATIONS))
        .map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), value.to_owned()))
        .collect();
    metadata.annotations = Some(annotations);
    let rules = (0..dice.roll(3)).map(|_| {
        let host = dice.of(&HOSTS);
        let paths = (0..dice.roll(4)).map(|_| HTTPIngressPath {
            path: Some(dice.of(&PATHS).into()),
            path_type: dice.of(&["Exact", "Prefix", "ImplementationSpecific"]).into(),
            backend: backend(dice),
        });
        let paths = paths.collect();
        IngressRule { host: (!host.is_empty()).then(|| host.into()), http: Some(HTTPIngressRuleValue { paths }) }
    });
    let rules = rules.collect();
    let tls = (dice.roll(2) == 0).then(|| {
        vec![IngressTLS { hosts: Some(vec![dice.of(&HOSTS).into()]), secret_name: (dice.roll(4) > 0).then(|| dice.of(&NAMES).into()) }]
    });
    Ingress {
        metadata,
        spec: Some(IngressSpec {
            ingress_class_name: Some(dice.of(&["nginx", "nginx", "nginx", "other"]).into()),
            default_backend: (dice.roll(4) == 0).then(|| backend(dice)),
            rules: Some(rules),
            tls,
        }),
        status: None,
    }
}

fn service(key: &ObjectKey, dice: &mut Dice) -> Service {
    let ports = vec![ServicePort { name: Some("http".into()), port: 80, ..Default::default() }];
    let spec = match dice.roll(4) {
        0 => ServiceSpec {
            type_: Some("ExternalName".into()),
            external_name: Some(dice.of(&["db.example.org", "192.0.2.7", "localhost", "127.0.0.1", "other.example.org"]).into()),
            ports: Some(ports),
            ..Default::default()
        },
        _ => ServiceSpec { cluster_ip: Some("10.96.0.9".into()), ports: Some(ports), ..Default::default() },
    };
    let secret = (dice.roll(2) == 0).then(|| dice.of(&["a", "b", "x/a"]).to_owned());
    let annotations = secret.map(|secret| BTreeMap::from([("nginx.ingress.kubernetes.io/tcp-tls-secret".to_owned(), secret)]));
    Service { metadata: ObjectMeta { annotations, ..meta(key) }, spec: Some(spec), status: None }
}

fn slice(key: &ObjectKey, dice: &mut Dice) -> EndpointSlice {
    let mut metadata = meta(key);
    metadata.labels = Some(BTreeMap::from([("kubernetes.io/service-name".to_owned(), dice.of(&NAMES).to_owned())]));
    let endpoints = (0..dice.roll(3)).map(|_| Endpoint { addresses: vec![format!("10.0.0.{}", dice.roll(9) + 1)], ..Default::default() });
    EndpointSlice {
        metadata,
        address_type: "IPv4".into(),
        endpoints: endpoints.collect(),
        ports: Some(vec![EndpointPort { name: Some("http".into()), port: Some(8080), ..Default::default() }]),
    }
}

fn secret(key: &ObjectKey, dice: &mut Dice, pairs: &[(String, String)]) -> Secret {
    let (chain, private) = &pairs[dice.roll(pairs.len())];
    let other = &pairs[dice.roll(pairs.len())].1;
    let private = if dice.roll(4) == 0 { other } else { private };
    let mut data = BTreeMap::from([
        ("tls.crt".to_owned(), ByteString(chain.clone().into_bytes())),
        ("tls.key".to_owned(), ByteString(private.clone().into_bytes())),
    ]);
    if dice.roll(2) == 0 {
        data.insert("ca.crt".to_owned(), ByteString(chain.clone().into_bytes()));
        data.insert("auth".to_owned(), ByteString(format!("user:{{PLAIN}}{}", dice.roll(3)).into_bytes()));
    }
    Secret { metadata: meta(key), data: Some(data), ..Default::default() }
}

fn class(controller: &str) -> IngressClass {
    IngressClass {
        metadata: ObjectMeta { name: Some("nginx".into()), ..Default::default() },
        spec: Some(IngressClassSpec { controller: Some(controller.into()), parameters: None }),
    }
}

fn change(snapshot: &mut Snapshot, dice: &mut Dice, pairs: &[(String, String)]) {
    let key = ObjectKey::new(dice.of(&NAMESPACES), dice.of(&NAMES));
    let remove = dice.roll(4) == 0;
    macro_rules! put {
        ($map:expr, $make:expr) => {
            if remove {
                $map.remove(&key);
            } else {
                let object = $make;
                $map.insert(key, Arc::new(object));
            }
        };
    }
    match dice.roll(17) {
        0..=5 => put!(snapshot.ingresses, ingress(&key, dice).into()),
        6..=8 => put!(snapshot.services, service(&key, dice).into()),
        9..=11 => put!(snapshot.endpoint_slices, slice(&key, dice).into()),
        12 | 13 => put!(snapshot.secrets, secret(&key, dice, pairs)),
        14 => {
            let controller = dice.of(&["k8s.io/ingress-nginx", "k8s.io/ingress-nginx", "example.com/other"]);
            snapshot.ingress_classes.get_or_insert_default().insert("nginx".into(), Arc::new(class(controller)));
        }
        15 => {
            let map = |pairs: &[(&str, &str)]| {
                let data = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
                Arc::new(ConfigMap { data: Some(data), ..Default::default() })
            };
            let allowed = ("global-allowed-response-headers", dice.of(&["X-A,X-B", "X-A,X-B", "X-A,X-B", "X-A"]));
            let mut data = vec![("proxy-body-size", dice.of(&["1m", "8m", "x"])), allowed];
            data.extend((0..dice.roll(4)).map(|_| dice.of(&CONFIG_KEYS)).map(|key| (key.name, key.example)));
            let data = map(&data);
            snapshot.config_maps.insert(ObjectKey::new("x", "settings"), data);
            let headers = map(&[(dice.of(&["X-A", "X-B", "a name"]), "1")]);
            snapshot.config_maps.insert(ObjectKey::new("x", "a"), headers);
        }
        _ => {
            let addresses: Vec<std::net::IpAddr> =
                (0..dice.roll(3)).map(|i| std::net::Ipv4Addr::new(dice.of(&[192, 192, 127]), 0, 2, i as u8 + 1).into()).collect();
            snapshot.addresses.insert(dice.of(&["db.example.org", "other.example.org"]).into(), addresses.into());
        }
    }
}

fn options(host_ownership: HostOwnership) -> BuildOptions {
    BuildOptions {
        host_ownership,
        configmap: Some(ObjectKey::new("x", "settings")),
        default_backend_service: Some(ObjectKey::new("y", "d")),
        default_ssl_certificate: Some(ObjectKey::new("x", "d")),
        tcp_services: Some(ObjectKey::new("x", "tcp")),
        passthrough_port: Some(442),
        ..BuildOptions::default()
    }
}

fn pairs() -> Vec<(String, String)> {
    [["one.example.com", "four.example.com"], ["*.example.com", "alias.example.com"]]
        .iter()
        .map(|names| {
            let made = rcgen::generate_simple_self_signed(names.map(str::to_owned)).expect("a certificate can be made");
            (made.cert.pem(), made.signing_key.serialize_pem())
        })
        .collect()
}

/// A fixed seed and some cases, so that a run can be repeated; `PROPTEST_RNG_SEED` and `PROPTEST_CASES` set others.
fn config() -> ProptestConfig {
    /// The default of the library.
    const UNSET: u32 = 256;
    let default = ProptestConfig::default();
    let rng_seed = match default.rng_seed {
        RngSeed::Random => RngSeed::Fixed(1),
        chosen => chosen,
    };
    let cases = if default.cases == UNSET { 96 } else { default.cases };
    ProptestConfig { cases, rng_seed, failure_persistence: None, ..default }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn an_incremental_build_equals_one_from_nothing(
        seeds in prop::collection::vec(any::<u64>(), 1..60),
        ownership in prop::sample::select(vec![HostOwnership::Any, HostOwnership::Namespace]),
    ) {
        let pairs = pairs();
        let mut snapshot = Snapshot::default();
        change(&mut snapshot, &mut Dice(3), &pairs);
        snapshot.ingress_classes.get_or_insert_default().insert("nginx".into(), Arc::new(class("k8s.io/ingress-nginx")));
        let entries = BTreeMap::from([("5432", "x/a:80"), ("5433", "y/b:http:PROXY")].map(|(port, entry)| (port.to_owned(), entry.to_owned())));
        let services = ConfigMap { data: Some(entries), ..Default::default() };
        snapshot.config_maps.insert(ObjectKey::new("x", "tcp"), Arc::new(services));
        let mut builder = Builder::new(options(ownership));
        let mut held = Live::default();
        let mut digest = 0;
        for seed in seeds {
            let mut dice = Dice(seed);
            for _ in 0..=dice.roll(3) {
                change(&mut snapshot, &mut dice, &pairs);
            }
            let incremental = builder.build(&snapshot);
            // What is refused now is served as it was last accepted, and so are objects that it names: history that a fresh build does not have.
            let mut served = snapshot.clone();
            for (key, object) in builder.last_accepted() {
                served.ingresses.insert(key.clone(), object.clone());
            }
            let fresh = Builder::new(options(ownership)).with_last_readable(builder.last_readable().clone()).build(&served);
            prop_assert_eq!(&incremental.model, &fresh.model);
            if builder.last_accepted().is_empty() {
                prop_assert_eq!(incremental.problems(), fresh.problems());
            }
            prop_assert_eq!(incremental.external_names(), fresh.external_names());
            prop_assert_eq!(plan(&incremental.model, &fresh.model), Plan::Nothing);

            // The deltas alone lead a data plane to the same state, and their checksums to the same digest.
            let live = &incremental.model.live;
            for op in held.delta(live) {
                digest = digest + u64::from(op.new_crc()) - u64::from(op.old_crc);
                held.accept(&op, live);
            }
            prop_assert_eq!(&held, live);
            prop_assert_eq!(digest, live.digest());
        }
    }
}
