//! What rows change: the example of an annotation, or of a key of the ConfigMap, must change the model or the text of NGINX.

#[cfg(test)]
mod accepted;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use anyhow::{Context, Result, ensure};
use manifests::{Content, File};
use model::options::{Edition, GeoIp, PemPair};
use model::{BuildOptions, Builder, Built, Fixed, Globals, ObjectKey, Snapshot};
use render::{Capabilities, Paths};
use serde_json::{Value, json};
use settings::{CONFIG_KEYS, Config, descriptions};

type Pairs<'a> = BTreeMap<&'a str, &'a str>;

const NAMESPACE: &str = "n";

/// Settings with which examples have an effect.
const PERMISSIVE: [(&str, &str); 6] = [
    ("allow-cross-namespace-resources", "true"),
    ("allow-snippet-annotations", "true"),
    ("annotations-risk-level", "Critical"),
    ("global-allowed-response-headers", "X-Team"),
    ("global-auth-url", "http://auth.example.com/verify"),
    ("use-http2", "false"),
];

/// Paths that only some settings tell from others.
const PATHS: [(&str, &str); 4] = [("/", "Prefix"), ("/healthz", "Prefix"), ("/exact", "Exact"), ("/odd.$", "Exact")];

/// Rows whose example changes nothing although they do not say so, and rows that say so although it does.
pub(crate) fn check() -> Result<Vec<String>> {
    let objects = Objects::new()?;
    let mut complaints = Vec::new();
    for annotation in descriptions() {
        let (_, companions) = annotation.example.split_last().context("an example has the annotation itself")?;
        let has_effect = objects.changes_with(companions, &annotation.example)?;
        complaints.extend(verdict("annotation", annotation.name, annotation.inert, has_effect));
    }
    let world = objects.with_every_annotation()?;
    let bases = [Pairs::new(), PERMISSIVE.into(), CONFIG_KEYS.iter().map(|key| (key.name, key.example)).collect()]
        .map(|data| Before::new(&world, data))
        .into_iter()
        .collect::<Result<Vec<_>>>()?;
    for key in CONFIG_KEYS.iter() {
        let mut has_effect = false;
        for before in &bases {
            has_effect = has_effect || before.changes_with(&world, key.name, key.example)?;
        }
        complaints.extend(verdict("key", key.name, key.inert, has_effect));
    }
    Ok(complaints)
}

fn verdict(kind: &str, name: &str, inert: Option<&str>, has_effect: bool) -> Option<String> {
    match (inert, has_effect) {
        (None, false) => Some(format!("{kind} {name}: its example changes neither the model nor the text, and its row does not say why")),
        (Some(_), true) => Some(format!("{kind} {name}: its row says that its example changes nothing, but it does")),
        _ => None,
    }
}

/// Parameters of DHE.
const DH_PARAMETERS: &str = include_str!("../../crates/core/model/src/passes/globals/dh/2048.pem");

/// Everything that examples name.
struct Objects(Snapshot);

