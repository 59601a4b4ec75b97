//! The order of a large delta: namespaces with few changes come first, so that none of them waits for the many of another.
#![expect(clippy::disallowed_types, reason = "the maps are looked up in, never iterated")]

use std::collections::HashMap;

use super::{Delta, HostRecord, Live, NO_CERTIFICATE, Op, Table};

/// The same changes, those of namespaces that have fewest first. What a record refers to still comes before it, also across namespaces, and what records
/// may have referred to is removed last.
pub fn by_namespace(delta: Delta, before: &Live, after: &Live) -> Delta {
    let owners: Vec<&str> = delta.iter().map(|op| owner(op, before, after)).collect();
    let mut changes: HashMap<&str, usize> = HashMap::new();
    for owner in &owners {
        *changes.entry(owner).or_default() += 1;
    }
    let mut turns: Vec<usize> = (0..delta.len()).collect();
    turns.sort_by_key(|&at| (removed_last(&delta[at]), is_content(delta[at].table), changes[owners[at]], owners[at]));
    let mut order = Order::new(&delta, before, after);
    for at in turns {
        order.place(at);
    }
    let order = order.placed;
    let mut delta: Vec<Option<Op>> = delta.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| delta[at].take()).collect()
}

struct Order<'a> {
    delta: &'a [Op],
    before: &'a Live,
    after: &'a Live,
    /// Where the changes are: those that set a record, and those that remove one.
    set: HashMap<(Table, &'a str), usize>,
    removed: HashMap<(Table, &'a str), usize>,
    /// The changes that take names from the wildcard above them, by its name.
    excepted: HashMap<String, Vec<usize>>,
    is_placed: Vec<bool>,
    placed: Vec<usize>,
}

impl<'a> Order<'a> {
    fn new(delta: &'a [Op], before: &'a Live, after: &'a Live) -> Self {
        let (mut set, mut removed, mut excepted) = (HashMap::new(), HashMap::new(), HashMap::<String, Vec<usize>>::new());
        for (at, op) in delta.iter().enumerate() {
            let map = if op.value.is_some() { &mut set } else { &mut removed };
            map.insert((op.table, &*op.key), at);
            if op.table == Table::Server && op.value.as_deref() == Some(NO_CERTIFICATE) {
                excepted.entry(above(&op.key)).or_default().push(at);
            }
        }
        let (is_placed, placed) = (vec![false; delta.len()], Vec::with_capacity(delta.len()));
        Self { delta, before, after, set, removed, excepted, is_placed, placed }
    }

    /// Appends a change after those that must come before it.
    fn place(&mut self, at: usize) {
        if std::mem::replace(&mut self.is_placed[at], true) {
            return;
        }
        let op = &self.delta[at];
        let first: Vec<usize> = match op.value {
            Some(_) => {
                let referred = references(op, self.after).into_iter().filter_map(|reference| self.set.get(&reference)).copied();
                let excepted = self.excepted.get(&*op.key).filter(|_| op.table == Table::Server);
                referred.chain(excepted.into_iter().flatten().copied()).collect()
            }
            // A name is taken from its wildcard for as long as that is there.
            None if op.table == Table::Server && self.before.servers.get(&op.key).is_some_and(|old| **old == *NO_CERTIFICATE) => {
                self.removed.get(&(Table::Server, &*above(&op.key))).copied().into_iter().collect()
            }
            None => Vec::new(),
        };
        for at in first {
            self.place(at);
        }
        self.placed.push(at);
    }
}

/// The wildcard above a name.
fn above(name: &str) -> String {
    format!("*.{}", name.split_once('.').map_or("", |(_, parent)| parent))
}

/// The namespace of each of these changes. Empty where there is none.
pub fn owners<'a>(ops: impl Iterator<Item = &'a Op>, before: &'a Live, after: &'a Live) -> impl Iterator<Item = &'a str> {
    ops.map(move |op| owner(op, before, after))
}

/// The namespace of a record. Empty where there is none, as for what is stored by its content.
fn owner<'a>(op: &'a Op, before: &'a Live, after: &'a Live) -> &'a str {
    match op.table {
        Table::Backend => op.key.split_once('/').map_or("", |(namespace, _)| namespace),
        Table::Host | Table::Server => [after, before].into_iter().find_map(|live| of_host(live, &op.key)).unwrap_or_default(),
        Table::Certificate | Table::Users | Table::Staple | Table::StreamService | Table::Passthrough => "",
    }
}

/// The namespace of the first route of a host, or of the host that it redirects to.
fn of_host<'a>(live: &'a Live, host: &str) -> Option<&'a str> {
    let first = |record: &'a HostRecord| record.routes.first().map(|route| &*route.namespace);
    let record = live.hosts.get(host)?;
    first(record).or_else(|| first(live.hosts.get(record.redirect_to.as_ref()?)?))
}

/// Content comes with the record that refers to it.
const fn is_content(table: Table) -> bool {
    matches!(table, Table::Certificate | Table::Users)
}

