//! TCP services whose TLS is decrypted with a Secret that the Service names.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Service;
use model::{BuildOptions, Builder, Built, ObjectKey, Plan, Reason, Snapshot, StreamCertificate, plan};
use serde_json::json;

use crate::world::World;

const ANNOTATION: &str = "nginx.ingress.kubernetes.io/tcp-tls-secret";

fn builder() -> Builder {
    let (tcp_services, udp_services) = (Some(ObjectKey::new("n", "tcp")), Some(ObjectKey::new("n", "udp")));
    Builder::new(BuildOptions { tcp_services, udp_services, ..BuildOptions::default() })
}

/// The Service `n/s`, TCP and UDP, with this value of the annotation.
fn with_service(World(mut snapshot): World, secret: Option<&str>) -> World {
    let annotations = secret.map(|secret| json!({ANNOTATION: secret}));
    let ports = json!([{"name": "db", "port": 1}, {"name": "dns", "port": 53, "protocol": "UDP"}]);
    let service: Service = serde_json::from_value(json!({"metadata": {"annotations": annotations}, "spec": {"ports": ports}})).unwrap();
    snapshot.services.insert(ObjectKey::new("n", "s"), Arc::new(service.into()));
    World(snapshot)
}

/// It is served on port 9000, and as UDP on port 53.
fn world(secret: Option<&str>) -> World {
    with_service(World::new(&[]).map("tcp", &[("9000", "n/s:db")]).map("udp", &[("53", "n/s:dns")]), secret)
}

fn with_pair(world: World, name: &str, (chain, key): (&str, &str)) -> World {
    world.secret(name, &[("tls.crt", chain), ("tls.key", key)])
}

fn pair() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["db.example".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

fn certificate(built: &Built) -> Option<&StreamCertificate> {
    let (_, service) = built.model.fixed.stream_services.iter().find(|(port, _)| port.number == 9000).unwrap();
    service.certificate.as_deref()
}

/// The records of the services.
fn records(built: &Built) -> Vec<&str> {
    built.model.live.stream_services.keys().map(|key| &**key).collect()
}

/// The findings about the annotation.
fn findings(built: &Built) -> Vec<String> {
    let problems = built.problems().into_iter().filter(|problem| problem.field.contains("tcp-tls-secret"));
    problems.map(|problem| problem.to_string()).collect()
}

/// Builds it, and again from nothing.
#[track_caller]
fn build(builder: &mut Builder, World(snapshot): &World) -> Built {
    let built = builder.build(snapshot);
    let fresh = self::builder().with_last_readable(builder.last_readable().clone()).build(snapshot);
    assert_eq!((&fresh.model, fresh.problems()), (&built.model, built.problems()));
    built
}

#[test]
fn connections_are_closed_until_there_is_a_certificate_and_a_changed_one_reloads() {
    let mut builder = builder();
    let plain = build(&mut builder, &world(None));
    assert_eq!(records(&plain), ["tcp-9000", "udp-53"]);

    let missing = build(&mut builder, &world(Some("pair")));
    assert_eq!((records(&missing), certificate(&missing)), (vec!["udp-53"], None));
    let expected = format!(
        "Service n/s: metadata.annotations[{ANNOTATION:?}]: \"pair\": Secret n/pair: it does not exist, expected one with tls.crt and tls.key; \
         connections to port 9000 are closed"
    );
    assert_eq!(findings(&missing), [expected]);
    assert!(matches!(plan(&plain.model, &missing.model), Plan::Live(_)), "the text is that of a service without TLS");

    let (first, second) = (pair(), pair());
    let served = build(&mut builder, &with_pair(world(Some("pair")), "pair", (&first.0, &first.1)));
    assert_eq!((records(&served), findings(&served)), (vec!["tls-9000", "udp-53"], Vec::new()));
    let found = certificate(&served).unwrap();
    assert_eq!((&found.secret, &found.pair.chain), (&ObjectKey::new("n", "pair"), &first.0));

    let renewed = build(&mut builder, &with_pair(world(Some("pair")), "pair", (&second.0, &second.1)));
    assert_ne!(certificate(&renewed).unwrap().id, found.id);
    let Plan::Reload { reasons, live } = plan(&served.model, &renewed.model) else { panic!("no reload") };
    assert_eq!((reasons.iter().map(Reason::label).collect::<Vec<_>>(), live), (vec!["stream_service"], Vec::new()));

    let broken = build(&mut builder, &with_pair(world(Some("pair")), "pair", (&second.0, &first.1)));
    assert_eq!((records(&broken), certificate(&broken)), (records(&renewed), certificate(&renewed)));
    assert!(
        findings(&broken)[0].contains("its tls.key does not belong to its tls.crt; its last accepted version"),
        "{:?}",
        findings(&broken)
    );

    let again = build(&mut builder, &world(None));
    assert_eq!((records(&again), certificate(&again)), (records(&plain), None));
    let gone = build(&mut builder, &World::new(&[]).map("tcp", &[]).map("udp", &[]));
    assert!(records(&gone).is_empty() && findings(&gone).is_empty());
}

#[test]
fn only_a_secret_of_the_own_namespace_can_be_named() {
    let (chain, key) = pair();
    for value in ["other/pair", "n/pair", "", " pair", "$pair", "pair\n"] {
        let built = build(&mut builder(), &with_pair(world(Some(value)), "pair", (&chain, &key)));
        assert_eq!((records(&built), certificate(&built)), (vec!["udp-53"], None), "{value:?}");
        assert!(findings(&built)[0].contains("expected the name of a Secret in the Service's own namespace"), "{:?}", findings(&built));
    }
}

#[test]
fn a_certificate_that_nginx_refuses_is_replaced_by_the_last_confirmed_one_or_closes() {
    let (first, second) = (pair(), pair());
    let world = |pair: &(String, String)| with_pair(world(Some("pair")), "pair", (&pair.0, &pair.1));
    let snapshot = |pair| -> Snapshot { world(pair).0 };
    let mut builder = builder();
    let refused = builder.build(&snapshot(&first));
    let id = certificate(&refused).unwrap().id.clone();
    builder.refuse_certificate(&id, "ee key too small");
    let closed = builder.build(&snapshot(&first));
    assert_eq!((records(&closed), certificate(&closed)), (vec!["udp-53"], None));
    assert!(findings(&closed)[0].contains("NGINX refuses its certificate: ee key too small; connections to port 9000 are closed"));
    assert!(closed.refused_certificates.contains(&id));

    let served = builder.build(&snapshot(&second));
    assert!(served.refused_certificates.is_empty() && findings(&served).is_empty());
    builder.confirmed(&served);
    builder.build(&snapshot(&first));
    builder.refuse_certificate(&id, "ee key too small");
    let kept = builder.build(&snapshot(&first));
    assert_eq!((records(&kept), certificate(&kept)), (vec!["tls-9000", "udp-53"], certificate(&served)));
    assert!(findings(&kept)[0].contains("last accepted version goes on being used"), "{:?}", findings(&kept));

    builder.release_certificate(&id);
    let released = builder.build(&snapshot(&first));
    assert_eq!((certificate(&released), findings(&released)), (certificate(&refused), Vec::new()));
}
