//! Every key of the ConfigMap changes: what is built again for it is all that depends on it, and nothing else.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret, Service, ServicePort, ServiceSpec};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointPort, EndpointSlice};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::{BuildOptions, Builder, Built, Module, ObjectKey, ProblemKind, Resource, Snapshot};
use settings::{CONFIG_KEYS, ConfigEntry, Derived, descriptions};

use crate::world::World;

type Data = BTreeMap<&'static str, &'static str>;

const PATHS: [&str; 3] = ["/", "/healthz", "=/exact"];

/// Settings with which the examples are without findings: an Ingress that has one is read again whatever the setting that changes.
const PERMISSIVE: [(&str, &str); 4] = [
    ("allow-cross-namespace-resources", "true"),
    ("allow-snippet-annotations", "true"),
    ("annotations-risk-level", "Critical"),
    ("global-allowed-response-headers", "X-Team"),
];

/// Annotations that depend on settings in other ways than by having their default there.
const FURTHER: &[(&str, &[(&str, &str)])] = &[
    ("blocked-word", &[("app-root", "/load_module")]),
    ("refused-directive", &[("configuration-snippet", "root /srv;")]),
    ("http-variable", &[("upstream-vhost", "$team.internal")]),
    ("server-variable", &[("upstream-vhost", "$shop.internal")]),
    ("location-variable", &[("upstream-vhost", "$zone.internal")]),
    ("many-buffers", &[("proxy-busy-buffers-size", "40k")]),
    ("small-file", &[("proxy-max-temp-file-size", "6k")]),
    ("backend-of-host", &[("proxy-ssl-secret", "shop/backend-tls")]),
    ("core-rules-alone", &[("enable-owasp-core-rules", "true")]),
];

/// Ingresses with each annotation: as its example has it, as the example of its default has it, and with a value that it does not take.
fn world() -> Snapshot {
    let mut world = World::new(&[]);
    for annotation in descriptions() {
        let host = format!("{}.example.com", annotation.name);
        world = world.ingress(annotation.name, &host, &PATHS, &annotation.example);
        if annotation.config_key.is_some() {
            let default = CONFIG_KEYS.iter().find(|key| Some(key.name) == annotation.config_key).map_or("", |key| key.example);
            for (what, value) in [("same", default), ("bad", "; nonsense {")] {
                world =
                    world.ingress(&format!("{what}-{}", annotation.name), &format!("{what}.{host}"), &["/"], &[(annotation.name, value)]);
            }
        }
    }
    for (name, annotations) in FURTHER {
        world = world.ingress(name, &format!("{name}.example.org"), &PATHS, annotations);
    }
    let World(mut snapshot) = world.ingress("no-host", "", &["/a"], &[("ssl-redirect", "true")]).ingress(
        "beside",
        "backend-of-host.example.org",
        &["/beside"],
        &[("backend-protocol", "HTTPS")],
    );
    objects(&mut snapshot);
    snapshot
}

/// What the annotations name.
fn objects(snapshot: &mut Snapshot) {
    let made = rcgen::generate_simple_self_signed(["foo.com".to_owned()]).unwrap();
    let (chain, private) = (made.cert.pem(), made.signing_key.serialize_pem());
    let pair = [("tls.crt", &chain), ("tls.key", &private), ("ca.crt", &chain)];
    let users = "ann:{PLAIN}secret".to_owned();
    let secret = |data: &[(&str, &String)]| {
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.as_bytes().to_vec())));
        Arc::new(Secret { data: Some(data.collect()), ..Secret::default() })
    };
    snapshot.secrets.insert(ObjectKey::new("default", "ca"), secret(&pair));
    snapshot.secrets.insert(ObjectKey::new("shop", "backend-tls"), secret(&pair));
    let parameters = include_str!("../../src/passes/globals/dh/2048.pem").to_owned();
    snapshot.secrets.insert(ObjectKey::new("ingress", "dh-parameters"), secret(&[("dhparam.pem", &parameters)]));
    snapshot.secrets.insert(ObjectKey::new("n", "users"), secret(&[("auth", &users)]));
    for (namespace, name) in
        [("default", "response-headers"), ("default", "auth-headers"), ("ingress", "answer-headers"), ("n", "php-parameters")]
    {
        let map = ConfigMap { data: Some([("X-Team".to_owned(), "red".to_owned())].into()), ..ConfigMap::default() };
        snapshot.config_maps.insert(ObjectKey::new(namespace, name), Arc::new(map));
    }
    for name in ["s", "error-pages"] {
        let ports = vec![ServicePort { name: Some("http".into()), port: 80, ..ServicePort::default() }];
        let spec = ServiceSpec { cluster_ip: Some("10.96.0.9".into()), ports: Some(ports), ..ServiceSpec::default() };
        let metadata = ObjectMeta { namespace: Some("n".into()), name: Some(name.into()), ..ObjectMeta::default() };
        let service = Service { metadata, spec: Some(spec), status: None };
        snapshot.services.insert(ObjectKey::new("n", name), Arc::new(service.into()));
        let labels = [("kubernetes.io/service-name".to_owned(), name.to_owned())];
        let slice = EndpointSlice {
            metadata: ObjectMeta { labels: Some(labels.into()), ..ObjectMeta::default() },
            address_type: "IPv4".into(),
            endpoints: vec![Endpoint { addresses: vec!["10.0.0.1".into()], ..Endpoint::default() }],
            ports: Some(vec![EndpointPort { name: Some("http".into()), port: Some(8080), ..EndpointPort::default() }]),
        };
        snapshot.endpoint_slices.insert(ObjectKey::new("n", name), Arc::new(slice.into()));
    }
}

