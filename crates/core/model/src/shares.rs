//! Fair shares of what tenants fill together.
//!
//! What NGINX holds is finite: its shared memory, the text of its configuration, the regular expressions that workers keep compiled. Each Ingress,
//! each Secret and each backend has a weight in these. While everything fits, no share applies: one namespace may use all of it. When it does not,
//! each namespace may use as much as the others, and what the smaller ones leave; what is above that is held back (`claims`): the newest
//! Ingresses, the largest Secrets, endpoints of the Services that have most. So a namespace below its share always gets room.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::OrdMap;

mod claims;
mod memory;

pub(crate) use claims::{Level, Shares};
use memory::whole_records;
pub(crate) use memory::{capacity, left_for_endpoints, record_bytes};

macro_rules! resources {
    ($($(#[$doc:meta])* $name:ident = $label:literal, $words:literal, $unit:ident, $largest:expr, $holder:literal;)*) => {
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

            /// What one object may have.
            pub const fn largest(self) -> u64 {
                match self { $(Self::$name => $largest,)* }
            }

            /// What kind of object fills it.
            const fn holder(self) -> &'static str {
                match self { $(Self::$name => $holder,)* }
            }
        }
    };
}

resources! {
    /// Bytes of the records of routes in the dictionary `configuration_data`.
    State = "state", "of NGINX's memory for routes", Bytes, 2 << 20, "Ingress";
    /// Bytes of profiles and server blocks in `nginx.conf`.
    Text = "text", "of the text of nginx.conf", Bytes, 8 << 20, "Ingress";
    /// Regular expressions of paths and rewrites that a worker keeps compiled.
    Regexes = "regexes", "regular expressions", Count, 8192, "Ingress";
    /// Bytes of the names with TLS in the dictionary `certificate_servers`.
    Names = "names", "of NGINX's memory for names with TLS", Bytes, 1 << 20, "Ingress";
    /// Bytes of the records of certificates and users in the dictionary `certificate_data`.
    Secrets = "secrets", "of NGINX's memory for certificates and users", Bytes, 4 << 20, "Secret";
    /// Bytes of the records of backends in the dictionary `configuration_data`.
    Endpoints = "endpoints", "of NGINX's memory for endpoints", Bytes, 1 << 20, "port of a Service";
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
    /// So much of one resource, nothing of the others.
    pub(crate) const fn only(resource: Resource, amount: u64) -> Self {
        let mut weight = Self([0; Resource::ALL.len()]);
        weight.0[resource as usize] = amount;
        weight
    }

    /// The amount of one resource.
    pub const fn of(&self, resource: Resource) -> u64 {
        self.0[resource as usize]
    }

    /// Adds another one to it.
    pub(crate) fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, amount)| *sum = sum.saturating_add(amount));
    }

    fn subtract(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(sum, amount)| *sum = sum.saturating_sub(amount));
    }
}

/// What an object asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Claim {
    /// For itself alone.
    pub(crate) own: Weight,
    /// What equal ones have together: a profile, a regular expression, a certificate.
    pub(crate) common: Vec<Common>,
}

/// Something that is there once, however many objects ask for it.
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

    /// Why an object with this claim is refused, whatever room there is: size and bound.
    pub(crate) fn too_large(&self) -> Option<String> {
        let resource = Resource::ALL.iter().copied().find(|resource| self.of(*resource) > resource.largest())?;
        let print = |amount| resource.unit().print(amount);
        Some(format!(
            "it needs {} {}, and one {} may have {}",
            print(self.of(resource)),
            resource.words(),
            resource.holder(),
            print(resource.largest())
        ))
    }
}

/// What is asked for, and what there is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Of all objects that could be served, those that are held back included.
    pub asked: Weight,
    /// What there is.
    pub capacity: Weight,
    /// Ingresses, Secrets and ports of Services of which something is held back, by number.
    pub held: usize,
}

/// The sums of one kind of objects, by namespace.
pub(crate) type Sums = OrdMap<Arc<str>, Weight>;

/// What the objects of each namespace ask for. Cloning is cheap.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tenants([Sums; 3]);

impl Tenants {
    pub(crate) const fn of(sums: [Sums; 3]) -> Self {
        Self(sums)
    }

    /// By namespace, what several objects of it have in common counted once. Cost: the number of namespaces.
    pub fn sums(&self) -> BTreeMap<&Arc<str>, Weight> {
        let mut all: BTreeMap<&Arc<str>, Weight> = BTreeMap::new();
        for (namespace, sum) in self.0.iter().flatten() {
            all.entry(namespace).or_default().add(sum);
        }
        all
    }
}

/// The largest amount that each may have so that all together fit: those that ask for less leave the rest to the others.
/// `u64::MAX` where everything fits.
pub fn share(amounts: impl Iterator<Item = u64>, capacity: u64) -> u64 {
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
mod tests;
