//! The writer against a server.

use model::ProblemKind;

use super::*;
use crate::fake::{Fake, eventually};

fn problem(name: &str, detail: &str) -> Problem {
    let object = ObjectRef::ingress(&ObjectKey::new("shop", name));
    Problem { object, field: "spec".into(), kind: ProblemKind::ServiceMissing, detail: detail.into() }
}

async fn start(fake: &Fake, snapshot: Option<Snapshot>, options: EventWriterOptions, tasks: &mut Tasks) -> EventSender {
    let (_, snapshots) = watch::channel(snapshot.map(Arc::new));
    EventWriter::spawn(fake.client().await, options, snapshots, None, tasks)
}

fn options() -> EventWriterOptions {
    let retry = Retry { first: Duration::from_millis(5), most: Duration::from_millis(20) };
    EventWriterOptions { retry, ..EventWriterOptions::new("pod") }
}

fn messages(fake: &Fake) -> Vec<String> {
    let mut all: Vec<String> = fake.all("events").iter().map(|event| event["message"].as_str().unwrap().to_owned()).collect();
    all.sort();
    all
}

#[tokio::test]
async fn only_new_problems_become_events_and_returning_ones_are_counted() {
    let fake = Fake::start().await;
    let mut tasks = Tasks::new();
    let ingress = model::Ingress { uid: Some("u-1".into()), ..Default::default() };
    let snapshot = Snapshot { ingresses: imbl::OrdMap::unit(ObjectKey::new("shop", "a"), Arc::new(ingress)), ..Snapshot::default() };
    let events = start(&fake, Some(snapshot), options(), &mut tasks).await;
    events.problems([problem("a", "x")]);
    eventually(&fake, "one event", || fake.all("events").len() == 1).await;
    let event = &fake.all("events")[0];
    assert_eq!((&event["message"], &event["reason"], &event["type"]), (&"spec: x".into(), &"ServiceMissing".into(), &"Warning".into()));
    assert_eq!((&event["involvedObject"]["uid"], &event["source"]["component"]), (&"u-1".into(), &"nginx-ingress-controller".into()));
    events.problems([problem("a", "x"), problem("b", "y")]);
    eventually(&fake, "the new one", || messages(&fake) == ["spec: x", "spec: y"]).await;
    assert_eq!(fake.requests("POST"), 2);
    events.problems([problem("b", "y")]);
    events.normal(ObjectRef::ingress(&ObjectKey::new("shop", "b")), "Sync", "Scheduled for sync");
    eventually(&fake, "the plain one", || fake.all("events").len() == 3).await;
    events.problems([problem("a", "x"), problem("b", "y")]);
    eventually(&fake, "it is counted up", || fake.all("events").iter().any(|event| event["count"] == 2)).await;
    assert_eq!((fake.all("events").len(), events.dropped()), (3, 0));
}

#[tokio::test]
async fn another_writer_of_the_same_finding_makes_no_second_event() {
    let fake = Fake::start().await;
    let mut tasks = Tasks::new();
    let first = start(&fake, None, options(), &mut tasks).await;
    first.problems([problem("a", "x")]);
    eventually(&fake, "one event", || fake.all("events").len() == 1).await;
    let second = start(&fake, None, options(), &mut tasks).await;
    second.problems([problem("a", "x")]);
    eventually(&fake, "it is touched", || fake.requests("PATCH") == 1).await;
    assert_eq!(fake.all("events").len(), 1);
}

#[tokio::test]
async fn a_server_in_trouble_is_tried_again_and_a_refusal_is_final() {
    let fake = Fake::start().await;
    let mut tasks = Tasks::new();
    let events = start(&fake, None, options(), &mut tasks).await;
    fake.fault("events", 500);
    events.problems([problem("a", "x")]);
    eventually(&fake, "two attempts", || fake.requests("POST") >= 2).await;
    fake.fault("events", 0);
    eventually(&fake, "the event", || fake.all("events").len() == 1).await;
    fake.fault("events", 403);
    events.problems([problem("b", "y")]);
    eventually(&fake, "the refusal is counted", || events.dropped() == 1).await;
}

#[tokio::test]
async fn more_than_the_burst_waits_and_what_is_over_meanwhile_is_not_reported() {
    let fake = Fake::start().await;
    let mut tasks = Tasks::new();
    let events = start(&fake, None, EventWriterOptions { rate: 1, burst: 2, ..options() }, &mut tasks).await;
    let all: Vec<Problem> = (0..50).map(|number| problem(&format!("i{number:02}"), "x")).collect();
    events.problems(all);
    eventually(&fake, "the burst", || fake.all("events").len() == 2).await;
    events.problems([problem("i49", "x")]);
    eventually(&fake, "the one that is left", || fake.all("events").iter().any(|event| event["involvedObject"]["name"] == "i49")).await;
    assert!(fake.all("events").len() <= 4);
}

