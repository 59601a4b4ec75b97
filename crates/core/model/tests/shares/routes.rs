//! Routes: of the namespaces above their share the newest Ingresses are held back.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use model::{Built, Live, ObjectKey, Resource, Table};
use serde_json::{Value, json};

use crate::world::*;

#[test]
fn a_long_list_of_an_ingress_with_many_paths_is_in_the_record_once() {
    let (mut builder, mut snapshot) = world();
    put(&mut snapshot, "shop", "a", 1, 400, 12_000);
    put(&mut snapshot, "shop", "b", 2, 1, 2);
    let live = builder.build(&snapshot).model.live;
    let records = Live::default().delta(&live);
    let record = |host: &str| records.iter().find(|op| op.table == Table::Host && *op.key == *host).unwrap().value.clone().unwrap();
    let large: Value = serde_json::from_str(&record("a.shop.example")).unwrap();
    assert_eq!((large["policies"].as_array().unwrap().len(), large["locations"].as_array().unwrap().len()), (1, 401));
    assert_eq!(large["policies"][0]["addresses"]["allowlist_source_range"].as_array().unwrap().len(), 12_000);
    assert_eq!(
        (&large["policies"][0]["ingress"], &large["locations"][7]["policy"], &large["locations"][7]["addresses"]),
        (&json!("a"), &Value::Null, &Value::Null)
    );
    assert!(record("a.shop.example").len() < 250_000);
    let routes = &live.hosts["a.shop.example"].routes;
    assert!(routes.iter().all(|route| Arc::ptr_eq(&route.policy, &routes[0].policy)), "in our memory too");
}

#[test]
fn an_ingress_with_a_list_that_is_too_long_is_refused_alone() {
    let (mut builder, mut snapshot) = world();
    put(&mut snapshot, "evil", "a", 1, 400, 180_000);
    put(&mut snapshot, "shop", "a", 2, 3, 0);
    let built = builder.build(&snapshot);
    assert!(hosts(&built).contains(&"a.shop.example"));
    let closed = &built.model.live.hosts["a.evil.example"].routes;
    assert!(closed.iter().all(|route| route.denied && route.addresses.is_none()), "as it protects its paths, they answer 503");
    let found = without_room(&built);
    assert!(found.len() == 1 && found[0].0.contains("evil/a"), "{found:?}");
    assert!(found[0].1.contains("and one Ingress may have 2.0 MiB; it is refused"), "{found:?}");
}

#[test]
fn an_ingress_that_becomes_too_large_keeps_its_last_accepted_version_unless_it_protects_other_paths_now() {
    let (mut builder, mut snapshot) = world();
    put(&mut snapshot, "shop", "a", 1, 3, 0);
    builder.build(&snapshot);
    put(&mut snapshot, "shop", "a", 1, 20_000, 0);
    let built = builder.build(&snapshot);
    assert_eq!(built.model.live.hosts["a.shop.example"].routes.len(), 4, "three paths and the root");
    assert_eq!(without_room(&built).len(), 1);

    put(&mut snapshot, "shop", "b", 2, 3, 0);
    builder.build(&snapshot);
    put(&mut snapshot, "shop", "b", 2, 400, 180_000);
    let built = builder.build(&snapshot);
    let open = built
        .model
        .live
        .hosts
        .get("b.shop.example")
        .is_some_and(|host| host.routes.iter().any(|route| !route.denied && !route.service.is_empty()));
    assert!(!open, "never without the list that it has now");
}

#[test]
fn a_namespace_that_fills_the_memory_loses_its_newest_ingresses_and_gets_them_back() {
    let (mut builder, mut snapshot) = world();
    for at in 0..5 {
        put(&mut snapshot, "evil", &format!("a{at}"), at, 10, 14_000);
    }
    let (alone, all) = (builder.build(&snapshot), ["a0.evil.example", "a1.evil.example", "a2.evil.example", "a3.evil.example"]);
    assert_eq!(hosts(&alone), all, "one namespace may use everything");
    for at in 0..5 {
        put(&mut snapshot, "shop", &format!("b{at}"), 30 + at, 2, 4_000);
    }
    let full = builder.build(&snapshot);
    let (evil, shop): (Vec<&str>, Vec<&str>) = hosts(&full).into_iter().partition(|host| host.ends_with("evil.example"));
    assert!(shop.len() == 5 && evil == all[..evil.len()] && (1..4).contains(&evil.len()), "{evil:?} {shop:?}");
    assert_eq!(without_room(&full).len(), 5 - evil.len());
    assert!(full.usage.asked.of(Resource::State) > full.usage.capacity.of(Resource::State));
    assert_eq!(builder_from_nothing(&snapshot).model, full.model, "the way there does not matter");

    for at in 0..5 {
        snapshot.ingresses.remove(&ObjectKey::new("shop", format!("b{at}").as_str()));
    }
    let again = builder.build(&snapshot);
    assert_eq!((hosts(&again), again.model == alone.model), (all.to_vec(), true));
}