const fn removed_last(op: &Op) -> bool {
    op.value.is_none() && (is_content(op.table) || matches!(op.table, Table::Backend))
}

/// The records that the new value of a record refers to.
fn references<'a>(op: &'a Op, live: &'a Live) -> Vec<(Table, &'a str)> {
    let mut references = Vec::new();
    match op.table {
        Table::Server => references.extend(op.value.as_deref().map(|content| (Table::Certificate, content))),
        Table::Backend => {
            let alternative = live.backends.get(&op.key).and_then(|backend| backend.alternative.as_deref());
            references.extend(alternative.map(|alternative| (Table::Backend, &*alternative.backend)));
        }
        Table::Host => {
            for route in live.hosts.get(&op.key).into_iter().flat_map(|host| &host.routes) {
                references.push((Table::Backend, &*route.backend));
                references.extend(route.errors.iter().filter_map(|errors| Some((Table::Backend, &**errors.default_backend.as_ref()?))));
                references.extend(route.password.iter().map(|password| (Table::Users, &*password.users)));
            }
            references.push((Table::Server, &*op.key));
        }
        Table::Certificate | Table::Users | Table::Staple | Table::StreamService | Table::Passthrough => {}
    }
    references
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::{BackendRecord, Policy, Route};
    use super::*;

    fn live(hosts: &[(&str, &str, &str)]) -> Live {
        let mut live = Live::default();
        for (host, namespace, backend) in hosts {
            let policy = Arc::new(Policy::default());
            let route = Route { namespace: (*namespace).into(), backend: (*backend).into(), policy, ..Route::default() };
            live.hosts.insert((*host).into(), Arc::new(HostRecord { routes: vec![Arc::new(route)], ..HostRecord::default() }));
            live.backends.insert((*backend).into(), Arc::new(BackendRecord { name: (*backend).into(), ..BackendRecord::default() }));
            live.servers.insert((*host).into(), NO_CERTIFICATE.into());
        }
        live
    }

    fn keys(before: &Live, after: &Live) -> Vec<(Table, String)> {
        by_namespace(before.delta(after), before, after).into_iter().map(|op| (op.table, op.key.to_string())).collect()
    }

    #[test]
    fn a_namespace_with_few_changes_comes_before_one_with_many() {
        let after = live(&[("a.example", "many", "many/a:80"), ("b.example", "many", "many/b:80"), ("c.example", "small", "small/c:80")]);
        let order = keys(&Live::default(), &after);
        let small = [(Table::Server, "c.example"), (Table::Backend, "small/c:80"), (Table::Host, "c.example")];
        assert_eq!(order[..3], small.map(|(table, key)| (table, key.to_owned())));
        assert_eq!(order.len(), 9);
    }

    #[test]
    fn what_a_record_refers_to_comes_before_it_across_namespaces() {
        let after = live(&[("a.example", "many", "many/a:80"), ("b.example", "many", "many/b:80"), ("c.example", "small", "many/a:80")]);
        let order = keys(&Live::default(), &after);
        let at = |wanted: (Table, &str)| order.iter().position(|(table, key)| (*table, &**key) == wanted).unwrap();
        assert!(at((Table::Backend, "many/a:80")) < at((Table::Host, "c.example")), "{order:?}");
        assert!(at((Table::Host, "c.example")) < at((Table::Host, "a.example")), "{order:?}");
    }

    #[test]
    fn names_are_taken_from_a_wildcard_before_it_has_a_certificate_and_until_it_has_none() {
        let hosts = [("a.shop.example", "many", "many/a:80"), ("b.shop.example", "many", "many/b:80")];
        let before = live(&hosts);
        let mut with = live(&[&hosts[..], &[("*.shop.example", "small", "small/w:80")]].concat());
        with.servers.insert("*.shop.example".into(), "content".into());
        let mut without = before.clone();
        without.servers.clear();
        let is_first = |order: &[(Table, String)], one: &str, other: &str| {
            let at = |key: &str| order.iter().position(|(table, found)| *table == Table::Server && found == key).unwrap();
            assert!(at(one) < at(other), "{order:?}");
        };
        for name in ["a.shop.example", "b.shop.example"] {
            is_first(&keys(&without, &with), name, "*.shop.example");
            is_first(&keys(&with, &without), "*.shop.example", name);
            let plain =
                |before: &Live, after: &Live| before.delta(after).into_iter().map(|op| (op.table, op.key.to_string())).collect::<Vec<_>>();
            is_first(&plain(&without, &with), name, "*.shop.example");
            is_first(&plain(&with, &without), "*.shop.example", name);
        }
    }

    #[test]
    fn what_may_have_been_referred_to_is_removed_last() {
        let before = live(&[("a.example", "gone", "gone/a:80"), ("b.example", "stays", "gone/a:80")]);
        let after = live(&[("b.example", "stays", "stays/b:80")]);
        let order = keys(&before, &after);
        assert_eq!(order.last(), Some(&(Table::Backend, "gone/a:80".to_owned())));
        assert_eq!(order.len(), 5);
    }
}