#[tokio::test]
async fn the_own_pod_is_found_by_its_uid() {
    let fake = Fake::start().await;
    fake.put("pods", serde_json::json!({"metadata": {"namespace": "ingress", "name": "us", "uid": "p-1"}}));
    let mut tasks = Tasks::new();
    let events = start(&fake, None, options(), &mut tasks).await;
    events.normal(ObjectRef::namespaced("Pod", &ObjectKey::new("ingress", "us")), "RELOAD", "NGINX reload");
    eventually(&fake, "the event", || fake.all("events").iter().any(|event| event["involvedObject"]["uid"] == "p-1")).await;
}

fn ingresses(versions: &[(&str, &str)]) -> Option<Arc<Snapshot>> {
    let ingress = |name: &str, version: &str| {
        let annotations = [("version".to_owned(), version.to_owned())].into();
        let ingress = model::Ingress { uid: Some(name.into()), annotations, ..Default::default() };
        (ObjectKey::new("shop", name), Arc::new(ingress))
    };
    let ingresses = versions.iter().map(|(name, version)| ingress(name, version)).collect();
    Some(Arc::new(Snapshot { ingresses, ..Snapshot::default() }))
}

fn synced(fake: &Fake) -> Vec<(String, i64)> {
    let reported =
        |event: &serde_json::Value| (event["involvedObject"]["uid"].as_str().unwrap().to_owned(), event["count"].as_i64().unwrap());
    let mut all: Vec<_> = fake.all("events").iter().filter(|event| event["reason"] == "Sync").map(reported).collect();
    all.sort();
    all
}

#[tokio::test]
async fn an_ingress_gets_an_event_when_it_is_taken_over_and_when_it_changes_and_no_other() {
    let fake = Fake::start().await;
    let mut tasks = Tasks::new();
    let (snapshots, read) = watch::channel(ingresses(&[("a", "1"), ("b", "1")]));
    let (owned, ours) = watch::channel(OrdSet::new());
    let _events = EventWriter::spawn(fake.client().await, options(), read, Some(ours), &mut tasks);
    owned.send_replace(OrdSet::unit(ObjectKey::new("shop", "a")));
    eventually(&fake, "it is taken over", || synced(&fake) == [("a".into(), 1)]).await;
    let event = &fake.all("events")[0];
    assert_eq!((&event["message"], &event["type"]), (&"Scheduled for sync".into(), &"Normal".into()));
    snapshots.send_replace(ingresses(&[("a", "1"), ("b", "2")]));
    snapshots.send_replace(ingresses(&[("a", "2"), ("b", "2")]));
    eventually(&fake, "it has changed", || synced(&fake) == [("a".into(), 2)]).await;
    owned.send_replace([ObjectKey::new("shop", "a"), ObjectKey::new("shop", "b")].into_iter().collect());
    eventually(&fake, "the other is taken over", || synced(&fake) == [("a".into(), 2), ("b".into(), 1)]).await;
}

#[tokio::test]
async fn a_warning_does_not_wait_for_the_thousands_that_are_scheduled_at_a_start() {
    let fake = Fake::start().await;
    let mut tasks = Tasks::new();
    let names: Vec<String> = (0..10_000).map(|number| format!("i{number}")).collect();
    let versions: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1")).collect();
    let (_snapshots, read) = watch::channel(ingresses(&versions));
    let (owned, ours) = watch::channel(OrdSet::new());
    let options = EventWriterOptions { rate: 2, burst: 2, ..options() };
    let events = EventWriter::spawn(fake.client().await, options, read, Some(ours), &mut tasks);
    owned.send_replace(names.iter().map(|name| ObjectKey::new("shop", name.as_str())).collect());
    eventually(&fake, "the burst", || synced(&fake).len() == 2).await;
    events.problems([problem("a", "x")]);
    eventually(&fake, "the warning", || messages(&fake).contains(&"spec: x".to_owned())).await;
    assert!(synced(&fake).len() < 10);
    // What is not ours any more needs no word.
    owned.send_replace(OrdSet::unit(ObjectKey::new("shop", "i9999")));
    eventually(&fake, "the one that is left", || synced(&fake).iter().any(|(uid, _)| uid == "i9999")).await;
}
