//! The writer against a server.

use serde_json::{Value, json};

use super::*;
use crate::fake::{Fake, eventually, ingress};
use crate::source::{ClusterSource, SourceOptions};

struct Running {
    fake: Fake,
    owned: watch::Sender<OrdSet<ObjectKey>>,
    leader: watch::Sender<bool>,
    handle: StatusHandle,
    _tasks: Tasks,
}

fn options(addresses: AddressSource, clear_on_shutdown: bool) -> StatusOptions {
    StatusOptions {
        addresses,
        lease: ObjectKey::new("ingress", "leader"),
        interval: Duration::from_secs(60),
        pod: ObjectKey::new("ingress", "us"),
        clear_on_shutdown,
        retry: Retry { first: Duration::from_millis(10), most: Duration::from_millis(50) },
    }
}

async fn start(fake: Fake, addresses: AddressSource, clear_on_shutdown: bool) -> Running {
    let mut tasks = Tasks::new();
    let source = ClusterSource::spawn(fake.client().await, SourceOptions::new(Arc::default()), &mut tasks);
    let (owned, owned_receiver) = watch::channel(OrdSet::new());
    let (leader, leader_receiver) = watch::channel(true);
    let client = fake.client().await;
    let options = options(addresses, clear_on_shutdown);
    let handle = StatusWriter::spawn(client, options, owned_receiver, &source, leader_receiver, &mut tasks);
    Running { fake, owned, leader, handle, _tasks: tasks }
}

fn own(running: &Running, names: &[&str]) {
    running.owned.send_replace(names.iter().map(|name| ObjectKey::new("shop", *name)).collect());
}

fn written(fake: &Fake, name: &str) -> Value {
    fake.get("ingresses", "shop", name).unwrap()["status"]["loadBalancer"]["ingress"].clone()
}

fn fixed(ip: &str) -> AddressSource {
    AddressSource::Fixed(vec![Address::ip(ip)])
}

#[tokio::test]
async fn owned_ingresses_get_the_addresses_once_and_others_do_not() {
    let fake = Fake::start().await;
    for name in ["a", "b", "other"] {
        fake.put("ingresses", ingress(name, None));
    }
    let running = start(fake, fixed("192.0.2.1"), false).await;
    own(&running, &["a", "b", "not-there-yet"]);
    let expected = json!([{"ip": "192.0.2.1"}]);
    eventually(&running.fake, "both are written", || ["a", "b"].iter().all(|name| written(&running.fake, name) == expected)).await;
    running.fake.put("ingresses", ingress("not-there-yet", None));
    eventually(&running.fake, "the third as well", || written(&running.fake, "not-there-yet") == expected).await;
    assert_eq!(running.fake.requests("PATCH"), 3);
    assert_eq!(written(&running.fake, "other"), Value::Null);
}

#[tokio::test]
async fn only_the_leader_writes_and_what_others_change_is_put_right() {
    let fake = Fake::start().await;
    fake.put("ingresses", ingress("a", None));
    let running = start(fake, fixed("192.0.2.1"), false).await;
    running.leader.send_replace(false);
    own(&running, &["a"]);
    running.leader.send_replace(true);
    let expected = json!([{"ip": "192.0.2.1"}]);
    eventually(&running.fake, "it is written", || written(&running.fake, "a") == expected).await;
    // Waits until the writer has seen its own write: the change of another must come after it.
    running.fake.put("ingresses", ingress("b", None));
    own(&running, &["a", "b"]);
    eventually(&running.fake, "b is written", || written(&running.fake, "b") == expected).await;
    let other = json!({"status": {"loadBalancer": {"ingress": [{"hostname": "elsewhere.example"}]}}});
    running.fake.merge("ingresses", "shop", "a", &other);
    eventually(&running.fake, "it is put right", || written(&running.fake, "a") == expected).await;
}

#[tokio::test]
async fn failures_are_retried_and_without_the_right_to_patch_it_is_an_update() {
    let fake = Fake::start().await;
    fake.put("ingresses", ingress("a", None));
    fake.refuse("PATCH", "ingresses", 500);
    let running = start(fake, fixed("192.0.2.1"), false).await;
    own(&running, &["a"]);
    eventually(&running.fake, "it is tried again", || running.fake.requests("PATCH") >= 3).await;
    assert_eq!(written(&running.fake, "a"), Value::Null);
    running.fake.refuse("PATCH", "ingresses", 403);
    eventually(&running.fake, "it is written by update", || written(&running.fake, "a") == json!([{"ip": "192.0.2.1"}])).await;
    assert!(running.fake.requests("PUT") >= 1);
}

