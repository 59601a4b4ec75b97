//! What objects ask for, by namespace, and what of it is held back.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::OrdMap;

use super::{Claim, Common, Resource, Sums, Weight, share, whole_records};
use crate::builder::index::Counted;
use crate::key::{BackendId, ObjectKey};

/// An object that belongs to a namespace.
pub(crate) trait Owned: Ord + Clone {
    fn owner(&self) -> &Arc<str>;
}

impl Owned for ObjectKey {
    fn owner(&self) -> &Arc<str> {
        &self.namespace
    }
}

impl Owned for BackendId {
    fn owner(&self) -> &Arc<str> {
        &self.service.namespace
    }
}

/// What one object asks for. `O` is its precedence within the namespace.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Asked<O> {
    order: O,
    claim: Arc<Claim>,
    /// What its version of before takes, which is served if there is room for that only.
    before: Option<Arc<Claim>>,
}

/// Why something is held back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) reason: String,
    /// There is room for the version of before.
    pub(crate) has_before: bool,
}

/// What is left to one namespace of the resources of which it asks for more than its share.
struct Room<'a> {
    left: Vec<(Resource, u64)>,
    known: BTreeSet<&'a Common>,
}

impl<'a> Room<'a> {
    /// The first resource that there is too little of for this claim.
    fn lacks(&self, claim: &Claim) -> Option<Resource> {
        self.left.iter().find(|(resource, left)| claim.needs(*resource, &self.known) > *left).map(|(resource, _)| *resource)
    }

    fn take(&mut self, claim: &'a Claim) {
        for (resource, left) in &mut self.left {
            *left -= claim.needs(*resource, &self.known);
        }
        self.known.extend(&claim.common);
    }
}

/// The objects of one namespace.
#[derive(Debug, Clone)]
struct Namespace<K: Owned, O: Ord + Clone> {
    sum: Weight,
    claims: OrdMap<K, Asked<O>>,
    /// How many of them ask for it.
    common: Counted<Common>,
}

impl<K: Owned, O: Ord + Clone> Default for Namespace<K, O> {
    fn default() -> Self {
        Self { sum: Weight::default(), claims: OrdMap::new(), common: Counted::default() }
    }
}

impl<K: Owned, O: Ord + Clone> Namespace<K, O> {
    /// The claims, those that are served first come first.
    fn by_precedence(&self) -> Vec<(&K, &Asked<O>)> {
        let mut claims: Vec<_> = self.claims.iter().collect();
        claims.sort_by_key(|(key, asked)| (&asked.order, *key));
        claims
    }
}

/// What each object of a namespace may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) most: u64,
    /// Why not more.
    pub(crate) reason: Arc<str>,
}

/// The claims of all objects of a kind. `O` is their precedence within a namespace.
#[derive(Debug, Clone)]
pub(crate) struct Shares<K: Owned, O: Ord + Clone> {
    used: Weight,
    common: Counted<Common>,
    namespaces: OrdMap<Arc<str>, Namespace<K, O>>,
    /// That of each namespace.
    sums: Sums,
}

impl<K: Owned, O: Ord + Clone> Default for Shares<K, O> {
    fn default() -> Self {
        Self { used: Weight::default(), common: Counted::default(), namespaces: OrdMap::new(), sums: Sums::new() }
    }
}

impl<K: Owned, O: Ord + Clone> Shares<K, O> {
    /// What all objects ask for. What is common counts once.
    pub(crate) const fn asked(&self) -> Weight {
        self.used
    }

    /// What the objects of each namespace ask for. What is common in one counts once there.
    pub(crate) fn sums(&self) -> Sums {
        self.sums.clone()
    }

    /// Takes what an object asks for, or that it is gone. Cost: a few look-ups for each thing in common.
    pub(crate) fn set(&mut self, key: &K, claim: Option<(O, Arc<Claim>)>) {
        self.replace(key, claim.map(|(order, claim)| Asked { order, claim, before: None }));
    }

    /// Takes what the version of before of an object takes, for which there may be room instead.
    pub(crate) fn offer(&mut self, key: &K, before: Arc<Claim>) {
        let asked = self.namespaces.get(key.owner()).and_then(|namespace| namespace.claims.get(key)).cloned();
        if let Some(asked) = asked {
            self.replace(key, Some(Asked { before: Some(before), ..asked }));
        }
    }

    fn replace(&mut self, key: &K, asked: Option<Asked<O>>) {
        if asked.is_none() && !self.namespaces.contains_key(key.owner()) {
            return;
        }
        let namespace = self.namespaces.entry(key.owner().clone()).or_default();
        if let Some(old) = namespace.claims.remove(key) {
            subtract(&mut self.used, &mut self.common, &old);
            subtract(&mut namespace.sum, &mut namespace.common, &old);
        }
        if let Some(asked) = asked {
            add(&mut self.used, &mut self.common, &asked);
            add(&mut namespace.sum, &mut namespace.common, &asked);
            namespace.claims.insert(key.clone(), asked);
        }
        if namespace.claims.is_empty() {
            self.namespaces.remove(key.owner());
            self.sums.remove(key.owner());
        } else {
            let sum = namespace.sum;
            self.sums.insert(key.owner().clone(), sum);
        }
    }

