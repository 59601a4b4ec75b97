//! The source against a server that misbehaves.

use model::ObjectKey;
use serde_json::{Value, json};

use super::*;
use crate::fake::{Fake, eventually, ingress, secret, until};

struct Running {
    fake: Fake,
    handle: SourceHandle,
    _tasks: Tasks,
}

impl Running {
    async fn start(fake: Fake, settings: BuildOptions) -> Self {
        Self::start_patient(fake, settings, Duration::from_secs(5), Duration::from_secs(5)).await
    }

    async fn start_patient(fake: Fake, settings: BuildOptions, patience: Duration, longest_patience: Duration) -> Self {
        let mut tasks = Tasks::new();
        let retry = Retry { first: Duration::from_millis(10), most: Duration::from_millis(50) };
        let options = SourceOptions {
            retry,
            forbidden_retry: Duration::from_millis(50),
            patience,
            longest_patience,
            ..SourceOptions::new(Arc::new(settings))
        };
        let handle = ClusterSource::spawn(fake.client().await, options, &mut tasks);
        Self { fake, handle, _tasks: tasks }
    }

    async fn until(&mut self, what: &'static str, mut test: impl FnMut(&Snapshot) -> bool) {
        until(&mut self.handle.snapshots, what, |snapshot| snapshot.as_deref().is_some_and(&mut test)).await;
    }

    fn snapshot(&mut self) -> Arc<Snapshot> {
        self.handle.snapshots.borrow_and_update().clone().unwrap()
    }

    async fn error(&mut self, kind: Kind, text: &'static str) {
        until(&mut self.handle.status, "an error in the status", |status| {
            let feed = status.feeds.iter().find(|feed| feed.kind == kind).unwrap();
            feed.error.as_deref().unwrap_or_default().contains(text)
        })
        .await;
    }

    async fn healthy(&mut self) {
        until(&mut self.handle.status, "no error in the status", |status| status.feeds.iter().all(|feed| feed.error.is_none())).await;
    }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("shop", name)
}

fn service(name: &str, port: u16) -> Value {
    json!({"metadata": {"namespace": "shop", "name": name}, "spec": {"ports": [{"port": port}]}})
}

fn ports(snapshot: &Snapshot, name: &str) -> Option<i32> {
    snapshot.services.get(&key(name))?.ports.first().map(|port| port.port)
}

#[tokio::test]
async fn the_first_snapshot_waits_for_every_kind_and_holds_referenced_secrets_only() {
    let fake = Fake::start().await;
    for number in 0..10 {
        fake.put("ingresses", ingress(&format!("i{number}"), Some(&format!("s{number}"))));
        fake.put("secrets", secret(&format!("s{number}"), "YQ=="));
        fake.put("secrets", secret(&format!("unused{number}"), "YQ=="));
    }
    fake.put("configmaps", json!({"metadata": {"namespace": "shop", "name": "main"}, "data": {"k": "v"}}));
    fake.put("configmaps", json!({"metadata": {"namespace": "shop", "name": "other"}, "data": {"k": "v"}}));
    fake.fault("endpointslices", 500);
    let settings = BuildOptions { configmap: Some(key("main")), ..BuildOptions::default() };
    let mut running = Running::start(fake, settings).await;
    running.error(Kind::EndpointSlice, "injected (status 500)").await;
    until(&mut running.handle.status, "all others are there", |status| {
        status.feeds.iter().all(|feed| feed.initialised || feed.kind == Kind::EndpointSlice)
    })
    .await;
    assert!(running.handle.snapshots.borrow().is_none());
    running.fake.fault("endpointslices", 0);
    running.until("the first snapshot", |_| true).await;
    let snapshot = running.snapshot();
    assert_eq!((snapshot.ingresses.len(), snapshot.secrets.len()), (10, 10));
    assert_eq!(snapshot.config_maps.keys().collect::<Vec<_>>(), [&key("main")]);
    assert_eq!(snapshot.ingress_classes.as_ref().map(|classes| classes.len()), Some(0));
    assert_eq!(running.fake.requests("/namespaces/shop/secrets?"), 0, "the list had them all");
    running.healthy().await;
}

