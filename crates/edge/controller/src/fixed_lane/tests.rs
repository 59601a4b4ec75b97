mod dictionaries;
mod keys;
mod shares;
mod slow;
mod streams;

use std::sync::atomic::{AtomicBool, Ordering};

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::networking::v1::{
    HTTPIngressPath, HTTPIngressRuleValue, Ingress, IngressBackend, IngressRule, IngressServiceBackend, IngressSpec, ServiceBackendPort,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use model::{ObjectKey, Snapshot};

use super::*;
use crate::fake::{Bed, World};
use crate::port::Adopted;

const PREFIX: &str = "nginx.ingress.kubernetes.io";

/// An Ingress that needs a profile of its own, by the size of its buffers.
fn ingress(name: &str, kilobytes: u32) -> (ObjectKey, Arc<model::Ingress>) {
    ingress_to(name, "s", kilobytes)
}

/// The same with its Service.
fn ingress_to(name: &str, service: &str, kilobytes: u32) -> (ObjectKey, Arc<model::Ingress>) {
    let service = IngressServiceBackend {
        name: service.into(),
        port: Some(ServiceBackendPort { number: Some(80), ..ServiceBackendPort::default() }),
    };
    let path = HTTPIngressPath {
        path: Some("/".into()),
        path_type: "Prefix".into(),
        backend: IngressBackend { service: Some(service), resource: None },
    };
    let rule = IngressRule { host: Some(format!("{name}.example.com")), http: Some(HTTPIngressRuleValue { paths: vec![path] }) };
    let annotations =
        [("kubernetes.io/ingress.class".to_owned(), "nginx".to_owned()), (format!("{PREFIX}/proxy-buffer-size"), format!("{kilobytes}k"))];
    let object = Ingress {
        metadata: ObjectMeta {
            name: Some(name.into()),
            namespace: Some("n".into()),
            annotations: Some(annotations.into()),
            ..ObjectMeta::default()
        },
        spec: Some(IngressSpec { rules: Some(vec![rule]), ..IngressSpec::default() }),
        ..Ingress::default()
    };
    (ObjectKey::new("n", name), Arc::new(object.into()))
}

fn snapshot(settings: &[(&str, &str)], ingresses: impl IntoIterator<Item = (ObjectKey, Arc<model::Ingress>)>) -> Option<Arc<Snapshot>> {
    let data = settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let mut snapshot = Snapshot::default();
    let map = ConfigMap { data: Some(data), ..ConfigMap::default() };
    snapshot.config_maps.insert(ObjectKey::new("n", "settings"), Arc::new(map));
    snapshot.ingresses.extend(ingresses);
    Some(Arc::new(snapshot))
}

/// An NGINX that refuses an `http-snippet`, and profiles with buffers of 13k.
fn strict(fixed: &Fixed, message: &str) -> Result<(), ApplyError> {
    let odd = fixed.profiles.values().any(|profile| profile.describe().contains("13k"));
    if fixed.globals.config.snippets.http_snippet.is_some() || odd {
        return Err(ApplyError::Refused { message: message.to_owned(), culprit: None });
    }
    Ok(())
}

fn world(judge: impl Fn(&Fixed) -> Result<(), ApplyError> + Send + 'static) -> World {
    World { judge: Some(Box::new(judge)), ..World::default() }
}

fn failed() -> ApplyError {
    ApplyError::Failed("the test of the configuration was ended by SIGKILL".into())
}

fn problems(bed: &Bed, kind: &str) -> Vec<String> {
    let world = bed.fake.world();
    world.problems.iter().filter(|problem| problem.kind.label() == kind).map(ToString::to_string).collect()
}

async fn settled(bed: &mut Bed) {
    tokio::time::sleep(Duration::from_secs(20)).await;
    bed.handle.loaded.wait_for(|loaded| loaded.fixed.is_some()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_test_that_is_killed_blames_nothing_and_is_tried_again() {
    let killed = Arc::new(AtomicBool::new(true));
    let kills = killed.clone();
    let mut bed = Bed::over(world(move |_| if kills.load(Ordering::Relaxed) { Err(failed()) } else { Ok(()) }), 1000);
    bed.snapshots.send_replace(snapshot(&[], (1..30).map(|number| ingress(&format!("i{number}"), number))));
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(bed.handle.fault.borrow().is_some());
    killed.store(false, Ordering::Relaxed);
    settled(&mut bed).await;
    assert_eq!((problems(&bed, "Quarantined"), bed.handle.fault.borrow().clone()), (Vec::new(), None));
    assert_eq!(bed.fake.world().failures.len(), 1, "a state is reported once");
}

#[tokio::test(start_paused = true)]
async fn a_failure_ends_when_what_failed_is_not_wanted_any_more() {
    let killed = Arc::new(AtomicBool::new(false));
    let kills = killed.clone();
    let mut bed = Bed::over(world(move |_| if kills.load(Ordering::Relaxed) { Err(failed()) } else { Ok(()) }), 1000);
    bed.snapshots.send_replace(snapshot(&[], [ingress("i", 1)]));
    settled(&mut bed).await;
    killed.store(true, Ordering::Relaxed);
    bed.snapshots.send_replace(snapshot(&[], [ingress("i", 2)]));
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(bed.handle.fault.borrow().is_some());
    bed.snapshots.send_replace(snapshot(&[], [ingress("i", 1)]));
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(bed.handle.fault.borrow().clone(), None);
}

#[tokio::test(start_paused = true)]
async fn a_search_for_what_is_refused_ends_with_the_master_and_begins_again_beside_the_next_one() {
    let mut bed = Bed::over(world(|fixed| strict(fixed, "no")), 1000);
    bed.snapshots.send_replace(snapshot(&[], (1..5).map(|number| ingress(&format!("i{number}"), number))));
    settled(&mut bed).await;
    bed.fake.world().test_takes = Duration::from_secs(5);
    bed.snapshots.send_replace(snapshot(&[], (1..30).map(|number| ingress(&format!("i{number}"), number))));
    tokio::time::sleep(Duration::from_secs(12)).await;
    let tests = bed.fake.world().tests;
    assert!(tests > 0 && !bed.fake.world().calls.contains(&"restart"));
    bed.fake.die();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let calls = bed.fake.world().calls.clone();
    assert!(calls.ends_with(&["restart", "apply"]), "{calls:?}");
    assert_eq!(bed.fake.world().tests, tests);
    assert_eq!(problems(&bed, "Quarantined"), Vec::<String>::new());
    bed.fake.world().test_takes = Duration::ZERO;
    settled(&mut bed).await;
    assert_eq!(problems(&bed, "Quarantined").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_the_version_of_before_refers_to_stays_while_a_host_waits_also_over_a_restart() {
    let killed = Arc::new(AtomicBool::new(false));
    let kills = killed.clone();
    let mut bed = Bed::over(world(move |_| if kills.load(Ordering::Relaxed) { Err(failed()) } else { Ok(()) }), 1000);
    let backends = |bed: &Bed| bed.fake.world().records.keys().filter(|key| key.starts_with("b\tn/")).cloned().collect::<Vec<_>>();
    let has_host = |bed: &Bed| bed.fake.world().records.contains_key("h\ti.example.com");
    bed.snapshots.send_replace(snapshot(&[], [ingress_to("i", "s", 1)]));
    settled(&mut bed).await;
    assert_eq!((backends(&bed), has_host(&bed)), (vec!["b\tn/s:80".to_owned()], true));
    killed.store(true, Ordering::Relaxed);
    bed.snapshots.send_replace(snapshot(&[], [ingress_to("i", "t", 2)]));
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(backends(&bed), ["b\tn/s:80", "b\tn/t:80"]);
    bed.fake.die();
    (bed.fake.world().records, bed.fake.world().generation) = Default::default();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!((backends(&bed), has_host(&bed)), (vec!["b\tn/s:80".to_owned(), "b\tn/t:80".to_owned()], true));
    killed.store(false, Ordering::Relaxed);
    settled(&mut bed).await;
    assert_eq!(backends(&bed), ["b\tn/t:80"]);
}

#[tokio::test(start_paused = true)]
async fn a_refused_key_of_the_configmap_is_named_and_everything_else_goes_on() {
    let mut bed = Bed::over(world(|fixed| strict(fixed, "unknown directive")), 1000);
    let ingresses = || (1..30).map(|number| ingress(&format!("i{number}"), number + 20));
    bed.snapshots.send_replace(snapshot(&[("http-snippet", "no_such on;"), ("server-tokens", "true")], ingresses()));
    settled(&mut bed).await;
    assert_eq!(
        problems(&bed, "Configuration"),
        [
            "ConfigMap n/settings: data[\"http-snippet\"]: \"no_such on;\": NGINX refuses it: unknown directive; its default is used until it changes"
        ]
    );
    assert_eq!(problems(&bed, "Quarantined"), [""; 0]);
    let fixed = bed.fake.world().runs.clone();
    assert!(fixed.globals.config.server_tokens && fixed.profiles.values().filter(|profile| profile.describe().contains('k')).count() >= 29);
    // A new profile does not wait for the repair.
    bed.snapshots.send_replace(snapshot(&[("http-snippet", "no_such on;")], ingresses().chain([ingress("new", 99)])));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(bed.fake.world().runs.profiles.values().any(|profile| profile.describe().contains("99k")));
    bed.snapshots.send_replace(snapshot(&[], ingresses()));
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert_eq!(problems(&bed, "Configuration"), [""; 0]);
}

#[tokio::test(start_paused = true)]
async fn the_last_accepted_value_of_a_key_stays_active_while_the_new_one_is_refused() {
    let judge = |fixed: &Fixed| match &fixed.globals.config.snippets.http_snippet {
        Some(text) if text.to_string().contains("no_such") => {
            Err(ApplyError::Refused { message: "unknown directive".into(), culprit: None })
        }
        _ => Ok(()),
    };
    let mut bed = Bed::over(world(judge), 1000);
    bed.snapshots.send_replace(snapshot(&[("http-snippet", "fine on;")], []));
    settled(&mut bed).await;
    bed.snapshots.send_replace(snapshot(&[("http-snippet", "no_such on;"), ("server-tokens", "true")], []));
    tokio::time::sleep(Duration::from_secs(20)).await;
    let config = bed.fake.world().runs.globals.config.clone();
    assert!(config.server_tokens && config.snippets.http_snippet.unwrap().to_string().contains("fine"));
}

#[tokio::test(start_paused = true)]
async fn only_the_ingress_behind_a_refused_profile_is_quarantined_without_a_line_too() {
    let mut bed = Bed::over(world(|fixed| strict(fixed, "no")), 1000);
    bed.snapshots.send_replace(snapshot(&[], (1..40).map(|number| ingress(&format!("i{number}"), number))));
    settled(&mut bed).await;
    let found = problems(&bed, "Quarantined");
    assert!(found.len() == 1 && found[0].contains("n/i13"), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn a_doubtful_complaint_blames_nothing_while_nginx_says_it_of_what_runs() {
    let broken = Arc::new(AtomicBool::new(false));
    let breaks = broken.clone();
    let judge = move |_: &Fixed| {
        let message = "mkdir() \"/temp\" failed (28: No space left on device)".to_owned();
        if breaks.load(Ordering::Relaxed) { Err(ApplyError::Doubtful { message, culprit: None }) } else { Ok(()) }
    };
    let mut bed = Bed::over(world(judge), 1000);
    bed.snapshots.send_replace(snapshot(&[], [ingress("old", 1)]));
    settled(&mut bed).await;
    broken.store(true, Ordering::Relaxed);
    bed.snapshots.send_replace(snapshot(&[], [ingress("old", 1), ingress("new", 2)]));
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(problems(&bed, "Quarantined"), [""; 0]);
    assert!(bed.handle.fault.borrow().as_deref().is_some_and(|fault| fault.contains("No space left")));
    broken.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(20)).await;
    assert!(bed.fake.world().runs.profiles.values().any(|profile| profile.describe().contains("2k")));
}

#[tokio::test(start_paused = true)]
async fn a_doubtful_complaint_blames_its_object_when_what_runs_passes() {
    let judge = |fixed: &Fixed| {
        strict(fixed, "open() \"/nope\" failed (2: No such file or directory)").map_err(|error| match error {
            ApplyError::Refused { message, culprit } => ApplyError::Doubtful { message, culprit },
            error => error,
        })
    };
    let mut bed = Bed::over(world(judge), 1000);
    bed.snapshots.send_replace(snapshot(&[], [ingress("old", 1), ingress("bad", 13)]));
    settled(&mut bed).await;
    let found = problems(&bed, "Quarantined");
    assert!(found.len() == 1 && found[0].contains("n/bad"), "{found:?}");
}

#[tokio::test(start_paused = true)]
async fn a_quarantine_ends_when_nginx_accepts_again_what_it_refused() {
    let strictly = Arc::new(AtomicBool::new(true));
    let is_strict = strictly.clone();
    let mut bed = Bed::over(world(move |fixed| if is_strict.load(Ordering::Relaxed) { strict(fixed, "no") } else { Ok(()) }), 1000);
    bed.snapshots.send_replace(snapshot(&[("http-snippet", "x on;")], [ingress("bad", 13)]));
    settled(&mut bed).await;
    assert_eq!((problems(&bed, "Quarantined").len(), problems(&bed, "Configuration").len()), (1, 1));
    strictly.store(false, Ordering::Relaxed);
    tokio::time::sleep(Duration::from_secs(300)).await;
    assert_eq!((problems(&bed, "Quarantined").len(), problems(&bed, "Configuration").len()), (0, 0));
    assert!(bed.fake.world().runs.globals.config.snippets.http_snippet.is_some());
}

#[tokio::test(start_paused = true)]
async fn an_adopted_nginx_gets_its_data_while_its_configuration_can_not_be_changed() {
    let locations = Locations::new([model::ProfileId("base".into())].into());
    let adopted = Adopted {
        revision: "old".into(),
        format: Some(model::live::wire::format().to_owned()),
        locations,
        dictionaries: Default::default(),
    };
    let bed = Bed::over(World { adopted: Some(adopted), judge: Some(Box::new(|_| Err(failed()))), ..World::default() }, 1000);
    bed.publish("true");
    let mut live = bed.handle.live.clone();
    live.wait_for(|live| live.synced()).await.unwrap();
    assert!(bed.handle.ready() && !bed.fake.world().records.is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_adopted_nginx_that_reads_other_records_gets_none_before_it_is_reloaded() {
    for format in [None, Some("older".to_owned())] {
        let locations = Locations::new([model::ProfileId("base".into())].into());
        let adopted = Adopted { revision: "old".into(), format, locations, dictionaries: Default::default() };
        let bed = Bed::over(World { adopted: Some(adopted), judge: Some(Box::new(|_| Err(failed()))), ..World::default() }, 1000);
        bed.publish("true");
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert!(!bed.handle.ready() && bed.fake.world().records.is_empty());
        bed.fake.world().judge = None;
        let mut live = bed.handle.live.clone();
        live.wait_for(|live| live.synced()).await.unwrap();
        assert!(bed.handle.ready() && !bed.fake.world().records.is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn a_master_that_does_not_start_again_is_tried_again_and_the_newest_build_starts_as_well() {
    let mut bed = Bed::started(1000).await;
    bed.fake.world().refuses = Some(failed());
    bed.fake.die();
    bed.handle.loaded.wait_for(|loaded| loaded.starts == 2).await.unwrap();
    assert_eq!(bed.calls(), ["apply", "restart", "apply"]);
    bed.fake.die();
    bed.handle.loaded.wait_for(|loaded| loaded.starts == 3).await.unwrap();
    assert_eq!(bed.calls(), ["apply", "restart", "apply", "restart"]);
}

#[tokio::test(start_paused = true)]
async fn a_master_whose_workers_ended_for_good_is_asked_for_others_until_there_are_some() {
    let bed = Bed::started(1000).await;
    bed.fake.world().refuses = Some(failed());
    bed.fake.lose_workers();
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert_eq!(bed.calls(), ["apply", "replenish", "replenish"]);
    assert_eq!((bed.handle.loaded.borrow().starts, bed.handle.fault.borrow().clone()), (1, None));
}

#[tokio::test(start_paused = true)]
async fn changes_do_not_hasten_the_next_try_after_a_failure() {
    let bed = Bed::over(world(|_| Err(failed())), 100_000);
    for number in 0..1000 {
        bed.snapshots.send_replace(snapshot(&[("server-tokens", if number % 2 == 0 { "true" } else { "false" })], []));
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let tries = bed.calls().len();
    assert!((10..40).contains(&tries), "{tries} tries in 50 s");
}
