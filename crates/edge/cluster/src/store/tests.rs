//! Lists and events against a store of ConfigMaps.

use k8s_openapi::api::core::v1::ConfigMap;
use model::ObjectKey;
use serde_json::json;

use super::*;

fn good(name: &str, version: &str, value: &str) -> Fetched<ConfigMap> {
    let metadata = json!({"name": name, "namespace": "n", "resourceVersion": version});
    serde_json::from_str(&json!({"metadata": metadata, "data": {"v": value}}).to_string()).unwrap()
}

fn broken(name: &str) -> Fetched<ConfigMap> {
    let Fetched::Good(Slim { meta, .. }) = good(name, "9", "") else { unreachable!() };
    Fetched::Broken { meta, error: "odd".into() }
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("n", name)
}

fn step(store: &mut Store<ConfigMap>, input: Input<ConfigMap>) -> Vec<String> {
    let changes = store.input(0, input, |_| true, |_| true);
    let line =
        |change: &Change<ConfigMap>| format!("{}:{}{}", change.key.name, u8::from(change.old.is_some()), u8::from(change.new.is_some()));
    changes.objects.iter().map(line).collect()
}

fn list(store: &mut Store<ConfigMap>, objects: Vec<Fetched<ConfigMap>>) -> Vec<String> {
    assert!(step(store, Input::Begin).is_empty());
    for object in objects {
        assert!(step(store, Input::Page(vec![object])).is_empty());
    }
    step(store, Input::End)
}

fn values(store: &Store<ConfigMap>) -> Vec<String> {
    store.objects().iter().map(|(key, map)| format!("{}={}", key.name, map.data.as_ref().unwrap()["v"])).collect()
}

#[test]
fn a_list_replaces_at_its_end_only_and_only_what_differs() {
    let mut store = Store::default();
    assert_eq!(list(&mut store, vec![good("a", "1", "x"), good("b", "2", "x")]), ["a:01", "b:01"]);
    let before = store.objects().clone();
    step(&mut store, Input::Begin);
    step(&mut store, Input::Page(vec![good("b", "3", "y"), good("c", "4", "x")]));
    assert_eq!(values(&store), ["a=x", "b=x"], "nothing changes before the end");
    assert_eq!(step(&mut store, Input::End), ["a:10", "b:11", "c:01"]);
    assert_eq!(values(&store), ["b=y", "c=x"]);
    assert_eq!(before.len(), 2, "an older snapshot is untouched");
}

#[test]
fn the_same_content_is_no_change_and_keeps_its_place_in_memory() {
    let mut store = Store::default();
    list(&mut store, vec![good("a", "1", "x")]);
    let held = store.objects()[&key("a")].clone();
    assert!(list(&mut store, vec![good("a", "1", "x")]).is_empty());
    assert!(step(&mut store, Input::Apply(good("a", "2", "x"))).is_empty());
    assert!(list(&mut store, vec![good("a", "3", "x")]).is_empty());
    assert!(Arc::ptr_eq(&held, &store.objects()[&key("a")]));
    assert_eq!(step(&mut store, Input::Apply(good("a", "4", "y"))), ["a:11"]);
}

#[test]
fn a_list_that_is_begun_again_forgets_its_first_pages() {
    let mut store = Store::default();
    step(&mut store, Input::Begin);
    step(&mut store, Input::Page(vec![good("a", "1", "x")]));
    assert_eq!(list(&mut store, vec![good("b", "1", "x")]), ["b:01"]);
}

#[test]
fn a_broken_object_keeps_its_last_good_version_until_it_is_gone() {
    let mut store = Store::default();
    list(&mut store, vec![good("a", "1", "x")]);
    let changes = store.input(0, Input::Apply(broken("a")), |_| true, |_| true);
    assert!(changes.broken && changes.objects.is_empty());
    let again = store.input(0, Input::Apply(broken("a")), |_| true, |_| true);
    assert!(!again.any(), "the same trouble is reported once");
    assert!(list(&mut store, vec![broken("a")]).is_empty());
    assert_eq!((values(&store), store.broken().count()), (vec!["a=x".to_owned()], 1));
    let healed = store.input(0, Input::Apply(good("a", "1", "x")), |_| true, |_| true);
    assert!(healed.broken && store.broken().count() == 0);
    step(&mut store, Input::Apply(broken("b")));
    assert_eq!(list(&mut store, vec![]), ["a:10"]);
    assert_eq!(store.broken().count(), 0);
}

#[test]
fn deletes_remove() {
    let mut store = Store::default();
    list(&mut store, vec![good("a", "1", "x")]);
    assert_eq!(step(&mut store, Input::Delete(good("a", "2", "x"))), ["a:10"]);
    assert!(step(&mut store, Input::Delete(good("a", "2", "x"))).is_empty());
}

#[test]
fn unwanted_objects_are_not_held() {
    let mut store = Store::<ConfigMap>::default();
    for input in [Input::Begin, Input::Page(vec![good("a", "1", "x"), good("b", "1", "x")]), Input::End] {
        store.input(0, input, |key: &ObjectKey| &*key.name == "b", |_| true);
    }
    store.input(0, Input::Apply(good("c", "1", "x")), |key| &*key.name == "b", |_| true);
    assert_eq!(values(&store), ["b=x"]);
}

#[test]
fn what_was_fetched_during_a_list_survives_it() {
    let mut store = Store::default();
    step(&mut store, Input::Begin);
    step(&mut store, Input::Page(vec![good("a", "1", "old")]));
    store.insert_fresh(&key("a"), good("a", "2", "new"));
    store.insert_fresh(&key("b"), good("b", "2", "new"));
    step(&mut store, Input::End);
    assert_eq!(values(&store), ["a=new", "b=new"]);
}

#[test]
fn a_feed_removes_only_what_it_covers() {
    let mut store = Store::default();
    list(&mut store, vec![good("a", "1", "x"), good("b", "1", "x")]);
    for input in [Input::Begin, Input::End] {
        store.input(1, input, |_| true, |key| &*key.name == "b");
    }
    assert_eq!(values(&store), ["a=x"]);
}
