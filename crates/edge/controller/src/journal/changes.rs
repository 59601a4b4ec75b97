//! What differs between two snapshots, in words.

use imbl::ordmap::DiffItem;
use model::snapshot::Objects;
use model::{ObjectKey, ObjectRef, Snapshot};

use super::{NAMED, counted, listed};

/// Objects that are others than before.
pub(super) struct Changes {
    pub(super) text: String,
    /// The first of them.
    pub(super) objects: Vec<String>,
    pub(super) total: usize,
}

#[derive(Default)]
struct Found {
    objects: Vec<String>,
    /// For each kind how many are new, changed and gone.
    kinds: Vec<(&'static str, [usize; 3])>,
}

/// The difference. `None`: there is none. Cost: what differs; of a first snapshot nothing but its size is looked at.
pub(super) fn between(before: Option<&Snapshot>, now: &Snapshot) -> Option<Changes> {
    let mut found = Found::default();
    found.add("Ingress", before.map(|before| &before.ingresses), &now.ingresses);
    found.add("Service", before.map(|before| &before.services), &now.services);
    found.add("EndpointSlice", before.map(|before| &before.endpoint_slices), &now.endpoint_slices);
    found.add("Secret", before.map(|before| &before.secrets), &now.secrets);
    found.add("ConfigMap", before.map(|before| &before.config_maps), &now.config_maps);
    let total: usize = found.kinds.iter().flat_map(|(_, numbers)| numbers).sum();
    if total == 0 {
        return None;
    }
    Some(Changes { text: found.text(before.is_none()), objects: found.objects, total })
}

impl Found {
    fn add<T: PartialEq>(&mut self, kind: &'static str, before: Option<&Objects<T>>, now: &Objects<T>) {
        let mut numbers = [0; 3];
        match before {
            None => numbers[0] = now.len(),
            Some(before) => {
                for item in before.diff(now) {
                    let (at, key): (usize, &ObjectKey) = match &item {
                        DiffItem::Add(key, _) => (0, key),
                        DiffItem::Update { new: (key, _), .. } => (1, key),
                        DiffItem::Remove(key, _) => (2, key),
                    };
                    numbers[at] += 1;
                    if self.objects.len() < NAMED {
                        self.objects.push(ObjectRef::namespaced(kind, key).to_string());
                    }
                }
            }
        }
        if numbers != [0; 3] {
            self.kinds.push((kind, numbers));
        }
    }

    fn text(&self, is_first: bool) -> String {
        if is_first {
            let parts: Vec<String> = self.kinds.iter().map(|(kind, [number, ..])| counted(*number, kind)).collect();
            return format!("the source is complete: {}", listed(&parts));
        }
        let total: usize = self.kinds.iter().flat_map(|(_, numbers)| numbers).sum();
        if let ([object], 1) = (&*self.objects, total) {
            let is = match self.kinds[0].1 {
                [1, 0, 0] => "is new",
                [0, 1, 0] => "changed",
                _ => "is gone",
            };
            return format!("{object} {is}");
        }
        let parts = self.kinds.iter().flat_map(|(kind, numbers)| {
            let how = ["new", "changed", "gone"].into_iter().zip(numbers).filter(|(_, number)| **number > 0);
            how.map(|(how, number)| format!("{} {how}", counted(*number, kind)))
        });
        parts.collect::<Vec<_>>().join(", ")
    }
}