#[tokio::test]
async fn a_watch_that_is_too_old_is_listed_again_without_emptying_anything() {
    let fake = Fake::start().await;
    for number in 0..9 {
        fake.put("services", service(&format!("s{number}"), 80));
    }
    let mut running = Running::start(fake, BuildOptions::default()).await;
    running.until("nine services", |snapshot| snapshot.services.len() == 9).await;
    let before = running.snapshot();
    let mut all = running.handle.snapshots.clone();
    let smallest = tokio::spawn(async move {
        let mut smallest = usize::MAX;
        while all.changed().await.is_ok() {
            smallest = smallest.min(all.borrow_and_update().as_ref().unwrap().services.len());
            if ports(all.borrow().as_ref().unwrap(), "s1") == Some(81) {
                break;
            }
        }
        smallest
    });
    // Out of sight of the watch: one is gone, one has changed.
    running.fake.fault("services", 500);
    running.fake.hang_up();
    running.error(Kind::Service, "500").await;
    running.fake.delete("services", "shop", "s0");
    running.fake.put("services", service("s1", 81));
    running.fake.compact();
    running.fake.fault("services", 0);
    running.until("the change is seen", |snapshot| ports(snapshot, "s1") == Some(81)).await;
    let after = running.snapshot();
    assert_eq!(after.services.len(), 8);
    assert!(Arc::ptr_eq(&before.services[&key("s2")], &after.services[&key("s2")]), "what did not change is the same object");
    assert_eq!(smallest.await.unwrap(), 8, "nothing was missing at any time");
    running.healthy().await;
}

#[tokio::test]
async fn a_server_that_answers_every_watch_410_is_not_flooded_with_lists() {
    let fake = Fake::start().await;
    fake.refuse("WATCH", "services", 410);
    let started = Instant::now();
    let mut tasks = Tasks::new();
    let retry = Retry { first: Duration::from_millis(10), most: Duration::from_secs(60) };
    let options = SourceOptions { retry, ..SourceOptions::new(Arc::new(BuildOptions::default())) };
    let _handle = ClusterSource::spawn(fake.client().await, options, &mut tasks);
    eventually(&fake, "seven lists, six watches", || fake.requests("/services?") >= 13).await;
    // Six waits of at least half of 10 ms, doubled each time: they take no less, however fast the machine is.
    assert!(started.elapsed() >= Duration::from_millis(315), "seven lists within {:?}", started.elapsed());
}

#[tokio::test]
async fn errors_for_a_while_stop_nothing_and_lose_nothing() {
    let fake = Fake::start().await;
    fake.put("services", service("a", 80));
    let mut running = Running::start(fake, BuildOptions::default()).await;
    running.until("a service", |snapshot| snapshot.services.len() == 1).await;
    for resource in ["ingresses", "services", "endpointslices", "secrets", "configmaps", "ingressclasses"] {
        running.fake.fault(resource, 503);
    }
    running.fake.hang_up();
    for kind in [Kind::Ingress, Kind::Service, Kind::EndpointSlice, Kind::Secret, Kind::ConfigMap, Kind::IngressClass] {
        running.error(kind, "503").await;
    }
    running.fake.put("services", service("a", 81));
    running.fake.put("ingresses", ingress("i", None));
    assert_eq!(running.snapshot().services.len(), 1);
    for resource in ["ingresses", "services", "endpointslices", "secrets", "configmaps", "ingressclasses"] {
        running.fake.fault(resource, 0);
    }
    running.until("what happened meanwhile", |snapshot| ports(snapshot, "a") == Some(81) && snapshot.ingresses.len() == 1).await;
    running.healthy().await;
}

