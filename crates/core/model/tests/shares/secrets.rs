//! Certificates and users: of the namespaces above their share the largest Secrets are held back.

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use k8s_openapi::api::networking::v1::Ingress;
use model::{Built, ObjectKey, Resource, Snapshot};
use serde_json::json;

use crate::world::*;

/// A Secret with as many users as make so many KiB.
fn put_users(snapshot: &mut Snapshot, namespace: &str, name: &str, kib: usize) {
    let file: String = (0..kib * 16).map(|at| format!("{name}-{at:06}:{{PLAIN}}{:0>40}\n", at)).collect();
    put_secret(snapshot, namespace, name, &[("auth", file)]);
}

pub(crate) fn put_secret(snapshot: &mut Snapshot, namespace: &str, name: &str, data: &[(&str, String)]) {
    let data: BTreeMap<String, ByteString> =
        data.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.clone().into_bytes()))).collect();
    let key = ObjectKey::new(namespace, name);
    snapshot.secrets.insert(key, Arc::new(Secret { data: Some(data), ..Secret::default() }));
}

/// An Ingress with a host of its own, whose users and whose certificate are in the Secret of its name.
pub(crate) fn put_ingress(snapshot: &mut Snapshot, namespace: &str, name: &str, asks_for_password: bool) {
    let backend = json!({"service": {"name": "shop", "port": {"number": 80}}});
    let host = format!("{name}.{namespace}.example");
    let mut annotations = json!({});
    if asks_for_password {
        annotations = json!({format!("{PREFIX}/auth-type"): "basic", format!("{PREFIX}/auth-secret"): name});
    }
    let spec = json!({
        "ingressClassName": "nginx",
        "tls": [{"hosts": [host], "secretName": name}],
        "rules": [{"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}],
    });
    let metadata = json!({"namespace": namespace, "name": name, "annotations": annotations});
    let ingress: Ingress = object(json!({"metadata": metadata, "spec": spec}));
    snapshot.ingresses.insert(ObjectKey::new(namespace, name), Arc::new(ingress.into()));
}

/// Hosts whose paths ask for a password, and those that are closed.
fn guarded(built: &Built) -> (Vec<&str>, Vec<&str>) {
    let asks = |denied: bool| {
        let hosts = built
            .model
            .live
            .hosts
            .iter()
            .filter(move |(_, host)| host.routes.iter().any(|route| route.password.is_some() && route.denied == denied));
        hosts.map(|(name, _)| &**name).collect()
    };
    (asks(false), asks(true))
}

#[test]
fn a_namespace_with_huge_lists_of_users_takes_no_room_from_the_certificates_and_users_of_others() {
    let (mut builder, mut snapshot) = world();
    for at in 0..24 {
        let name = format!("u{at:02}");
        put_users(&mut snapshot, "evil", &name, 100 + at);
        put_ingress(&mut snapshot, "evil", &name, true);
    }
    let alone = builder.build(&snapshot);
    let (open, closed) = guarded(&alone);
    let names: Vec<String> = (0..open.len()).map(|at| format!("u{at:02}.evil.example")).collect();
    assert!((5..10).contains(&open.len()) && open == names && open.len() + closed.len() == 24, "the smallest of them fit: {open:?}");

    put_users(&mut snapshot, "good", "users", 8);
    put_ingress(&mut snapshot, "good", "users", true);
    let pair = rcgen::generate_simple_self_signed(["shop.good.example".to_owned()]).unwrap();
    put_secret(&mut snapshot, "good", "shop", &[("tls.crt", pair.cert.pem()), ("tls.key", pair.signing_key.serialize_pem())]);
    put_ingress(&mut snapshot, "good", "shop", false);
    let built = builder.build(&snapshot);
    let (open, closed) = guarded(&built);
    assert!(open.contains(&"users.good.example") && open.len() + closed.len() == 25, "{open:?} {closed:?}");
    let live = &built.model.live;
    assert!(live.certificates.contains_key(&live.servers["shop.good.example"]));
    assert_ne!(live.servers["shop.good.example"], live.servers["users.good.example"], "its own, not the default one");
    assert_eq!(live.users.len(), open.len(), "what is held back is not sent");
    let held = without_room(&built);
    assert!(held.len() == closed.len() && held.iter().all(|(object, _)| object.starts_with("Secret evil/")), "{held:?}");
    assert!(held[0].1.contains("and its share is") && held[0].1.contains("answer 503"), "{held:?}");
    assert_eq!(built.usage.held, closed.len());
    assert!(built.usage.asked.of(Resource::Secrets) > built.usage.capacity.of(Resource::Secrets));
    let fresh = builder_from_nothing(&snapshot);
    assert_eq!((&fresh.model, fresh.problems()), (&built.model, built.problems()), "the way there does not matter");

    for at in 4..24 {
        snapshot.ingresses.remove(&ObjectKey::new("evil", format!("u{at:02}")));
    }
    let (built, all) = (builder.build(&snapshot), 5);
    assert_eq!((guarded(&built).0.len(), without_room(&built), built.usage.held), (all, Vec::new(), 0), "there is room again");
}

#[test]
fn hosts_whose_certificate_has_no_room_have_the_default_one_and_get_theirs_later() {
    let (mut builder, mut snapshot) = world();
    let pair = rcgen::generate_simple_self_signed(["large.evil.example".to_owned()]).unwrap();
    // What is before the first line of a certificate is a comment.
    let chain = format!("{}\n{}", "x".repeat(900 << 10), pair.cert.pem());
    put_secret(&mut snapshot, "evil", "large", &[("tls.crt", chain), ("tls.key", pair.signing_key.serialize_pem())]);
    put_ingress(&mut snapshot, "evil", "large", false);
    let built = builder.build(&snapshot);
    let live = &built.model.live;
    assert_eq!(live.servers["large.evil.example"], live.servers["_"]);
    let objects: Vec<String> = built.problems().iter().map(|problem| format!("{} {}", problem.kind.label(), problem.object)).collect();
    assert!(objects.contains(&"NoRoom Secret evil/large".to_owned()), "{objects:?}");
    assert!(objects.contains(&"Certificate Ingress evil/large".to_owned()), "{objects:?}");

    put_secret(&mut snapshot, "evil", "large", &[("tls.crt", pair.cert.pem()), ("tls.key", pair.signing_key.serialize_pem())]);
    let built = builder.build(&snapshot);
    let live = &built.model.live;
    assert!(live.certificates.contains_key(&live.servers["large.evil.example"]) && without_room(&built).is_empty());
}

#[test]
fn a_certificate_that_many_namespaces_have_copies_of_counts_once() {
    let (mut builder, mut snapshot) = world();
    let pair = rcgen::generate_simple_self_signed(["*.example".to_owned()]).unwrap();
    let chain = format!("{}\n{}", "x".repeat(300 << 10), pair.cert.pem());
    for at in 0..20 {
        let namespace = format!("team{at}");
        put_secret(&mut snapshot, &namespace, "wild", &[("tls.crt", chain.clone()), ("tls.key", pair.signing_key.serialize_pem())]);
        put_ingress(&mut snapshot, &namespace, "wild", false);
    }
    assert_eq!(without_room(&builder.build(&snapshot)), []);
}

#[test]
fn a_dictionary_that_the_configmap_gives_no_size_has_room_for_what_is_there_when_nginx_starts() {
    let (mut builder, mut snapshot) = world();
    for name in ["a", "b", "c"] {
        put_users(&mut snapshot, "shop", name, 3000);
        put_ingress(&mut snapshot, "shop", name, true);
    }
    let size = |built: &Built, name: &str| built.model.fixed.globals.config.lua_shared_dicts[name].to_string();
    builder.build(&snapshot);
    assert!(!builder.size_dictionaries(None), "the user has set both");

    let data = BTreeMap::from([("lua-shared-dicts".to_owned(), "configuration_data: 1".to_owned())]);
    let settings = ObjectKey::new("ns", "settings");
    snapshot.config_maps.insert(settings, Arc::new(ConfigMap { data: Some(data), ..ConfigMap::default() }));
    let built = builder.build(&snapshot);
    assert_eq!(size(&built, "certificate_data"), "20m");
    assert!(builder.size_dictionaries(None));
    let built = builder.build(&snapshot);
    assert_eq!((size(&built, "certificate_data"), size(&built, "configuration_data")), ("40m".to_owned(), "1m".to_owned()));
    assert!(built.usage.capacity.of(Resource::Secrets) >= built.usage.asked.of(Resource::Secrets) * 2);
    assert!(!builder.size_dictionaries(None));
}
