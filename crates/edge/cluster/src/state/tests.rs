//! Cases that no server test can time: answers that come late.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::json;

use super::*;
use crate::decode::Fetched;
use crate::fetch::{FetchOutcome, Ticket};

const INGRESSES: usize = 0;
const SERVICES: usize = 1;
const SECRETS: usize = 3;

fn decode<K: Watched>(value: serde_json::Value) -> Fetched<K> {
    serde_json::from_str(&value.to_string()).unwrap()
}

fn secret(value: &str, version: &str) -> Fetched<Secret> {
    decode(json!({"metadata": {"namespace": "n", "name": "s", "resourceVersion": version}, "data": {"v": value}}))
}

fn ingress(secret: Option<&str>) -> Fetched<Ingress> {
    let tls: Vec<_> = secret.iter().map(|secret| json!({"secretName": secret})).collect();
    decode(json!({"metadata": {"namespace": "n", "name": "i"}, "spec": {"tls": tls}}))
}

fn ready() -> ClusterState {
    let now = Timestamp::UNIX_EPOCH;
    let mut state = ClusterState::new(&BuildOptions::default(), now);
    for input in [Input::Begin, Input::End] {
        state.handle(Message::Ingress(INGRESSES, input), now);
    }
    for input in [Input::Begin, Input::End] {
        state.handle(Message::Service(SERVICES, input), now);
    }
    for input in [Input::Begin, Input::End] {
        state.handle(Message::EndpointSlice(2, input), now);
    }
    for input in [Input::Begin, Input::End] {
        state.handle(Message::Secret(SECRETS, input), now);
    }
    for input in [Input::Begin, Input::End] {
        state.handle(Message::ConfigMap(4, input), now);
    }
    assert!(state.take_snapshot().is_none(), "classes are missing");
    for input in [Input::Begin, Input::End] {
        state.handle(Message::IngressClass(5, input), now);
    }
    assert!(state.take_snapshot().is_some());
    assert!(state.take_snapshot().is_none(), "nothing changed since");
    state
}

fn apply(state: &mut ClusterState, ingress: Fetched<Ingress>) -> Vec<Ticket> {
    state.handle(Message::Ingress(INGRESSES, Input::Apply(ingress)), Timestamp::UNIX_EPOCH);
    tickets(state)
}

/// A Service whose TCP port is decrypted with a Secret.
fn service(state: &mut ClusterState, name: &str, secret: &str) -> Vec<Ticket> {
    let annotations = json!({"nginx.ingress.kubernetes.io/tcp-tls-secret": secret});
    let object = decode(json!({"metadata": {"namespace": "n", "name": name, "annotations": annotations}, "spec": {}}));
    state.handle(Message::Service(SERVICES, Input::Apply(object)), Timestamp::UNIX_EPOCH);
    tickets(state)
}

fn tickets(state: &mut ClusterState) -> Vec<Ticket> {
    let tickets = state.take_requests().into_iter().map(|request| match request {
        Request::Secret(ticket) | Request::ConfigMap(ticket) => ticket,
    });
    tickets.collect()
}

/// The Secrets of the next snapshot's Services, by the names of these.
fn published(state: &mut ClusterState) -> Vec<(String, String)> {
    let snapshot = state.take_snapshot().unwrap();
    let services = snapshot.services.iter();
    services.map(|(key, service)| (key.name.to_string(), service.tcp_tls_secrets[0].1.to_string())).collect()
}

fn held(state: &mut ClusterState) -> Option<String> {
    let secret = state.secrets.store().objects().values().next()?;
    Some(String::from_utf8(secret.data.as_ref()?["v"].0.clone()).unwrap())
}

#[test]
fn an_answer_that_the_watch_has_overtaken_is_void() {
    let mut state = ready();
    let tickets = apply(&mut state, ingress(Some("s")));
    assert!(state.is_fetching());
    state.handle(Message::Secret(SECRETS, Input::Apply(secret("bmV3", "2"))), Timestamp::UNIX_EPOCH);
    assert!(!state.is_fetching());
    state.answer(FetchAnswer::Secret(tickets[0].clone(), FetchOutcome::Present(secret("b2xk", "1"))), Timestamp::UNIX_EPOCH);
    assert_eq!(held(&mut state).as_deref(), Some("new"));
}

