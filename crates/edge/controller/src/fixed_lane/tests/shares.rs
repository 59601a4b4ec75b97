//! Old workers, and the namespaces that left them.

use super::*;

const MOST: usize = 16;

fn of(namespace: &str, name: &str, kilobytes: u32) -> (ObjectKey, Arc<model::Ingress>) {
    let (key, ingress) = ingress(name, kilobytes);
    (ObjectKey::new(namespace, key.name), ingress)
}

/// An Ingress of one path of a host.
fn path(namespace: &str, host: &str, path: &str, annotations: &[(&str, &str)]) -> (ObjectKey, Arc<model::Ingress>) {
    let service =
        IngressServiceBackend { name: "s".into(), port: Some(ServiceBackendPort { number: Some(80), ..ServiceBackendPort::default() }) };
    let backend = IngressBackend { service: Some(service), resource: None };
    let paths = vec![HTTPIngressPath { path: Some(path.into()), path_type: "Prefix".into(), backend }];
    let rule = IngressRule { host: Some(host.into()), http: Some(HTTPIngressRuleValue { paths }) };
    let own = annotations.iter().map(|(name, value)| (format!("{PREFIX}/{name}"), (*value).to_owned()));
    let class = ("kubernetes.io/ingress.class".to_owned(), "nginx".to_owned());
    let metadata = ObjectMeta { annotations: Some(own.chain([class]).collect()), ..ObjectMeta::default() };
    let spec = Some(IngressSpec { rules: Some(vec![rule]), ..IngressSpec::default() });
    (ObjectKey::new(namespace, host), Arc::new(Ingress { metadata, spec, ..Ingress::default() }.into()))
}

/// Changes what `evil` makes of a number until a reload waits. The number that waits.
async fn until_waiting(bed: &mut Bed, make: impl Fn(u32) -> Vec<(ObjectKey, Arc<model::Ingress>)>) -> u32 {
    for number in 100..200 {
        bed.snapshots.send_replace(snapshot(&[], make(number)));
        tokio::time::sleep(Duration::from_secs(20)).await;
        if waits(bed) {
            return number;
        }
    }
    panic!("nothing waits: {:?}", bed.calls());
}

fn waits(bed: &Bed) -> bool {
    bed.handle.fault.borrow().as_deref().is_some_and(|fault| fault.contains("namespace evil asks for waits"))
}

fn crowded() -> World {
    World { old: crate::port::Old { most: MOST, ..Default::default() }, ..World::default() }
}

fn has(bed: &Bed, kilobytes: u32) -> bool {
    let words = format!("proxy-buffer-size {kilobytes}k");
    bed.fake.world().runs.profiles.values().any(|profile| profile.describe().contains(&words))
}

#[tokio::test(start_paused = true)]
async fn a_tenant_whose_clients_stay_waits_for_its_reloads_and_others_do_not() {
    let mut bed = Bed::over(crowded(), 1000);
    let last = until_waiting(&mut bed, |number| vec![of("evil", "e", number)]).await;
    let left = bed.fake.world().old.workers.len();
    assert!(left * 5 >= MOST * 4 && left < MOST, "{left}");
    assert!(!has(&bed, last));

    // Another needs a reload: both get theirs.
    bed.snapshots.send_replace(snapshot(&[], [of("evil", "e", last), of("shop", "s", 300)]));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(has(&bed, 300) && has(&bed, last));
    assert_eq!(bed.handle.fault.borrow().clone(), None);

    // What is gone is charged to whom it belonged; an operator does not wait.
    bed.snapshots.send_replace(snapshot(&[], [of("evil", "e", last + 1), of("shop", "s", 300)]));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(!has(&bed, last + 1));
    bed.snapshots.send_replace(snapshot(&[("server-tokens", "true")], [of("evil", "e", last + 1), of("shop", "s", 300)]));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(has(&bed, last + 1));

    bed.fake.world().old.workers.clear();
    bed.snapshots.send_replace(snapshot(&[("server-tokens", "true")], [of("evil", "e", last + 2), of("shop", "s", 300)]));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(has(&bed, last + 2));
}

#[tokio::test(start_paused = true)]
async fn a_path_in_a_host_of_another_tenant_is_charged_to_who_adds_it() {
    let mut bed = Bed::over(crowded(), 1000);
    let shop = |size: &str| path("shop", "shop.example.com", "/", &[("ssl-ciphers", "HIGH"), ("proxy-buffer-size", size)]);
    let evil = |number: u32| path("evil", "shop.example.com", "/e", &[("proxy-buffer-size", &format!("{number}k"))]);
    let last = until_waiting(&mut bed, |number| vec![shop("90k"), evil(number)]).await;
    bed.snapshots.send_replace(snapshot(&[], [shop("91k"), evil(last)]));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(has(&bed, 91) && has(&bed, last));
}

#[tokio::test(start_paused = true)]
async fn a_new_host_below_a_pattern_of_a_tenant_that_waits_does_not_wait() {
    let mut bed = Bed::over(crowded(), 1000);
    let evil = |number: u32| {
        let aliases = format!("~\\.wild\\.com$,~^n{number}$,alias.example.com");
        path("evil", "evil.example.com", "/", &[("ssl-ciphers", "HIGH"), ("server-alias", &aliases)])
    };
    let old = || path("shop", "old.wild.com", "/", &[]);
    let last = until_waiting(&mut bed, |number| vec![evil(number), old()]).await;
    let named = |bed: &Bed, host: &str| bed.fake.world().runs.pinned_names.contains(host);
    assert!(named(&bed, "old.wild.com"));
    let new = || path("shop", "new.wild.com", "/", &[]);
    bed.snapshots.send_replace(snapshot(&[], [evil(last), old(), new()]));
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(named(&bed, "new.wild.com") && !waits(&bed));

    // Nor does one that takes its name back.
    bed.snapshots.send_replace(snapshot(&[], [evil(last + 1), old(), new()]));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(waits(&bed));
    let alias = path("shop", "alias.example.com", "/", &[]);
    bed.snapshots.send_replace(snapshot(&[], [evil(last + 1), old(), new(), alias]));
    tokio::time::sleep(Duration::from_secs(5)).await;
    let host_server = bed.fake.world().runs.host_servers["evil.example.com"].clone();
    assert!(!host_server.aliases.iter().any(|alias| **alias == *"alias.example.com"), "{:?}", host_server.aliases);
}

#[tokio::test(start_paused = true)]
async fn a_serial_reload_waits_for_the_workers_of_the_one_before() {
    let mut bed = Bed::over(crowded(), 1000);
    let serial = [("enable-serial-reloads", "true")];
    bed.snapshots.send_replace(snapshot(&serial, [of("shop", "s", 100)]));
    settled(&mut bed).await;
    for (kilobytes, begins) in [(101, true), (102, false)] {
        bed.snapshots.send_replace(snapshot(&serial, [of("shop", "s", kilobytes)]));
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(has(&bed, kilobytes), begins, "{kilobytes}");
    }
    assert_eq!(bed.handle.fault.borrow().clone(), None, "it is no fault");
    bed.fake.world().old.workers.clear();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(has(&bed, 102));
}