#[test]
fn an_edit_beyond_the_share_keeps_the_smaller_version_of_before_until_there_is_room() {
    let (mut builder, mut snapshot) = world();
    put(&mut snapshot, "evil", "a", 1, 1_500, 0);
    put(&mut snapshot, "evil", "b", 2, 3, 0);
    put(&mut snapshot, "shop", "a", 3, 3, 0);
    builder.build(&snapshot);
    put(&mut snapshot, "evil", "b", 2, 9_000, 0);
    let built = builder.build(&snapshot);
    let routes = |built: &Built| built.model.live.hosts.get("b.evil.example").map_or(0, |host| host.routes.len());
    assert_eq!(routes(&built), 4, "three paths and the root, as before");
    let held = without_room(&built);
    assert!(held.len() == 1 && held[0].1.contains("its version of before, which is smaller, stays active"), "{held:?}");
    assert_eq!(built.usage.held, 1);

    put(&mut snapshot, "evil", "b", 2, 8_900, 0);
    assert_eq!(routes(&builder.build(&snapshot)), 4, "another edit that is too large changes nothing");
    put(&mut snapshot, "evil", "b", 2, 4, 0);
    let built = builder.build(&snapshot);
    assert_eq!((routes(&built), without_room(&built), builder.last_accepted().len()), (5, Vec::new(), 0));

    put(&mut snapshot, "evil", "b", 2, 9_000, 0);
    builder.build(&snapshot);
    snapshot.ingresses.remove(&ObjectKey::new("evil", "a"));
    put(&mut snapshot, "evil", "b", 2, 2_000, 0);
    let built = builder.build(&snapshot);
    assert_eq!(
        (routes(&built), without_room(&built), builder.last_accepted().len()),
        (2_001, Vec::new(), 0),
        "there is room for the present one"
    );
}

#[test]
fn an_edit_beyond_the_share_that_protects_other_paths_opens_none_of_before() {
    let (mut builder, mut snapshot) = world();
    put(&mut snapshot, "evil", "a", 1, 1_500, 0);
    put(&mut snapshot, "evil", "b", 2, 3, 0);
    builder.build(&snapshot);
    put(&mut snapshot, "evil", "b", 2, 9_000, 1);
    let built = builder.build(&snapshot);
    assert!(!hosts(&built).contains(&"b.evil.example"), "its paths of before have no list");
    put(&mut snapshot, "evil", "b", 2, 3, 1);
    builder.build(&snapshot);
    put(&mut snapshot, "evil", "b", 2, 3, 60_000);
    let built = builder.build(&snapshot);
    let open = built.model.live.hosts.get("b.evil.example");
    let open = open.is_some_and(|host| {
        host.routes
            .iter()
            .any(|route| !route.denied && route.addresses.as_ref().is_none_or(|lists| lists.allowlist_source_range.len() == 1))
    });
    assert!(!open, "the list of today or nothing");
}

#[test]
fn a_host_that_another_namespace_fills_keeps_the_routes_of_its_own() {
    let (mut builder, mut snapshot) = world();
    let data = json!({"lua-shared-dicts": "configuration_data: 64"});
    snapshot.config_maps.insert(ObjectKey::new("ns", "settings"), Arc::new(object::<ConfigMap>(json!({ "data": data }))));
    for at in 0..4 {
        put_on(&mut snapshot, "shop.example", "evil", &format!("a{at}"), at, 50, 100_000);
    }
    put_on(&mut snapshot, "shop.example", "shop", "b", 50, 3, 100);
    let built = builder.build(&snapshot);
    let record = &built.model.live.hosts["shop.example"];
    let of_shop = record.routes.iter().filter(|route| &*route.namespace == "shop").count();
    assert_eq!(of_shop, 3);
    assert!(!without_room(&built).is_empty());
}

#[test]
fn patterns_of_aliases_count_as_regular_expressions() {
    let (mut builder, mut snapshot) = world();
    put(&mut snapshot, "shop", "a", 1, 1, 0);
    put(&mut snapshot, "evil", "a", 2, 1, 0);
    let key = ObjectKey::new("evil", "a");
    let mut ingress = (*snapshot.ingresses[&key]).clone();
    let patterns: Vec<String> = (0..1000).map(|at| format!("~^p{at}$")).collect();
    ingress.annotations.insert(format!("{PREFIX}/server-alias"), patterns.join(","));
    snapshot.ingresses.insert(key, Arc::new(ingress));
    let before = builder.build(&world().1).usage.asked;
    let asked = builder.build(&snapshot).usage.asked;
    assert_eq!((before.of(Resource::Regexes), asked.of(Resource::Regexes)), (0, 1000));
    assert!(asked.of(Resource::State) > 253_000, "each is there with its host");
}
