//! Fair shares of what Ingresses fill together.
//!
//! What NGINX holds is finite: its shared memory, the text of its configuration, the regular expressions that workers keep compiled. Each Ingress
//! has a weight in each of these. While everything fits, no share applies: one namespace may use all of it. When it does not, each namespace may
//! use as much as the others, and what the smaller ones leave; the newest Ingresses above that are held back, so that a namespace below its share
//! always gets room.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::key::ObjectKey;
use crate::passes::ingress::Order;

macro_rules! resources {
    ($($(#[$doc:meta])* $name:ident = $label:literal, $words:literal, $unit:ident, $largest:expr;)*) => {
        /// What is finite.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Resource { $($(#[$doc])* $name,)* }

        impl Resource {
            /// Every resource, in the order of [`Weight`].
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// The value of the metric label `resource`.
            pub const fn label(self) -> &'static str {
                match self { $(Self::$name => $label,)* }
            }

            const fn words(self) -> &'static str {
                match self { $(Self::$name => $words,)* }
            }

            const fn unit(self) -> Unit {
                match self { $(Self::$name => Unit::$unit,)* }
            }

            /// What one Ingress may have.
            pub const fn largest(self) -> u64 {
                match self { $(Self::$name => $largest,)* }
            }
        }
    };
}

resources! {
    /// Bytes of the records of routes in the dictionary `configuration_data`.
    State = "state", "of NGINX's memory for routes", Bytes, 2 << 20;
    /// Bytes of profiles and server blocks in `nginx.conf`.
    Text = "text", "of the text of nginx.conf", Bytes, 8 << 20;
    /// Regular expressions of paths and rewrites that a worker keeps compiled.
    Regexes = "regexes", "regular expressions", Count, 8192;
}

#[derive(Debug, Clone, Copy)]
enum Unit {
    Bytes,
    Count,
}

impl Unit {
    fn print(self, amount: u64) -> String {
        match self {
            Self::Bytes if amount >= 1 << 20 => format!("{:.1} MiB", amount as f64 / f64::from(1 << 20)),
            Self::Bytes => format!("{} KiB", amount.div_ceil(1 << 10)),
            Self::Count => amount.to_string(),
        }
    }
}

/// An amount of each resource, in the order of [`Resource::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Weight(pub [u64; Resource::ALL.len()]);

impl Weight {
    /// The amount of one resource.
    pub const fn of(&self, resource: Resource) -> u64 {
        self.0[resource as usize]
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, amount)| *sum = sum.saturating_add(amount));
    }

    fn subtract(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, amount)| *sum = sum.saturating_sub(amount));
    }
}

/// What an Ingress asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    /// For itself alone.
    pub(crate) own: Weight,
    /// What equal ones of a namespace have together: a profile, a regular expression.
    pub(crate) common: Vec<Common>,
}

/// Something that is there once, however many Ingresses ask for it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Common {
    pub(crate) resource: Resource,
    /// Its content or content address.
    pub(crate) id: Arc<str>,
    pub(crate) amount: u64,
}

impl Claim {
    fn of(&self, resource: Resource) -> u64 {
        self.needs(resource, &BTreeSet::new())
    }

    /// What it needs beside what there is in common already.
    fn needs(&self, resource: Resource, known: &BTreeSet<&Common>) -> u64 {
        let common: u64 = self.common_of(resource).filter(|common| !known.contains(common)).map(|common| common.amount).sum();
        self.own.of(resource) + common
    }

    fn common_of(&self, resource: Resource) -> impl Iterator<Item = &Common> {
        self.common.iter().filter(move |common| common.resource == resource)
    }

    /// Why one Ingress with this claim is refused, whatever room there is.
    pub(crate) fn too_large(&self) -> Option<String> {
        let resource = Resource::ALL.iter().copied().find(|resource| self.of(*resource) > resource.largest())?;
        let print = |amount| resource.unit().print(amount);
        Some(format!(
            "it needs {} {}, and one Ingress may have {}; it is refused",
            print(self.of(resource)),
            resource.words(),
            print(resource.largest())
        ))
    }
}

