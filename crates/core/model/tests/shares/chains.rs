//! Certificates with what their chains lack.

use std::sync::Arc;

use model::snapshot::{Fetched, Issuers, MissingIssuers};
use model::{BuildOptions, Builder, Built, ObjectKey, Snapshot};
use rcgen::{CertificateParams, CustomExtension, Issuer, KeyPair};

use crate::secrets::{put_ingress, put_secret};
use crate::world::*;

const NAMESPACE: &str = "shop";

/// Puts a host with a certificate whose issuer's is at `http://c`, and does not follow.
fn put_incomplete(snapshot: &mut Snapshot, name: &str) {
    let (ca, key) = (CertificateParams::default(), KeyPair::generate().unwrap());
    let mut params = CertificateParams::new(vec![format!("{name}.{NAMESPACE}.example")]).unwrap();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    // AuthorityInfoAccess { { caIssuers, http://c } }
    let access = [&[0x30, 0x16, 0x30, 0x14, 0x06, 0x08, 0x2b, 6, 1, 5, 5, 7, 0x30, 0x02, 0x86, 0x08], &b"http://c"[..]].concat();
    params.custom_extensions.push(CustomExtension::from_oid_content(&[1, 3, 6, 1, 5, 5, 7, 1, 1], access));
    let own = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&own, &Issuer::new(ca, key)).unwrap();
    put_secret(snapshot, NAMESPACE, name, &[("tls.crt", certificate.pem()), ("tls.key", own.serialize_pem())]);
    put_ingress(snapshot, NAMESPACE, name, false);
}

/// What was fetched for a key pair: so many bytes.
fn fetched(of: &Arc<str>, bytes: usize) -> Arc<Fetched<MissingIssuers>> {
    let certificates = [vec![b'x'; bytes].into()].into();
    Arc::new(Fetched { answer: Some((4_102_444_800, MissingIssuers { of: of.clone(), certificates })), fault: None })
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new(NAMESPACE, name)
}

/// Certificates in the chain that clients of a host get.
fn length(built: &Built, name: &str) -> usize {
    let live = &built.model.live;
    live.certificates[&live.servers[format!("{name}.{NAMESPACE}.example").as_str()]].pair.chain.matches("BEGIN CERTIFICATE").count()
}

fn details(built: &Built) -> Vec<String> {
    built.problems().into_iter().filter(|problem| problem.object.kind == "Secret").map(|problem| problem.detail).collect()
}

#[test]
fn a_chain_gets_what_it_lacks_if_that_was_fetched_for_this_very_key_pair() {
    let (mut builder, mut snapshot) = world();
    put_incomplete(&mut snapshot, "a");
    let before = builder.build(&snapshot);
    let lacks = before.incomplete[&key("a")].clone();
    assert_eq!((length(&before, "a"), &*lacks.url), (1, "http://c"));
    assert!(details(&before)[0].starts_with("the certificate of the issuer does not follow; clients"), "{:?}", details(&before));

    snapshot.issuers = Issuers::unit(key("a"), fetched(&lacks.id, 100));
    let completed = builder.build(&snapshot);
    assert_eq!((length(&completed, "a"), details(&completed)), (2, Vec::new()));
    // The question stays, or its answer would be dropped.
    assert_eq!(completed.incomplete[&key("a")], lacks);
    assert_eq!(completed.model, builder_from_nothing(&snapshot).model);

    // Its issuer is a root.
    let nothing = MissingIssuers { of: lacks.id.clone(), certificates: Arc::default() };
    snapshot.issuers = Issuers::unit(key("a"), Arc::new(Fetched { answer: Some((4_102_444_800, nothing)), fault: None }));
    let whole = builder.build(&snapshot);
    assert_eq!((length(&whole, "a"), details(&whole), &whole.model.live), (1, Vec::new(), &before.model.live));

    snapshot.issuers = Issuers::unit(key("a"), Arc::new(Fetched { answer: None, fault: Some("its URL gives no answer".into()) }));
    let failed = builder.build(&snapshot);
    assert!(details(&failed)[0].contains("does not follow, and its URL gives no answer; clients"), "{:?}", details(&failed));
    put_incomplete(&mut snapshot, "a");
    snapshot.issuers = Issuers::unit(key("a"), fetched(&lacks.id, 100));
    let renewed = builder.build(&snapshot);
    assert_eq!((length(&renewed, "a"), details(&renewed).len()), (1, 1));
}

#[test]
fn the_default_certificate_is_completed_as_well() {
    let (_, mut snapshot) = world();
    put_incomplete(&mut snapshot, "a");
    snapshot.ingresses.clear();
    let mut builder = Builder::new(BuildOptions { default_ssl_certificate: Some(key("a")), ..BuildOptions::default() });
    let before = builder.build(&snapshot);
    let lacks = before.incomplete[&key("a")].clone();
    snapshot.issuers = Issuers::unit(key("a"), fetched(&lacks.id, 100));
    let live = builder.build(&snapshot).model.live;
    assert!(live.certificates[&live.servers["_"]].pair.chain.len() > lacks.record.pair.chain.len() + 100);
}

#[test]
fn a_certificate_without_room_for_what_its_chain_lacks_is_used_as_it_is() {
    let (mut builder, mut snapshot) = world();
    let names: Vec<String> = (0..30).map(|at| format!("h{at:02}")).collect();
    names.iter().for_each(|name| put_incomplete(&mut snapshot, name));
    let before = builder.build(&snapshot);
    for (at, name) in names.iter().enumerate() {
        snapshot.issuers.insert(key(name), fetched(&before.incomplete[&key(name)].id, 24_000 + at));
    }
    let built = builder.build(&snapshot);
    let completed = |built: &Built| {
        names
            .iter()
            .filter(|name| {
                built.model.live.servers.get(format!("{name}.{NAMESPACE}.example").as_str()).is_some() && length(built, name) == 2
            })
            .count()
    };
    assert!((20..28).contains(&completed(&built)), "{}", completed(&built));
    assert_eq!(without_room(&built), []);
    let faults = details(&built);
    assert!(faults.len() == 30 - completed(&built) && faults[0].contains("there is no room for it in NGINX's memory"), "{faults:?}");
    assert_eq!(built.model, builder_from_nothing(&snapshot).model);
    for name in &names[..10] {
        snapshot.secrets.remove(&key(name));
        snapshot.ingresses.remove(&key(name));
    }
    let built = builder.build(&snapshot);
    assert_eq!((completed(&built), details(&built)), (20, Vec::new()));
    assert_eq!(built.model, builder_from_nothing(&snapshot).model);
}