fn with_settings(snapshot: &Snapshot, data: &Data) -> Snapshot {
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let mut snapshot = snapshot.clone();
    snapshot.config_maps.insert(ObjectKey::new("n", "settings"), Arc::new(ConfigMap { data: Some(data), ..ConfigMap::default() }));
    snapshot
}

fn options(missing: &[Module]) -> BuildOptions {
    let configmap = Some(ObjectKey::new("n", "settings"));
    BuildOptions { watch_ingress_without_class: true, configmap, missing: missing.iter().copied().collect(), ..BuildOptions::default() }
}

fn builder(missing: &[Module]) -> Builder {
    Builder::new(options(missing))
}

/// Everything that has a finding, but the settings themselves.
fn reported(built: &Built) -> BTreeSet<String> {
    let problems = built.problems().into_iter().filter(|problem| problem.kind != ProblemKind::Configuration);
    problems.map(|problem| problem.object.to_string()).collect()
}

/// What is made of the settings, besides what is made of them alone.
fn derived(before: &Built, after: &Built) -> Vec<Derived> {
    let (old, new) = (&before.model, &after.model);
    let room = |built: &Built| built.usage.capacity.of(Resource::State);
    let routes =
        old.live.hosts == new.live.hosts && old.fixed.profiles == new.fixed.profiles && old.fixed.host_servers == new.fixed.host_servers;
    // What has a finding is read again whatever changed.
    let ingresses = reported(after).is_subset(&reported(before)) && room(before) == room(after);
    let parts = [(Derived::Backends, old.live.backends == new.live.backends), (Derived::Routes, routes), (Derived::Ingresses, ingresses)];
    parts.into_iter().filter(|(_, same)| !same).map(|(part, _)| part).collect()
}

/// A world as it was built with some settings.
struct Before {
    world: Snapshot,
    data: Data,
    missing: &'static [Module],
    builder: Builder,
    built: Built,
}

impl Before {
    fn new(world: &Snapshot, data: Data, missing: &'static [Module]) -> Self {
        let mut builder = builder(missing);
        let built = builder.build(&with_settings(world, &data));
        Self { world: world.clone(), data, missing, builder, built }
    }

    /// Sets these keys to their examples, or back to their defaults. Returns what is made otherwise then.
    fn change(&self, keys: &[&ConfigEntry]) -> Vec<Derived> {
        let mut data = self.data.clone();
        for key in keys {
            if data.remove(key.name).is_none() {
                data.insert(key.name, key.example);
            }
        }
        let changed = with_settings(&self.world, &data);
        let incremental = self.builder.clone().build(&changed);
        let fresh = builder(self.missing).build(&changed);
        if let [key] = keys {
            let why = format!("{} invalidates more than {:?}", key.name, key.invalidates);
            assert!(incremental.model == fresh.model, "{why}");
            assert_eq!((incremental.problems(), incremental.usage), (fresh.problems(), fresh.usage), "{why}");
        } else if incremental.model != fresh.model || incremental.problems() != fresh.problems() {
            keys.iter().for_each(|key| drop(self.change(&[key])));
        }
        derived(&self.built, &fresh)
    }
}

#[test]
fn what_a_key_invalidates_is_what_depends_on_it() {
    let world = world();
    let all: Data = CONFIG_KEYS.iter().map(|key| (key.name, key.example)).collect();
    // Rules that are not installed close what asks for them, depending on a setting.
    let worlds = [Before::new(&world, PERMISSIVE.into(), &[Module::CoreRules]), Before::new(&world, all, &[])];
    let (alone, others): (Vec<_>, Vec<_>) =
        CONFIG_KEYS.iter().partition(|key| key.invalidates.iter().all(|part| *part == Derived::Text) && !key.is_default_of_annotations());
    for before in &worlds {
        assert_eq!(before.change(&alone), [], "settings of the text alone");
    }
    let mut disagree = Vec::new();
    for key in others {
        let found: Vec<Derived> = worlds.iter().flat_map(|before| before.change(&[key])).collect();
        let says = |part| key.invalidates.contains(&part);
        let is = |part| found.contains(&part);
        let agree = is(Derived::Ingresses) == says(Derived::Ingresses)
            && (says(Derived::Ingresses) || [Derived::Backends, Derived::Routes].into_iter().all(|part| is(part) == says(part)));
        disagree.extend((!agree).then(|| format!("{} changes {found:?} and invalidates {:?}", key.name, key.invalidates)));
    }
    assert_eq!(disagree, Vec::<String>::new());
}

#[test]
fn a_quarantine_ends_with_the_settings_that_it_began_with() {
    let world = World::new(&[]).ingress("a", "a.example.com", &["/"], &[]);
    let later = world.clone().map("settings", &[("keep-alive", "30")]);
    let (mut builder, key) = (World::builder(), ObjectKey::new("n", "a"));
    let built = builder.build(&world.0);
    builder.quarantine(&key, "no", &built);
    let quarantined = builder.build(&world.0);
    assert!(quarantined.quarantined.contains_key(&key) && !quarantined.has_ingress(&key));
    let changed = builder.build(&later.0);
    assert!(changed.quarantined.is_empty() && changed.has_ingress(&key));
    builder.quarantine(&key, "no", &built);
    assert!(builder.build(&later.0).quarantined.is_empty(), "it was refused beside other settings");
}
