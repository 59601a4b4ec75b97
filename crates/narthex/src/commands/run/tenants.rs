//! Metrics of namespaces: what they ask for of what is finite, and what of them is quarantined. Bounded: tenants make namespaces.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::future::{Future, ready};
use std::pin::Pin;
use std::sync::Arc;

use model::{Built, Resource};
use ops::{Exposition, Family, Fetched, labels};
use tokio::sync::watch;

/// Namespaces that have a series of their own: those with the largest amounts.
const MOST: usize = 20;
/// The label of the others together. No namespace can have this name.
const OTHER: &str = "_other";

const BUDGET: Family =
    Family::gauge("narthex_namespace_budget_used", "What the objects of a namespace ask for of a finite resource: bytes, or a number.")
        .without_prefix();
const QUARANTINED: Family =
    Family::gauge("narthex_quarantined", "Ingresses that are replaced by their last good version, as NGINX refuses what they ask for.")
        .without_prefix();

/// What they are made from.
pub(super) struct Tenants {
    pub(super) built: watch::Receiver<Option<Arc<Built>>>,
}

impl Fetched for Tenants {
    fn write<'a>(&'a self, out: &'a mut Exposition) -> Pin<Box<dyn Future<Output = ()> + Send + 'a>> {
        let built = self.built.borrow().clone();
        if let Some(built) = built {
            write(&built, out);
        }
        Box::pin(ready(()))
    }
}

fn write(built: &Built, out: &mut Exposition) {
    let sums = built.tenants.sums();
    let mut budgets = Vec::new();
    for resource in Resource::ALL {
        let amounts = sums.iter().map(|(namespace, sum)| (&***namespace, sum.of(*resource) as f64));
        let of = |(namespace, amount): (&str, f64)| (labels(&[("namespace", namespace), ("resource", resource.label())]), amount);
        budgets.extend(largest(amounts).into_iter().map(of));
    }
    BUDGET.write(&budgets, out);
    let mut quarantined: BTreeMap<&str, f64> = BTreeMap::new();
    for ingress in built.quarantined.keys() {
        *quarantined.entry(&ingress.namespace).or_default() += 1.0;
    }
    let mut quarantined = largest(quarantined.into_iter());
    if quarantined.is_empty() {
        quarantined.push(("", 0.0));
    }
    let of = |(namespace, count): (&str, f64)| (labels(&[("namespace", namespace)]), count);
    QUARANTINED.write(&quarantined.into_iter().map(of).collect::<Vec<_>>(), out);
}

/// The largest amounts, in the order of their names, and the sum of the others where there are any. Nothing is left out.
fn largest<'a>(amounts: impl Iterator<Item = (&'a str, f64)>) -> Vec<(&'a str, f64)> {
    let mut amounts: Vec<(&str, f64)> = amounts.filter(|(_, amount)| *amount > 0.0).collect();
    amounts.sort_by_key(|(namespace, amount)| (Reverse(*amount as u64), *namespace));
    let others: f64 = amounts.get(MOST..).unwrap_or_default().iter().map(|(_, amount)| amount).sum();
    amounts.truncate(MOST);
    amounts.sort_by_key(|(namespace, _)| *namespace);
    amounts.extend((others > 0.0).then_some((OTHER, others)));
    amounts
}

#[cfg(test)]
mod tests {
    use model::ObjectKey;

    use super::*;

    #[test]
    fn the_largest_namespaces_are_named_and_the_others_are_added_up() {
        let names: Vec<String> = (10..35).map(|number| format!("n{number}")).collect();
        let found = largest(names.iter().map(String::as_str).zip((1..).map(f64::from)).chain([("none", 0.0)]));
        assert_eq!((found.len(), found[0], found[20]), (MOST + 1, ("n15", 6.0), (OTHER, 15.0)));
        assert_eq!(found.iter().map(|(_, amount)| amount).sum::<f64>(), 325.0);
    }

    #[test]
    fn quarantined_ingresses_are_counted_by_namespace_and_none_is_a_number_too() {
        let text = |built: &Built| {
            let mut out = Exposition::new(ops::Form::Text);
            write(built, &mut out);
            String::from_utf8(out.into_bytes()).unwrap()
        };
        let mut built = Built::default();
        assert!(text(&built).contains("narthex_quarantined{namespace=\"\"} 0\n"), "{}", text(&built));
        for name in ["a", "b"] {
            built.quarantined.insert(ObjectKey::new("shop", name), "why".into());
        }
        assert!(text(&built).contains("narthex_quarantined{namespace=\"shop\"} 2\n"), "{}", text(&built));
    }
}
