//! TCP services: ports that can't be opened, and certificates that NGINX refuses.

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{Secret, Service};
use model::{Protocol, StreamPort};

use super::*;

const PORTS: [StreamPort; 2] = [StreamPort { protocol: Protocol::Tcp, number: 5432 }, StreamPort { protocol: Protocol::Tcp, number: 5433 }];

/// Two services, the second of which is decrypted with this pair.
fn services(pair: Option<&(String, String)>) -> Option<Arc<Snapshot>> {
    let mut snapshot = Arc::unwrap_or_clone(snapshot(&[], []).unwrap());
    let data = [("5432", "n/plain:1"), ("5433", "n/tls:1")].map(|(port, entry)| (port.to_owned(), entry.to_owned()));
    let map = ConfigMap { data: Some(data.into()), ..ConfigMap::default() };
    snapshot.config_maps.insert(ObjectKey::new("n", "tcp"), Arc::new(map));
    if let Some((chain, key)) = pair {
        let annotations = [(format!("{PREFIX}/tcp-tls-secret"), "pair".to_owned())].into();
        let metadata = ObjectMeta { annotations: Some(annotations), ..ObjectMeta::default() };
        let service = Service { metadata, ..Service::default() };
        snapshot.services.insert(ObjectKey::new("n", "tls"), Arc::new(service.into()));
        let data = [("tls.crt", chain), ("tls.key", key)].map(|(name, text)| (name.to_owned(), ByteString(text.clone().into_bytes())));
        snapshot.secrets.insert(ObjectKey::new("n", "pair"), Arc::new(Secret { data: Some(data.into()), ..Secret::default() }));
    }
    Some(Arc::new(snapshot))
}

fn pair() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(["db.example".to_owned()]).unwrap();
    (made.cert.pem(), made.signing_key.serialize_pem())
}

/// Lets ten minutes pass.
async fn settle() {
    tokio::time::sleep(Duration::from_secs(600)).await;
}

#[tokio::test(start_paused = true)]
async fn a_port_that_another_process_has_is_reported_and_opened_once_it_is_free() {
    let bed = Bed::with_services(World { taken: [PORTS[1]].into(), ..World::default() });
    bed.snapshots.send_replace(services(None));
    settle().await;
    assert_eq!(bed.calls(), ["apply"], "it waits for the port");
    let found = problems(&bed, "Configuration");
    let expected = "ConfigMap n/tcp: data[\"5433\"]: \"n/tls:1\": port 5433 can't be opened: another process has it; the entry is left out";
    assert!(found.len() == 1 && found[0].starts_with(expected), "{found:?}");

    bed.fake.world().taken.clear();
    settle().await;
    assert_eq!((bed.calls(), bed.counted("stream_service", "success")), (vec!["apply", "apply"], 1.0));
    assert_eq!(problems(&bed, "Configuration"), [""; 0]);
    settle().await;
    assert_eq!(bed.calls().len(), 2);
}

/// An NGINX that refuses this certificate, with a message that has no place.
fn refusing(chain: &str) -> World {
    let chain = chain.to_owned();
    world(move |fixed: &Fixed| {
        let certificates = fixed.stream_services.values().filter_map(|service| service.certificate.as_ref());
        if certificates.into_iter().any(|found| found.pair.chain == chain) {
            return Err(ApplyError::Doubtful { message: "SSL_CTX_use_certificate() failed: ee key too small".into(), culprit: None });
        }
        Ok(())
    })
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_is_refused_closes_its_service_alone_until_another_comes() {
    let (weak, good) = (pair(), pair());
    let bed = Bed::with_services(refusing(&weak.0));
    bed.snapshots.send_replace(services(Some(&weak)));
    settle().await;
    let certificate = || bed.fake.world().runs.stream_services[&PORTS[1]].certificate.clone();
    let found = problems(&bed, "Certificate");
    assert!(found.iter().any(|problem| problem.contains("ee key too small; connections to port 5433 are closed")), "{found:?}");
    assert_eq!((certificate(), bed.fake.world().runs.stream_services.len()), (None, 2));
    assert_eq!(bed.files.world().records.keys().collect::<Vec<_>>(), ["l\ttcp-5432"]);

    bed.snapshots.send_replace(services(Some(&good)));
    settle().await;
    assert_eq!((certificate().unwrap().pair.chain.clone(), problems(&bed, "Certificate")), (good.0.clone(), Vec::new()));

    bed.snapshots.send_replace(services(Some(&weak)));
    settle().await;
    assert_eq!(certificate().unwrap().pair.chain, good.0);
    let found = problems(&bed, "Certificate");
    assert!(found.iter().any(|problem| problem.contains("last accepted version goes on being used")), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn reloads_for_certificates_are_those_of_their_namespace() {
    let pairs = [pair(), pair(), pair(), pair(), pair(), pair()];
    let crowded = World { old: crate::port::Old { most: 4, ..Default::default() }, ..World::default() };
    let bed = Bed::with_services(crowded);
    for pair in &pairs {
        bed.snapshots.send_replace(services(Some(pair)));
        tokio::time::sleep(Duration::from_secs(20)).await;
    }
    let fault = bed.handle.fault.borrow().clone().unwrap_or_default();
    assert!(fault.contains("of namespace n asks for waits"), "{fault:?} {:?}", bed.calls());
}