/// The Ingresses of one namespace.
#[derive(Debug, Clone, Default)]
struct Namespace {
    sum: Weight,
    /// Older ones first.
    ingresses: BTreeMap<Order, Claim>,
    /// How many of them ask for it.
    common: BTreeMap<Common, u32>,
}

impl Namespace {
    fn add(&mut self, order: Order, claim: Claim) {
        self.sum.add(&claim.own);
        for common in &claim.common {
            let users = self.common.entry(common.clone()).or_default();
            *users += 1;
            if *users == 1 {
                self.sum.0[common.resource as usize] += common.amount;
            }
        }
        self.ingresses.insert(order, claim);
    }

    fn remove(&mut self, order: &Order) {
        let Some(claim) = self.ingresses.remove(order) else { return };
        self.sum.subtract(&claim.own);
        for common in &claim.common {
            if let Some(users) = self.common.get_mut(common) {
                *users -= 1;
                if *users == 0 {
                    self.common.remove(common);
                    self.sum.0[common.resource as usize] -= common.amount;
                }
            }
        }
    }
}

/// The weights of all Ingresses, and what there is of each resource.
#[derive(Debug, Clone, Default)]
pub(crate) struct Shares {
    capacity: Weight,
    used: Weight,
    namespaces: BTreeMap<Arc<str>, Namespace>,
    orders: BTreeMap<ObjectKey, Order>,
}

impl Shares {
    pub(crate) fn new(capacity: Weight) -> Self {
        Self { capacity, ..Self::default() }
    }

    /// What all Ingresses ask for, and what there is.
    pub(crate) const fn usage(&self) -> Usage {
        Usage { asked: self.used, capacity: self.capacity, held: 0 }
    }

    /// Takes what an Ingress asks for, or that it is gone. Cost: a few look-ups for each path.
    pub(crate) fn set(&mut self, key: &ObjectKey, claim: Option<(Order, Claim)>) {
        let old = self.orders.remove(key);
        if old.is_none() && claim.is_none() {
            return;
        }
        let namespace = self.namespaces.entry(key.namespace.clone()).or_default();
        self.used.subtract(&namespace.sum);
        if let Some(order) = old {
            namespace.remove(&order);
        }
        if let Some((order, claim)) = claim {
            self.orders.insert(key.clone(), order.clone());
            namespace.add(order, claim);
        }
        self.used.add(&namespace.sum);
        if namespace.ingresses.is_empty() {
            self.namespaces.remove(&key.namespace);
        }
    }

    /// What an Ingress asks for itself alone.
    pub(crate) fn own(&self, key: &ObjectKey) -> Option<Weight> {
        Some(self.namespaces.get(&key.namespace)?.ingresses.get(self.orders.get(key)?)?.own)
    }

    /// The Ingresses that are held back, each with the reason. Cost: nothing while everything fits, else the Ingresses of the namespaces above their
    /// share.
    pub(crate) fn held(&self) -> BTreeMap<ObjectKey, String> {
        let mut held = BTreeMap::new();
        for resource in Resource::ALL.iter().copied().filter(|resource| self.used.of(*resource) > self.capacity.of(*resource)) {
            let share = share(self.namespaces.values().map(|namespace| namespace.sum.of(resource)), self.capacity.of(resource));
            for (name, namespace) in self.namespaces.iter().filter(|(_, namespace)| namespace.sum.of(resource) > share) {
                let (mut taken, mut known) = (0, BTreeSet::new());
                for (order, claim) in &namespace.ingresses {
                    let needs = claim.needs(resource, &known);
                    if taken + needs <= share {
                        taken += needs;
                        known.extend(claim.common_of(resource));
                    } else {
                        let print = |amount| resource.unit().print(amount);
                        let reason = format!(
                            "its namespace {name:?} asks for {} {}, more than its share of {} now that the {} there are do not do for all; \
                             its older Ingresses have that, this one is not served until there is room",
                            print(namespace.sum.of(resource)),
                            resource.words(),
                            print(share),
                            print(self.capacity.of(resource))
                        );
                        held.entry(order.key().clone()).or_insert(reason);
                    }
                }
            }
        }
        held
    }
}