    /// The objects that are held back, each with the reason, where one is served whole or not at all. Cost: nothing while everything fits, else the
    /// objects of the namespaces above their share.
    pub(crate) fn held(&self, capacity: &Weight) -> BTreeMap<K, Held> {
        let mut held = BTreeMap::new();
        let shares = Resource::ALL.iter().map(|resource| (*resource, self.share(*resource, capacity)));
        let shares: Vec<(Resource, u64)> = shares.filter(|(_, share)| *share < u64::MAX).collect();
        if shares.is_empty() {
            return held;
        }
        for (name, namespace) in &self.namespaces {
            let is_above = |(resource, share): &(Resource, u64)| namespace.sum.of(*resource) > *share;
            let mut room = Room { left: shares.iter().copied().filter(is_above).collect(), known: BTreeSet::new() };
            let claims = shares.iter().any(is_above).then(|| namespace.by_precedence());
            for (key, asked) in claims.into_iter().flatten() {
                let Some(resource) = room.lacks(&asked.claim) else {
                    room.take(&asked.claim);
                    continue;
                };
                let before = asked.before.as_deref().filter(|before| room.lacks(before).is_none());
                before.into_iter().for_each(|before| room.take(before));
                let share = shares.iter().find(|(of, _)| *of == resource).map_or(0, |(_, share)| *share);
                let reason = self.reason(name, resource, share, capacity);
                held.insert(key.clone(), Held { reason, has_before: before.is_some() });
            }
        }
        held
    }

    /// For each namespace above its share how much each of its objects may have, where objects can be served in part.
    pub(crate) fn levels(&self, resource: Resource, capacity: &Weight) -> BTreeMap<Arc<str>, Level> {
        let share_of_all = self.share(resource, capacity);
        let level = |name: &Arc<str>, namespace: &Namespace<K, O>| {
            let most = share(namespace.claims.values().map(|asked| asked.claim.own.of(resource)), share_of_all);
            Level { most: whole_records(most), reason: self.reason(name, resource, share_of_all, capacity).into() }
        };
        self.above(resource, share_of_all).map(|(name, namespace)| (name.clone(), level(name, namespace))).collect()
    }

    /// The objects of a namespace that ask for more than this.
    pub(crate) fn larger(&self, namespace: &str, resource: Resource, level: u64) -> impl Iterator<Item = &K> {
        let claims = self.namespaces.get(namespace).into_iter().flat_map(|namespace| &namespace.claims);
        claims.filter(move |(_, asked)| asked.claim.own.of(resource) > level).map(|(key, _)| key)
    }

    /// Why something of a namespace is held back.
    fn reason(&self, namespace: &str, resource: Resource, share: u64, capacity: &Weight) -> String {
        let print = |amount| resource.unit().print(amount);
        let asked = self.namespaces.get(namespace).map_or(0, |namespace| namespace.sum.of(resource));
        format!(
            "its namespace {namespace:?} asks for {} {}, and its share is {} of the {} that there are, as together all ask for more",
            print(asked),
            resource.words(),
            print(share),
            print(capacity.of(resource))
        )
    }

    /// The most that one namespace may have of a resource.
    fn share(&self, resource: Resource, capacity: &Weight) -> u64 {
        if self.used.of(resource) <= capacity.of(resource) {
            return u64::MAX;
        }
        share(self.namespaces.values().map(|namespace| namespace.sum.of(resource)), capacity.of(resource))
    }

    fn above(&self, resource: Resource, share: u64) -> impl Iterator<Item = (&Arc<str>, &Namespace<K, O>)> {
        // Where everything fits none of them is looked at.
        let namespaces = (share < u64::MAX).then_some(&self.namespaces).into_iter().flatten();
        namespaces.filter(move |(_, namespace)| namespace.sum.of(resource) > share)
    }
}

fn add<O>(sum: &mut Weight, known: &mut Counted<Common>, asked: &Asked<O>) {
    sum.add(&asked.own());
    for common in asked.common() {
        if known.add(common) {
            sum.add(&Weight::only(common.resource, common.amount));
        }
    }
}

fn subtract<O>(sum: &mut Weight, known: &mut Counted<Common>, asked: &Asked<O>) {
    sum.subtract(&asked.own());
    for common in asked.common() {
        if known.remove(common) {
            sum.subtract(&Weight::only(common.resource, common.amount));
        }
    }
}

impl<O> Asked<O> {
    /// The more of both versions, so that there is room for either.
    fn own(&self) -> Weight {
        let Some(before) = &self.before else { return self.claim.own };
        Weight(std::array::from_fn(|at| self.claim.own.0[at].max(before.own.0[at])))
    }

    fn common(&self) -> impl Iterator<Item = &Common> {
        self.claim.common.iter().chain(self.before.iter().flat_map(|before| &before.common))
    }
}