#[test]
fn an_answer_to_a_reference_that_is_gone_is_void() {
    let mut state = ready();
    let first = apply(&mut state, ingress(Some("s")));
    assert!(apply(&mut state, ingress(None)).is_empty());
    let second = apply(&mut state, ingress(Some("s")));
    state.answer(FetchAnswer::Secret(first[0].clone(), FetchOutcome::Present(secret("b2xk", "1"))), Timestamp::UNIX_EPOCH);
    assert_eq!(held(&mut state), None);
    state.answer(FetchAnswer::Secret(second[0].clone(), FetchOutcome::Present(secret("bmV3", "2"))), Timestamp::UNIX_EPOCH);
    assert_eq!(held(&mut state).as_deref(), Some("new"));
}

#[test]
fn a_service_keeps_the_secret_of_before_while_its_next_one_is_fetched() {
    let mut state = ready();
    let of = |name: &str, secret: &str| (name.to_owned(), secret.to_owned());
    let first = service(&mut state, "db", "s");
    state.answer(FetchAnswer::Secret(first[0].clone(), FetchOutcome::Present(secret("b2xk", "1"))), Timestamp::UNIX_EPOCH);
    assert_eq!(published(&mut state), [of("db", "s")]);
    let second = service(&mut state, "db", "next");
    assert!(service(&mut state, "new", "next").is_empty(), "it is being fetched");
    assert_eq!(published(&mut state), [of("db", "s"), of("new", "next")], "Ingresses may lead to the new one");
    assert_eq!(held(&mut state).as_deref(), Some("old"));
    state.answer(FetchAnswer::Secret(second[0].clone(), FetchOutcome::Absent), Timestamp::UNIX_EPOCH);
    assert_eq!(published(&mut state), [of("db", "next"), of("new", "next")]);
    assert_eq!(held(&mut state), None);
}

#[test]
fn a_refusal_is_waited_for_no_longer_but_a_later_answer_counts() {
    let mut state = ready();
    let tickets = apply(&mut state, ingress(Some("s")));
    state.answer(FetchAnswer::Secret(tickets[0].clone(), FetchOutcome::Refused), Timestamp::UNIX_EPOCH);
    assert!(!state.is_fetching() && state.awaits(&Request::Secret(tickets[0].clone())));
    state.answer(FetchAnswer::Secret(tickets[0].clone(), FetchOutcome::Present(secret("bmV3", "2"))), Timestamp::UNIX_EPOCH);
    assert_eq!(held(&mut state).as_deref(), Some("new"));
}

#[test]
fn a_broken_secret_that_nothing_refers_to_is_no_problem() {
    let mut state = ready();
    let meta = || Box::new(ObjectMeta { namespace: Some("n".into()), name: Some("s".into()), ..ObjectMeta::default() });
    let broken = || Message::Secret(SECRETS, Input::Apply(Fetched::Broken { meta: meta(), error: "odd".into() }));
    state.handle(broken(), Timestamp::UNIX_EPOCH);
    assert!(state.take_snapshot().is_none());
    apply(&mut state, ingress(Some("s")));
    state.handle(broken(), Timestamp::UNIX_EPOCH);
    let problems = state.take_snapshot().unwrap().problems.clone();
    assert_eq!(problems[0].to_string(), "Secret n/s: does not decode: odd; it is left out");
    apply(&mut state, ingress(None));
    assert!(state.take_snapshot().unwrap().problems.is_empty());
}

#[test]
fn equal_addresses_are_held_once() {
    let mut state = ready();
    let with = |name: &str| -> Fetched<Ingress> {
        let status = json!({"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}});
        decode(json!({"metadata": {"namespace": "n", "name": name}, "spec": {}, "status": status}))
    };
    for name in ["a", "b"] {
        state.handle(Message::Ingress(INGRESSES, Input::Apply(with(name))), Timestamp::UNIX_EPOCH);
    }
    let statuses = state.take_statuses().unwrap();
    assert!(Arc::ptr_eq(&statuses[&ObjectKey::new("n", "a")], &statuses[&ObjectKey::new("n", "b")]));
    state.handle(Message::Ingress(INGRESSES, Input::Apply(with("a"))), Timestamp::UNIX_EPOCH);
    assert!(state.take_statuses().is_none());
}