/// What is asked for, and what there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of all Ingresses that could be served, those that are held back included.
    pub asked: Weight,
    /// What there is.
    pub capacity: Weight,
    /// Ingresses that are held back, by number.
    pub held: usize,
}

/// The largest amount that each may have so that all together fit: those that ask for less leave the rest to the others.
fn share(amounts: impl Iterator<Item = u64>, capacity: u64) -> u64 {
    let mut amounts: Vec<u64> = amounts.collect();
    amounts.sort_unstable();
    let (mut left, mut claimants) = (capacity, amounts.len() as u64);
    for amount in amounts {
        if amount > left / claimants {
            return left / claimants;
        }
        left -= amount;
        claimants -= 1;
    }
    // Everything fits.
    u64::MAX
}

/// Which of some weights are held back where they share one thing of this size: the same rule, for the parts of one record. In the order given,
/// that of precedence.
pub(crate) fn fit(parts: &[(&str, u64)], capacity: u64) -> BTreeSet<usize> {
    if parts.iter().map(|(_, weight)| weight).sum::<u64>() <= capacity {
        return BTreeSet::new();
    }
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for (namespace, weight) in parts {
        *sums.entry(namespace).or_default() += weight;
    }
    let share = share(sums.values().copied(), capacity);
    let mut taken: BTreeMap<&str, u64> = BTreeMap::new();
    let mut held = BTreeSet::new();
    for (at, (namespace, weight)) in parts.iter().enumerate() {
        let taken = taken.entry(namespace).or_default();
        if *taken + weight <= share {
            *taken += weight;
        } else {
            held.insert(at);
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_ones_get_all_and_large_ones_the_same() {
        assert_eq!(share([1, 2, 100, 200].into_iter(), 103), 50);
        assert_eq!(share([10, 10].into_iter(), 20), u64::MAX);
        assert_eq!(share([7].into_iter(), 5), 5);
        assert_eq!(share([].into_iter(), 5), u64::MAX);
    }

    #[test]
    fn what_is_held_back_is_the_newest_of_the_largest() {
        let mut shares = Shares::new(Weight([100, 100, 120]));
        let mut set = |namespace: &str, name: &str, age: i64, state: u64| {
            let key = ObjectKey::new(namespace, name);
            let common = vec![Common { resource: Resource::Regexes, id: "/".into(), amount: 60 }];
            shares.set(&key, Some((Order::new(age, key.clone()), Claim { own: Weight([state, 1, 0]), common })));
            shares.held().into_keys().map(|key| key.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(set("evil", "a", 1, 40), [""; 0]);
        assert_eq!(set("evil", "b", 2, 55), [""; 0]);
        assert_eq!(set("shop", "a", 3, 20), ["evil/b"]);
        assert_eq!(set("shop", "b", 4, 20), ["evil/b"]);
        assert_eq!(set("evil", "c", 5, 10), ["evil/b"], "a smaller one still fits");
        assert_eq!(set("evil", "b", 2, 10), [""; 0]);
        assert_eq!(set("evil", "d", 9, 500), ["evil/d"]);
        shares.set(&ObjectKey::new("evil", "d"), None);
        assert_eq!((shares.held().len(), shares.usage().asked), (0, Weight([100, 5, 120])), "what is common counts once for a namespace");
    }

    #[test]
    fn an_ingress_that_is_too_large_is_refused_with_size_and_bound() {
        let claim = |own: [u64; 3]| Claim { own: Weight(own), common: Vec::new() };
        assert_eq!(claim([2 << 20, 0, 0]).too_large(), None);
        let why = claim([(2 << 20) + 1, 0, 0]).too_large().unwrap();
        assert_eq!(why, "it needs 2.0 MiB of NGINX's memory for routes, and one Ingress may have 2.0 MiB; it is refused");
        assert_eq!(
            claim([0, 0, 8193]).too_large().unwrap(),
            "it needs 8193 regular expressions, and one Ingress may have 8192; it is refused"
        );
    }
}
