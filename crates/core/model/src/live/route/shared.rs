//! The routes of a record on the wire: what several of them have in common is there once.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::ser::SerializeMap;

use super::super::wire::{Declaration, Record, record};
use super::{Policy, Route};

record! {
    /// What routes of one Ingress have in common.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub(crate) struct Owned {
        /// Namespace of the Ingress (`$namespace`).
        pub(crate) namespace: Arc<str>,
        /// Name of the Ingress (`$ingress_name`).
        pub(crate) ingress: Arc<str>,
        /// What its annotations say.
        pub(crate) policy: Arc<Policy> = flat,
    }
}

record! {
    /// One location.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Location {
        /// What it has alone.
        route: Arc<Route> = flat,
        /// Zero-based index in `policies`.
        policy: u32,
    }
}

record! {
    /// Policies and locations of a host.
    #[derive(Debug, Clone, PartialEq, Eq)]
    struct Shared {
        /// What locations have in common; each is there once, however many refer to it.
        policies: Vec<Owned>,
        /// What the matches lead to. Empty where everything is redirected.
        locations: Vec<Location> = required,
    }
}

impl Shared {
    /// Policies in the order of the first routes that have them. Cost: a comparison of each route with the policies of its Ingress.
    fn new(routes: &[Arc<Route>]) -> Self {
        let mut shared = Self::default();
        let mut known: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
        for route in routes {
            let alike = known.entry((&route.namespace, &route.ingress)).or_default();
            let is_same = |at: &&usize| {
                let policy = &shared.policies[**at].policy;
                Arc::ptr_eq(policy, &route.policy) || *policy == route.policy
            };
            let at = alike.iter().find(is_same).copied().unwrap_or_else(|| {
                alike.push(shared.policies.len());
                let (namespace, ingress, policy) = (route.namespace.clone(), route.ingress.clone(), route.policy.clone());
                shared.policies.push(Owned { namespace, ingress, policy });
                shared.policies.len() - 1
            });
            shared.locations.push(Location { route: route.clone(), policy: at as u32 });
        }
        shared
    }
}

impl Record for Vec<Arc<Route>> {
    const DECLARATION: Declaration = Shared::DECLARATION;

    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        Shared::new(self).entries(map)
    }
}
