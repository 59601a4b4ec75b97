//! Which responses NGINX's memory has room for. While all fit, all go there; else each namespace has as much as the others, and what these leave.

use std::collections::BTreeMap;
use std::sync::Arc;

use model::shares::share;
use model::snapshot::{Staple, Staples};

/// Bytes that a record takes beside its response in base64: its key, the end of the response, and what NGINX rounds up.
const OVERHEAD: u64 = 256;

/// What tenants see.
const FAULT: &str = "there is no room for its OCSP response in NGINX's memory (ocsp_response_cache in lua-shared-dicts)";

/// The responses without those of namespaces above their share that have no room. `owner`: the namespace of a certificate.
pub(crate) fn fit(staples: &Staples, owner: impl Fn(&Arc<str>) -> Arc<str>, bytes: u64) -> Staples {
    let sizes = || staples.iter().map(|(id, staple)| (id, size(staple))).filter(|(_, size)| *size > 0);
    if sizes().map(|(_, size)| size).sum::<u64>() <= bytes {
        return staples.clone();
    }
    let mut asked: BTreeMap<Arc<str>, u64> = BTreeMap::new();
    for (id, size) in sizes() {
        *asked.entry(owner(id)).or_default() += size;
    }
    let mut left = asked;
    let share = share(left.values().copied(), bytes);
    left.values_mut().for_each(|left| *left = (*left).min(share));
    let mut fitting = staples.clone();
    for (id, size) in sizes() {
        let left = left.entry(owner(id)).or_default();
        match left.checked_sub(size) {
            Some(rest) => *left = rest,
            None => drop(fitting.insert(id.clone(), Arc::new(Staple { answer: None, fault: Some(FAULT.into()) }))),
        }
    }
    fitting
}

fn size(staple: &Staple) -> u64 {
    staple.answer.as_ref().map_or(0, |(_, response)| response.len() as u64 * 4 / 3 + OVERHEAD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_namespace_takes_no_room_from_the_others() {
        let staple = |length: usize| Arc::new(Staple { answer: Some((1, vec![0; length].into())), fault: None });
        let large = (0..10).map(|n| (Arc::from(format!("large/{n}")), staple(3000)));
        let staples: Staples = large.chain([("small/a".into(), staple(600)), ("small/b".into(), staple(600))]).collect();
        let owner = |id: &Arc<str>| id.split_once('/').map_or("", |(namespace, _)| namespace).into();
        let kept = |bytes: u64| -> Vec<String> {
            let fitting = fit(&staples, owner, bytes);
            fitting.iter().filter(|(_, staple)| staple.answer.is_some()).map(|(id, _)| id.to_string()).collect()
        };
        assert_eq!(kept(60_000).len(), 12);
        assert_eq!(kept(12_000), ["large/0", "large/1", "small/a", "small/b"]);
        assert_eq!(kept(0), Vec::<String>::new());
        let without = fit(&staples, owner, 12_000);
        assert_eq!(without.get("large/2").and_then(|staple| staple.fault.as_deref()), Some(FAULT));
    }
}