#[tokio::test]
async fn the_addresses_of_the_published_service_are_followed() {
    let fake = Fake::start().await;
    fake.put("ingresses", ingress("a", None));
    let service = |ip: &str| {
        let status = json!({"loadBalancer": {"ingress": [{"ip": ip}]}});
        json!({"metadata": {"namespace": "ingress", "name": "lb"}, "spec": {"type": "LoadBalancer"}, "status": status})
    };
    fake.put("services", service("192.0.2.1"));
    let running = start(fake, AddressSource::Service(ObjectKey::new("ingress", "lb")), false).await;
    own(&running, &["a"]);
    eventually(&running.fake, "the first address", || written(&running.fake, "a") == json!([{"ip": "192.0.2.1"}])).await;
    running.fake.put("services", service("192.0.2.2"));
    eventually(&running.fake, "the second address", || written(&running.fake, "a") == json!([{"ip": "192.0.2.2"}])).await;
}

/// A Pod like ours, with more fields than those.
fn pod(name: &str, more: &Value) -> Value {
    let mut pod = json!({"metadata": {"namespace": "ingress", "name": name, "labels": {"app": "narthex"}}});
    for (field, value) in more.as_object().into_iter().flatten() {
        for (name, value) in value.as_object().into_iter().flatten() {
            pod[field][name] = value.clone();
        }
    }
    pod
}

#[tokio::test]
async fn the_last_replica_that_stays_empties_the_statuses_and_others_do_not() {
    let kept = json!([{"ip": "192.0.2.1"}]);
    for (other, expected) in [
        (None, Value::Null),
        (Some(json!({})), kept.clone()),
        (Some(json!({"status": {"phase": "Pending"}})), kept),
        (Some(json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})), Value::Null),
        (Some(json!({"status": {"phase": "Failed"}})), Value::Null),
    ] {
        let fake = Fake::start().await;
        fake.put("pods", pod("us", &json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}})));
        if let Some(other) = &other {
            fake.put("pods", pod("them", other));
        }
        fake.put("ingresses", ingress("a", None));
        let running = start(fake, fixed("192.0.2.1"), true).await;
        own(&running, &["a"]);
        eventually(&running.fake, "it is written", || written(&running.fake, "a") == json!([{"ip": "192.0.2.1"}])).await;
        // The clearing goes by what the watch has shown.
        running.fake.put("ingresses", ingress("b", None));
        own(&running, &["a", "b"]);
        eventually(&running.fake, "b is written", || written(&running.fake, "b") == json!([{"ip": "192.0.2.1"}])).await;
        running.handle.stop().await;
        assert_eq!(written(&running.fake, "a"), expected, "beside {other:?}");
    }
}

/// Writes 20 statuses, while the server answers none: how many it has at a time.
async fn at_a_time(changes: bool) -> usize {
    let fake = Fake::start().await;
    let keys: Vec<ObjectKey> = (0..20).map(|number| ObjectKey::new("shop", format!("i{number}"))).collect();
    for key in &keys {
        fake.put("ingresses", ingress(&key.name, None));
    }
    fake.hold(true);
    let (snapshots, snapshots_receiver) = watch::channel(None);
    let (_owned, owned) = watch::channel(OrdSet::new());
    let (_statuses, statuses) = watch::channel(Statuses::new());
    let (_leader, leader) = watch::channel(true);
    let (_wanted, wanted) = watch::channel(None);
    let options = options(fixed("192.0.2.1"), false);
    let ledger = Ledger::new(options.interval, options.retry);
    let pen = Pen::new(fake.client().await, manager(&options.lease));
    let pace = Pace::new(snapshots_receiver);
    let mut writer = Writer { pen, options, owned, statuses, leader, wanted, ledger, pace };
    if changes {
        snapshots.send_replace(Some(Arc::default()));
    }
    let addresses: Arc<[Address]> = [Address::ip("192.0.2.1")].into();
    let mut held = 0;
    let look = async {
        let least = if changes { 1 } else { 10 };
        eventually(&fake, "the first writes", || fake.held() >= least).await;
        // Those that are sent at the same time arrive while others are answered.
        for _ in 0..50 {
            if changes {
                snapshots.send_replace(Some(Arc::default()));
            }
            fake.client().await.request_text(http::Request::get("/api/v1/pods").body(Vec::new()).unwrap()).await.unwrap();
        }
        held = fake.held();
        fake.hold(false);
    };
    tokio::join!(writer.write(keys, &addresses), look);
    assert_eq!(fake.requests("PATCH"), 20, "all are written");
    held
}

#[tokio::test]
async fn statuses_are_written_one_at_a_time_while_what_is_served_changes() {
    assert_eq!(at_a_time(false).await, 10);
    assert_eq!(at_a_time(true).await, 1);
}