#[tokio::test]
async fn a_broken_object_is_a_problem_and_its_last_good_version_stays() {
    let fake = Fake::start().await;
    fake.put("services", service("good", 80));
    fake.put("services", service("odd", 80));
    let mut running = Running::start(fake, BuildOptions::default()).await;
    running.until("two services", |snapshot| snapshot.services.len() == 2).await;
    let mut broken = service("odd", 80);
    broken["spec"]["ports"] = "none".into();
    running.fake.put("services", broken);
    running.until("a problem", |snapshot| !snapshot.problems.is_empty()).await;
    let snapshot = running.snapshot();
    let text = snapshot.problems[0].to_string();
    assert!(text.starts_with("Service shop/odd: does not decode: ") && text.ends_with("; its last readable version is used"), "{text}");
    assert_eq!(ports(&snapshot, "odd"), Some(80));
    running.fake.put("services", service("good", 81));
    running.until("the stream goes on", |snapshot| ports(snapshot, "good") == Some(81)).await;
    running.fake.put("services", service("odd", 82));
    running.until("it is well again", |snapshot| snapshot.problems.is_empty() && ports(snapshot, "odd") == Some(82)).await;
}

#[tokio::test]
async fn a_secret_is_fetched_with_its_first_reference_and_dropped_with_its_last() {
    let fake = Fake::start().await;
    fake.put("secrets", secret("s", "YQ=="));
    let mut running = Running::start(fake, BuildOptions::default()).await;
    running.until("the first snapshot", |snapshot| snapshot.secrets.is_empty()).await;
    running.snapshot();
    running.fake.put("ingresses", ingress("i", Some("s")));
    running.until("the ingress", |snapshot| !snapshot.ingresses.is_empty()).await;
    assert_eq!(running.snapshot().secrets.len(), 1, "the same snapshot holds both");
    running.fake.put("secrets", secret("s", "Yg=="));
    let value = |snapshot: &Snapshot| snapshot.secrets.get(&key("s")).map(|secret| secret.data.as_ref().unwrap()["v"].0.clone());
    running.until("the new value", |snapshot| value(snapshot) == Some(b"b".to_vec())).await;
    running.fake.put("ingresses", ingress("i", None));
    running.until("the secret is dropped", |snapshot| snapshot.secrets.is_empty()).await;
    running.fake.put("ingresses", ingress("j", Some("absent")));
    running.until("an ingress without its secret", |snapshot| snapshot.ingresses.len() == 2 && snapshot.secrets.is_empty()).await;
    running.fake.put("secrets", secret("absent", "YQ=="));
    running.until("it came later", |snapshot| snapshot.secrets.len() == 1).await;
    assert_eq!(running.fake.requests("/namespaces/shop/secrets?"), 2);
}

#[tokio::test]
async fn a_secret_that_can_not_be_fetched_holds_nothing_up_for_long() {
    let fake = Fake::start().await;
    fake.put("secrets", secret("s", "YQ=="));
    let mut running = Running::start(fake, BuildOptions::default()).await;
    running.until("the first snapshot", |_| true).await;
    running.fake.refuse("GET", "secrets", 403);
    running.fake.put("ingresses", ingress("i", Some("s")));
    running.until("the ingress", |snapshot| !snapshot.ingresses.is_empty() && snapshot.secrets.is_empty()).await;
    running.fake.refuse("GET", "secrets", 0);
    running.until("the secret, once it may be read", |snapshot| snapshot.secrets.len() == 1).await;
}

#[tokio::test]
async fn an_ingress_keeps_its_version_while_what_it_newly_names_is_fetched_and_nothing_else_waits() {
    let fake = Fake::start().await;
    fake.put("secrets", secret("old", "YQ=="));
    fake.put("secrets", secret("new", "YQ=="));
    fake.put("ingresses", ingress("i", Some("old")));
    let mut running = Running::start_patient(fake, BuildOptions::default(), Duration::from_millis(1), Duration::from_secs(600)).await;
    running.until("the first snapshot", |snapshot| snapshot.secrets.contains_key(&key("old"))).await;
    let before = running.snapshot();
    running.fake.refuse("GET", "secrets", 500);
    running.fake.put("ingresses", ingress("i", Some("new")));
    running.fake.put("ingresses", ingress("j", Some("new")));
    eventually(&running.fake, "it is asked for", || running.fake.requests("/namespaces/shop/secrets?") > 0).await;
    running.fake.put("services", service("s", 80));
    running.until("a change beside them", |snapshot| !snapshot.services.is_empty()).await;
    let meanwhile = running.snapshot();
    assert_eq!(meanwhile.ingresses, before.ingresses, "the new one is not there yet, the changed one as before");
    assert!(meanwhile.secrets.contains_key(&key("old")), "what the version before names is held");
    running.fake.refuse("GET", "secrets", 0);
    running.until("both", |snapshot| snapshot.ingresses.len() == 2).await;
    let after = running.snapshot();
    assert_ne!(after.ingresses[&key("i")], before.ingresses[&key("i")]);
    assert_eq!(after.secrets.keys().collect::<Vec<_>>(), [&key("new")], "and nothing else is held any more");
}