impl Objects {
    fn new() -> Result<Self> {
        let made = rcgen::generate_simple_self_signed(["foo.com".to_owned()]).context("make a certificate")?;
        let (chain, private) = (made.cert.pem(), made.signing_key.serialize_pem());
        let pair = json!({"tls.crt": chain, "tls.key": private, "ca.crt": chain});
        let object = |kind: &str, namespace: &str, name: &str, field: &str, value: Value| json!({"apiVersion": "v1", "kind": kind, "metadata": {"namespace": namespace, "name": name}, field: value});
        let mut all = vec![
            object("Secret", "default", "ca", "stringData", pair.clone()),
            object("Secret", "shop", "backend-tls", "stringData", pair),
            object("Secret", "ingress", "dh-parameters", "stringData", json!({"dhparam.pem": DH_PARAMETERS})),
            object("Secret", NAMESPACE, "users", "stringData", json!({"auth": "ann:{PLAIN}secret"})),
        ];
        for (namespace, name) in [
            ("default", "response-headers"),
            ("default", "auth-headers"),
            ("ingress", "answer-headers"),
            ("ingress", "request-headers"),
            (NAMESPACE, "php-parameters"),
        ] {
            all.push(object("ConfigMap", namespace, name, "data", json!({"X-Team": "red"})));
        }
        for (name, port) in [("tcp", "80"), ("udp", "53")] {
            all.push(object("ConfigMap", "ingress", name, "data", json!({"5353": format!("{NAMESPACE}/s:{port}")})));
        }
        for name in ["s", "error-pages"] {
            let ports = json!([{"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}]);
            all.push(object("Service", NAMESPACE, name, "spec", json!({"clusterIP": "10.96.0.9", "ports": ports})));
            all.push(json!({
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {"namespace": NAMESPACE, "name": name, "labels": {"kubernetes.io/service-name": name}},
                "addressType": "IPv4",
                "endpoints": [{"addresses": ["10.0.0.1"]}],
                "ports": [{"name": "http", "port": 8080}, {"name": "dns", "port": 53, "protocol": "UDP"}],
            }));
        }
        read(&all).map(Self)
    }

    /// Whether an Ingress with the second annotations is built otherwise than with the first: alone, beside another of its host, or with endpoints that speak TLS.
    fn changes_with(&self, before: &[(&str, &str)], after: &[(&str, &str)]) -> Result<bool> {
        let beside = ingress("a", "b.example.com", "error-pages", &[("affinity", "cookie")]);
        let plain: &[(&str, &str)] = &[];
        for (others, given) in [(&[][..], plain), (&[beside], plain), (&[], &[("backend-protocol", "HTTPS")])] {
            let build = |annotations: &[(&str, &str)]| {
                let mut world = self.0.clone();
                let annotations = [given, annotations].concat();
                let all: Vec<Value> = others.iter().cloned().chain([ingress("b", "b.example.com", "s", &annotations)]).collect();
                world.ingresses.extend(read(&all)?.ingresses);
                anyhow::Ok(Builder::new(options()).build(&with_settings(&world, &PERMISSIVE.into())?).model)
            };
            if build(before)? != build(after)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// With an Ingress for each annotation.
    fn with_every_annotation(&self) -> Result<Snapshot> {
        let of = |annotation: &settings::Description| {
            ingress(annotation.name, &format!("{}.example.com", annotation.name), "s", &annotation.example)
        };
        let mut all: Vec<Value> = descriptions().iter().map(of).collect();
        all.push(ingress("plain", "plain.example.com", "s", &[]));
        all.push(ingress("directive", "directive.example.com", "s", &[("configuration-snippet", "env TZ;")]));
        let tls = ("backend-protocol", "HTTPS");
        all.push(ingress("tls", "tls.example.com", "s", &[tls, ("proxy-ssl-secret", "shop/backend-tls")]));
        let mut beside = ingress("tls-beside", "tls.example.com", "s", &[tls]);
        beside["spec"]["rules"][0]["http"]["paths"][0]["path"] = json!("/beside");
        all.push(beside);
        all.push(ingress("word", "word.example.com", "s", &[("app-root", "/load_module")]));
        let mut world = self.0.clone();
        world.ingresses.extend(read(&all)?.ingresses);
        Ok(world)
    }
}

/// A world as it is with some settings.
struct Before<'a> {
    data: Pairs<'a>,
    builder: Builder,
    built: Built,
    revision: String,
}

impl<'a> Before<'a> {
    fn new(world: &Snapshot, data: Pairs<'a>) -> Result<Self> {
        let mut builder = Builder::new(options());
        let built = builder.build(&with_settings(world, &data)?);
        let revision = revision(&built.model.fixed)?;
        Ok(Self { data, builder, built, revision })
    }

    /// Whether a key, set to this value or back to its default, changes what is made of the settings. The settings themselves do not count.
    fn changes_with(&self, world: &Snapshot, key: &'a str, value: &'a str) -> Result<bool> {
        let mut data = self.data.clone();
        if data.remove(key).is_none() {
            data.insert(key, value);
        }
        let built = self.builder.clone().build(&with_settings(world, &data)?);
        let (old, new) = (&self.built.model, &built.model);
        let globals = Arc::new(Globals { config: Config::default(), ..(*old.fixed.globals).clone() });
        let without_settings = |fixed: &Fixed| Fixed { globals: globals.clone(), ..fixed.clone() };
        Ok(old.live != new.live
            || without_settings(&old.fixed) != without_settings(&new.fixed)
            || self.built.problems().len() != built.problems().len()
            || revision(&new.fixed)? != self.revision)
    }
}

/// The content address of all files.
fn revision(fixed: &Fixed) -> Result<String> {
    let mut capabilities = Capabilities::complete();
    capabilities.bpf = true;
    capabilities.core_rules = vec!["/usr/share/modsecurity-crs/*.conf".to_owned()];
    Ok(render::render(fixed, &capabilities, &Paths::new("/var/lib/narthex")).context("render")?.revision)
}

pub(crate) fn options() -> BuildOptions {
    static PAIR: LazyLock<PemPair> = LazyLock::new(|| {
        let made = rcgen::generate_simple_self_signed(["fallback.example.com".to_owned()]).expect("a certificate can be made");
        PemPair { chain: made.cert.pem(), key: made.signing_key.serialize_pem() }
    });
    BuildOptions {
        watch_ingress_without_class: true,
        configmap: Some(ObjectKey::new(NAMESPACE, "settings")),
        tcp_services: Some(ObjectKey::new("ingress", "tcp")),
        udp_services: Some(ObjectKey::new("ingress", "udp")),
        passthrough_port: Some(8442),
        geoip: GeoIp { directory: "/usr/share/GeoIP".into(), editions: vec![Edition::LiteCity] },
        fallback_certificate: PAIR.clone(),
        ..BuildOptions::default()
    }
}

fn with_settings(world: &Snapshot, data: &Pairs<'_>) -> Result<Snapshot> {
    let metadata = json!({"namespace": NAMESPACE, "name": "settings"});
    let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data});
    let mut world = world.clone();
    world.databases = Arc::new([Edition::LiteCity].into());
    world.config_maps.extend(read(&[map])?.config_maps);
    Ok(world)
}

fn ingress(name: &str, host: &str, service: &str, annotations: &[(&str, &str)]) -> Value {
    let annotations: BTreeMap<String, &str> =
        annotations.iter().map(|(name, value)| (format!("nginx.ingress.kubernetes.io/{name}"), *value)).collect();
    let backend = json!({"service": {"name": service, "port": {"number": 80}}});
    let paths: Vec<Value> = PATHS.iter().map(|(path, kind)| json!({"path": path, "pathType": kind, "backend": backend})).collect();
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": {"namespace": NAMESPACE, "name": name, "annotations": annotations},
        "spec": {"rules": [{"host": host, "http": {"paths": paths}}]},
    })
}

/// Objects as `narthex run --manifests` reads them.
fn read(objects: &[Value]) -> Result<Snapshot> {
    let text: String = objects.iter().map(|object| format!("---\n{object}\n")).collect();
    let loaded = manifests::read([File { path: Arc::from("all.yaml"), content: Content::Bytes(text.into()) }], None);
    let count = |snapshot: &Snapshot| {
        snapshot.ingresses.len()
            + snapshot.services.len()
            + snapshot.endpoint_slices.len()
            + snapshot.secrets.len()
            + snapshot.config_maps.len()
    };
    ensure!(count(&loaded.snapshot) == objects.len(), "only {} of {} objects could be read", count(&loaded.snapshot), objects.len());
    Ok(loaded.snapshot)
}
