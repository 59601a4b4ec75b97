//! The owners of old workers.
//!
//! A reload leaves the workers of before behind until their last client has gone, and none begins while there are too many of them. They belong, in equal
//! parts, to the namespaces whose changes asked for the reload. A namespace may have four times what is free: alone that is four fifths of all, and one
//! that comes later always finds room. What only namespaces above that ask for waits; it goes along with what others need.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::causes::Causes;
use crate::port::{Old, WorkerId};

/// Share of a namespace for each worker that is free.
const FACTOR: usize = 4;

/// The old workers, each with the namespaces that it belongs to.
#[derive(Debug, Default)]
pub(super) struct Generations(BTreeMap<WorkerId, Arc<BTreeSet<Arc<str>>>>);

impl Generations {
    /// Takes what there is: those that have ended are forgotten, new ones are of these namespaces.
    pub(super) fn see(&mut self, old: &Old, of: &BTreeSet<Arc<str>>) {
        let of = Arc::new(of.clone());
        self.0.retain(|worker, _| old.workers.contains(worker));
        for worker in &old.workers {
            self.0.entry(*worker).or_insert_with(|| of.clone());
        }
    }

    /// Why a reload for these causes waits, where fewer than `most` old workers may be there when it begins. `None`: it does not.
    pub(super) fn wait(&self, causes: &Causes, most: usize) -> Option<String> {
        if causes.general || causes.namespaces.is_empty() || !causes.namespaces.iter().all(|namespace| self.has_its_share(namespace, most))
        {
            return None;
        }
        let names: Vec<&str> = causes.namespaces.iter().map(|name| &**name).collect();
        Some(format!(
            "what {} of namespace {} asks for waits: clients stay connected to the workers that earlier changes of that namespace left behind, \
             and these are its share of the {most} that there may be",
            if names.len() == 1 { "an Ingress" } else { "Ingresses" },
            names.join(", ")
        ))
    }

    fn has_its_share(&self, namespace: &Arc<str>, most: usize) -> bool {
        let free = most.saturating_sub(self.0.len());
        let used = self.used(namespace);
        used > 0.0 && used >= (FACTOR * free) as f64
    }

    /// A worker of several namespaces counts for each in part.
    fn used(&self, namespace: &Arc<str>) -> f64 {
        self.0.values().filter(|owners| owners.contains(namespace)).map(|owners| 1.0 / owners.len() as f64).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST: usize = 16;

    fn causes(names: &[&str]) -> Causes {
        Causes { namespaces: names.iter().map(|name| Arc::from(*name)).collect(), ..Causes::default() }
    }

    /// An NGINX with one worker, whose old ones stay.
    #[derive(Default)]
    struct World {
        generations: Generations,
        old: Old,
    }

    impl World {
        /// Whether a reload began.
        fn reload(&mut self, names: &[&str]) -> bool {
            let causes = causes(names);
            if self.old.workers.len() >= MOST || self.generations.wait(&causes, MOST).is_some() {
                return false;
            }
            let pid = self.old.workers.last().map_or(1, |(pid, _)| pid + 1);
            self.old.workers.insert((pid, 0));
            self.generations.see(&self.old, &causes.namespaces);
            true
        }

        fn end(&mut self, pid: i32) {
            self.old.workers.remove(&(pid, 0));
            self.generations.see(&self.old, &BTreeSet::new());
        }
    }

    #[test]
    fn alone_a_namespace_has_four_fifths_and_one_that_comes_later_finds_room() {
        let mut world = World::default();
        let alone = (0..MOST).filter(|_| world.reload(&["evil"])).count();
        assert!(alone * 5 >= MOST * 4 && alone < MOST, "{alone}");
        assert!(!world.reload(&["evil"]) && world.reload(&["shop"]) && !world.reload(&["evil"]));
        // It goes along with others, and pays its part.
        assert!(world.reload(&["evil", "shop"]) && world.generations.used(&"shop".into()) == 1.5);
        world.end(1);
        assert!(!world.reload(&["evil"]), "one is not enough where it has most of them");
        (2..9).for_each(|pid| world.end(pid));
        assert!(world.reload(&["evil"]));
    }

    #[test]
    fn what_no_namespace_asks_for_never_waits_for_a_share() {
        let mut world = World::default();
        while world.reload(&["evil"]) {}
        assert_eq!(world.generations.wait(&Causes { general: true, ..causes(&["evil"]) }, MOST), None);
        assert_eq!(world.generations.wait(&causes(&[]), MOST), None);
        let why = world.generations.wait(&causes(&["evil"]), MOST).unwrap();
        assert!(why.starts_with("what an Ingress of namespace evil asks for waits: clients stay connected"), "{why}");
    }

    proptest::proptest! {
        #[test]
        fn a_namespace_without_old_workers_never_waits_while_one_more_may_be_there(turns in proptest::collection::vec((0..6_u8, 0..4_u8, 1..30_i32), 0..200)) {
            let mut world = World::default();
            let names = ["a", "b", "c", "d"];
            for (what, who, pid) in turns {
                match what {
                    0 => world.end(pid),
                    1 => { world.reload(&[names[usize::from(who)], "a"]); }
                    _ => { world.reload(&[names[usize::from(who)]]); }
                }
                proptest::prop_assert!(world.old.workers.len() <= MOST);
                let sum: f64 = names.iter().map(|name| world.generations.used(&Arc::from(*name))).sum();
                proptest::prop_assert!((sum - world.old.workers.len() as f64).abs() < 1e-6, "{sum}");
                proptest::prop_assert_eq!(world.generations.wait(&causes(&["new"]), MOST), None);
            }
        }
    }
}