#[tokio::test]
async fn an_ingress_does_not_wait_for_ever_and_not_when_there_is_no_such_secret() {
    let fake = Fake::start().await;
    fake.put("secrets", secret("s", "YQ=="));
    let mut running = Running::start_patient(fake, BuildOptions::default(), Duration::from_millis(1), Duration::from_millis(50)).await;
    running.until("the first snapshot", |_| true).await;
    running.fake.refuse("GET", "secrets", 500);
    running.fake.put("ingresses", ingress("i", Some("s")));
    running.until("the ingress without its secret", |snapshot| snapshot.ingresses.len() == 1 && snapshot.secrets.is_empty()).await;
    running.fake.refuse("GET", "secrets", 0);
    running.until("its secret", |snapshot| snapshot.secrets.len() == 1).await;
    running.fake.put("ingresses", ingress("j", Some("absent")));
    running.until("an ingress whose secret is absent", |snapshot| snapshot.ingresses.len() == 2).await;
}

#[tokio::test]
async fn classes_that_may_not_be_listed_are_unknown_until_they_may() {
    let fake = Fake::start().await;
    fake.put("ingressclasses", json!({"metadata": {"name": "nginx"}, "spec": {"controller": "k8s.io/ingress-nginx"}}));
    fake.fault("ingressclasses", 403);
    let mut running = Running::start(fake, BuildOptions::default()).await;
    running.until("a snapshot without classes", |snapshot| snapshot.ingress_classes.is_none()).await;
    let feed = |status: &SourceStatus| status.feeds.iter().find(|feed| feed.kind == Kind::IngressClass).unwrap().clone();
    assert!(feed(&running.handle.status.borrow()).forbidden);
    running.fake.fault("ingressclasses", 0);
    running.until("the classes", |snapshot| snapshot.ingress_classes.as_ref().is_some_and(|classes| classes.len() == 1)).await;
    running.healthy().await;
}

#[tokio::test]
async fn a_status_write_is_no_change_of_the_snapshot() {
    let fake = Fake::start().await;
    fake.put("ingresses", ingress("i", None));
    let mut running = Running::start(fake, BuildOptions::default()).await;
    running.until("the ingress", |snapshot| snapshot.ingresses.len() == 1).await;
    let before = running.snapshot();
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}, "metadata": {"managedFields": [{"manager": "x"}]}});
    running.fake.merge("ingresses", "shop", "i", &status);
    until(&mut running.handle.statuses, "the address", |statuses| statuses.get(&key("i")).is_some_and(|addresses| addresses.len() == 1))
        .await;
    running.fake.put("services", service("a", 80));
    running.until("a later change", |snapshot| snapshot.services.len() == 1).await;
    assert!(Arc::ptr_eq(&before.ingresses[&key("i")], &running.snapshot().ingresses[&key("i")]));
    running.fake.merge("services", "shop", "a", &json!({"status": {"loadBalancer": {}}}));
    running.fake.put("endpointslices", json!({"metadata": {"namespace": "shop", "name": "e"}, "addressType": "IPv4"}));
    running.until("nothing between", |snapshot| snapshot.endpoint_slices.len() == 1).await;
}

