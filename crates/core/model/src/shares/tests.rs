use proptest::prelude::*;

use super::*;
use crate::key::ObjectKey;
use crate::rule::{Kind, Origin};

fn weight(state: u64, text: u64, regexes: u64) -> Weight {
    let mut weight = Weight::only(Resource::State, state);
    weight.add(&Weight::only(Resource::Text, text));
    weight.add(&Weight::only(Resource::Regexes, regexes));
    weight
}

#[test]
fn small_ones_get_all_and_large_ones_the_same() {
    assert_eq!(share([1, 2, 100, 200].into_iter(), 103), 50);
    assert_eq!(share([10, 10].into_iter(), 20), u64::MAX);
    assert_eq!(share([7].into_iter(), 5), 5);
    assert_eq!(share([].into_iter(), 5), u64::MAX);
}

#[test]
fn what_is_held_back_is_the_newest_of_the_largest() {
    let (mut shares, capacity) = (Shares::default(), weight(100, 100, 120));
    let mut set = |namespace: &str, name: &str, age: i64, state: u64| {
        let key = ObjectKey::new(namespace, name);
        let common = vec![Common { resource: Resource::Regexes, id: "/".into(), amount: 60 }];
        shares.set(&key, Some((Origin::new(Kind::Ingress, age, key.clone()), Claim { own: weight(state, 1, 0), common }.into())));
        shares.held(&capacity).into_keys().map(|key| key.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(set("evil", "a", 1, 40), [""; 0]);
    assert_eq!(set("evil", "b", 2, 55), [""; 0]);
    assert_eq!(set("shop", "a", 3, 20), ["evil/b"]);
    assert_eq!(set("shop", "b", 4, 20), ["evil/b"]);
    assert_eq!(set("evil", "c", 5, 10), ["evil/b"], "a smaller one still fits");
    assert_eq!(set("evil", "b", 2, 10), [""; 0]);
    assert_eq!(set("evil", "d", 9, 500), ["evil/d"]);
    shares.set(&ObjectKey::new("evil", "d"), None);
    assert_eq!((shares.held(&capacity).len(), shares.asked()), (0, weight(100, 5, 60)), "what is common counts once");
}

#[test]
fn an_object_that_is_too_large_is_refused_with_size_and_bound() {
    let claim = |own| Claim { own, common: Vec::new() };
    assert_eq!(claim(weight(2 << 20, 0, 0)).too_large(), None);
    let why = claim(weight((2 << 20) + 1, 0, 0)).too_large().unwrap();
    assert_eq!(why, "it needs 2.0 MiB of NGINX's memory for routes, and one Ingress may have 2.0 MiB");
    let why = claim(weight(0, 0, 8193)).too_large().unwrap();
    assert_eq!(why, "it needs 8193 regular expressions, and one Ingress may have 8192");
}

const CAPACITY: u64 = 100;

/// Objects by namespace and name, with an amount and perhaps a content that others have too.
type Objects = BTreeMap<(u8, u8), (u64, Option<u8>)>;

fn key((namespace, name): (u8, u8)) -> ObjectKey {
    ObjectKey::new(format!("n{namespace}"), format!("o{name}"))
}

fn claim((amount, content): (u64, Option<u8>)) -> (u64, Claim) {
    let resource = Resource::Secrets;
    let claim = match content {
        // What is the same has the same size.
        Some(id) => Claim { common: vec![Common { resource, id: id.to_string().into(), amount: u64::from(id) * 7 }], ..Claim::default() },
        None => Claim { own: Weight::only(resource, amount), ..Claim::default() },
    };
    (claim.of(resource), claim)
}

fn shared(object: (u64, Option<u8>)) -> (u64, Arc<Claim>) {
    let (size, claim) = claim(object);
    (size, claim.into())
}

/// What the objects of a namespace take, what is the same once.
fn sum<'a>(objects: impl Iterator<Item = (&'a (u8, u8), &'a (u64, Option<u8>))>) -> u64 {
    let (mut sum, mut known) = (0, BTreeSet::new());
    for (_, object) in objects {
        if object.1.is_none_or(|id| known.insert(id)) {
            sum += claim(*object).0;
        }
    }
    sum
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_namespace_below_its_share_always_gets_room_and_all_together_fit(
        changes in prop::collection::vec(((0..4u8, 0..6u8), prop::option::weighted(0.8, (1..60u64, prop::option::weighted(0.3, 1..5u8)))), 1..60),
    ) {
        let capacity = Weight::only(Resource::Secrets, CAPACITY);
        let (mut shares, mut objects) = (Shares::default(), Objects::new());
        for (at, object) in changes {
            shares.set(&key(at), object.map(shared));
            match object {
                Some(object) => objects.insert(at, object),
                None => objects.remove(&at),
            };
            let held = shares.held(&capacity);
            let served = || objects.iter().filter(|(at, _)| !held.contains_key(&key(**at)));
            prop_assert!(sum(served()) <= CAPACITY, "{held:?}");
            if sum(objects.iter()) <= CAPACITY {
                prop_assert!(held.is_empty(), "everything fits");
            }
            let namespaces: BTreeSet<u8> = objects.keys().map(|(namespace, _)| *namespace).collect();
            for namespace in &namespaces {
                let of = objects.iter().filter(|((of, _), _)| of == namespace);
                let is_held = held.keys().any(|key| *key.namespace == format!("n{namespace}"));
                prop_assert!(!is_held || sum(of) > CAPACITY / namespaces.len() as u64, "{namespace} is below its share");
            }

            let mut again = Shares::default();
            objects.iter().rev().for_each(|(at, object)| again.set(&key(*at), Some(shared(*object))));
            prop_assert_eq!(&held, &again.held(&capacity), "the order of changes does not matter");
            prop_assert_eq!(shares.asked(), again.asked());
        }
    }

    #[test]
    fn endpoints_that_are_cut_to_the_level_of_their_namespace_fit_and_small_namespaces_keep_all(
        amounts in prop::collection::vec((0..4u8, 1..200u64), 1..40),
    ) {
        let resource = Resource::Endpoints;
        let mut shares = Shares::default();
        for (name, (namespace, amount)) in amounts.iter().enumerate() {
            let claim = Claim { own: Weight::only(resource, *amount), ..Claim::default() };
            shares.set(&key((*namespace, name as u8)), Some((*amount, claim.into())));
        }
        let levels = shares.levels(resource, &Weight::only(resource, 1000));
        let of = |namespace: u8| amounts.iter().filter(move |(of, _)| *of == namespace).map(|(_, amount)| *amount);
        let most = |namespace: u8| levels.get(format!("n{namespace}").as_str()).map_or(u64::MAX, |level| level.most);
        let taken: u64 = (0..4).flat_map(|namespace| of(namespace).map(move |amount| amount.min(most(namespace)))).sum();
        prop_assert!(taken <= 1000);
        for namespace in 0..4 {
            prop_assert!(most(namespace) == u64::MAX || of(namespace).sum::<u64>() > 250, "{namespace} is below its share");
        }
    }
}
