//! What the answers are made of.

use std::collections::BTreeMap;

use model::{Built, Fixed, HostRecord, ObjectKey, ObjectRef, Snapshot};

use crate::TrafficTable;

/// What the answers are made of. Nothing of it changes while they are made.
#[derive(Clone, Copy)]
pub struct State<'a> {
    /// What is wanted.
    pub built: &'a Built,
    /// The objects that it was built from, or newer ones.
    pub snapshot: &'a Snapshot,
    /// The text that NGINX runs, where it is known.
    pub running: Option<&'a Fixed>,
    /// Whether the record of a host waits for a reload.
    pub is_held: &'a dyn Fn(&str, &HostRecord) -> bool,
    /// When a finding was new.
    pub since: &'a dyn Fn(&model::Problem) -> Option<f64>,
    /// Requests, where they are counted.
    pub traffic: Option<&'a TrafficTable>,
    /// The prefix of annotations.
    pub prefix: &'a str,
    /// The main ConfigMap.
    pub configmap: Option<&'a ObjectKey>,
    /// The present time, in seconds since 1970.
    pub time: f64,
}

/// The present findings by object.
pub(crate) struct Findings(BTreeMap<ObjectRef, Vec<model::Problem>>);

impl State<'_> {
    /// The present findings. Cost: their number.
    pub(crate) fn findings(&self) -> Findings {
        let mut by_object: BTreeMap<ObjectRef, Vec<model::Problem>> = BTreeMap::new();
        for problem in self.problems() {
            by_object.entry(problem.object.clone()).or_default().push(problem);
        }
        Findings(by_object)
    }

    /// The same in order, without duplicates.
    pub(crate) fn problems(&self) -> Vec<model::Problem> {
        let mut all: Vec<model::Problem> = self.snapshot.problems.iter().cloned().chain(self.built.problems()).collect();
        all.sort();
        all.dedup();
        all
    }
}

impl Findings {
    /// Those about an object.
    pub(crate) fn of(&self, object: &ObjectRef) -> &[model::Problem] {
        self.0.get(object).map_or(&[], Vec::as_slice)
    }

    /// Those about an Ingress.
    pub(crate) fn of_ingress(&self, key: &ObjectKey) -> &[model::Problem] {
        self.of(&ObjectRef::ingress(key))
    }
}