#[tokio::test]
async fn a_watched_namespace_is_all_there_is_except_what_flags_name() {
    let fake = Fake::start().await;
    let elsewhere = |name: &str| json!({"metadata": {"namespace": "ingress", "name": name}});
    for name in ["main", "other"] {
        fake.put("configmaps", elsewhere(name));
        fake.put("services", elsewhere(name));
    }
    fake.put("services", service("a", 80));
    let settings = BuildOptions {
        watch_namespace: Some("shop".into()),
        configmap: ObjectKey::parse("ingress/main"),
        default_backend_service: ObjectKey::parse("ingress/main"),
        ..BuildOptions::default()
    };
    let mut running = Running::start(fake, settings).await;
    running.until("a snapshot", |_| true).await;
    let snapshot = running.snapshot();
    assert_eq!(snapshot.config_maps.keys().map(ToString::to_string).collect::<Vec<_>>(), ["ingress/main"]);
    assert_eq!(snapshot.services.keys().map(ToString::to_string).collect::<Vec<_>>(), ["ingress/main", "shop/a"]);
    running.fake.delete("configmaps", "ingress", "main");
    running.until("it is followed", |snapshot| snapshot.config_maps.is_empty()).await;
}

#[tokio::test]
async fn config_maps_that_the_settings_name_are_followed_beside_the_watched_namespace() {
    let fake = Fake::start().await;
    let map = |name: &str, value: &str| json!({"metadata": {"namespace": "ingress", "name": name}, "data": {"X-A": value}});
    let main = |named: &str| json!({"metadata": {"namespace": "ingress", "name": "main"}, "data": {"add-headers": named}});
    fake.put("configmaps", main("ingress/first"));
    for name in ["first", "second", "unnamed"] {
        fake.put("configmaps", map(name, "1"));
    }
    let settings =
        BuildOptions { watch_namespace: Some("shop".into()), configmap: ObjectKey::parse("ingress/main"), ..BuildOptions::default() };
    let mut running = Running::start(fake, settings).await;
    running.until("a snapshot", |_| true).await;
    // The first snapshot is complete.
    let names = |snapshot: &Snapshot| snapshot.config_maps.keys().map(ToString::to_string).collect::<Vec<_>>();
    assert_eq!(names(&running.snapshot()), ["ingress/first", "ingress/main"]);
    running.fake.put("configmaps", map("first", "2"));
    let value = |snapshot: &Snapshot| snapshot.config_maps.get(&ObjectKey::new("ingress", "first")).and_then(|map| map.data.clone());
    running.until("its change", |snapshot| value(snapshot).is_some_and(|data| data.get("X-A").is_some_and(|text| text == "2"))).await;
    running.fake.put("configmaps", main("ingress/second"));
    running.until("another one", |snapshot| names(snapshot) == ["ingress/main", "ingress/second"]).await;
    let scopes = running.handle.status.borrow().feeds.iter().map(|feed| feed.scope.clone()).collect::<Vec<_>>();
    assert!(scopes.contains(&"ingress/second only".to_owned()) && !scopes.contains(&"ingress/first only".to_owned()), "{scopes:?}");
    // And back: its watch is another one.
    running.fake.put("configmaps", main("ingress/first"));
    running.until("the first one", |snapshot| names(snapshot) == ["ingress/first", "ingress/main"]).await;
}

#[tokio::test]
async fn resolved_addresses_reach_the_snapshot() {
    let mut running = Running::start(Fake::start().await, BuildOptions::default()).await;
    running.until("a snapshot", |_| true).await;
    let addresses: OrdMap<Arc<str>, Arc<[IpAddr]>> = OrdMap::unit("db.example".into(), ["192.0.2.7".parse().unwrap()].into());
    running.handle.set_addresses(addresses.clone());
    running.until("the addresses", |snapshot| snapshot.addresses == addresses).await;
}

#[tokio::test]
async fn a_server_that_ends_every_watch_at_once_is_not_hammered() {
    let fake = Fake::start().await;
    let mut running = Running::start(fake, BuildOptions::default()).await;
    running.until("a snapshot", |_| true).await;
    eventually(&running.fake, "watches are open", || running.fake.requests("watch=true") >= 6).await;
    running.fake.hang_up();
    running.error(Kind::Service, "ended the watch at once").await;
    running.healthy().await;
}

#[tokio::test]
async fn an_idle_watch_is_ended_by_the_server_before_its_silence_is_a_dead_connection() {
    let mut running = Running::start(Fake::start().await, BuildOptions::default()).await;
    running.until("a snapshot", |_| true).await;
    eventually(&running.fake, "watches are open", || running.fake.requests("watch=true") >= 6).await;
    assert_eq!(running.fake.requests("watch=true"), running.fake.requests("timeoutSeconds=45"));
}
