//! Live updates that count as avoided reloads.
//!
//! NGINX alone would need a reload for each of them. Not counted is what a reload was needed for all the same: an update of a build that also changes
//! the text, records that waited for a reload, and what was sent again. So the count is never above the number of builds.

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use model::plan::reasons;
use model::{Built, Fixed, Live, Op, Table, owners};
use parking_lot::Mutex;

use crate::Loaded;

/// The build that was counted last, by whichever channel. Clones share it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Counted(Arc<Mutex<Weak<Built>>>);

impl Counted {
    /// Whether a build was not counted yet; from now on it is.
    fn is_first(&self, built: &Arc<Built>) -> bool {
        let mut last = self.0.lock();
        let is_first = !std::ptr::eq(last.as_ptr(), Arc::as_ptr(built));
        *last = Arc::downgrade(built);
        is_first
    }
}

/// What a channel knows of the update before.
#[derive(Debug, Default)]
pub(super) struct Credit {
    counted: Counted,
    text: Option<Fixed>,
    /// The records that waited for a reload.
    waited: BTreeSet<(Table, Arc<str>)>,
}

/// An update that needs no reload.
#[derive(Debug)]
pub(super) struct Avoided {
    /// The value of the metric label `change`.
    pub(super) change: &'static str,
    /// The namespaces that have a part in it.
    pub(super) namespaces: BTreeSet<Arc<str>>,
    counted: Counted,
}

impl Avoided {
    /// Whether no other channel counted the build before.
    pub(super) fn is_first(&self, built: &Arc<Built>) -> bool {
        self.counted.is_first(built)
    }
}

impl Credit {
    pub(super) fn new(counted: Counted) -> Self {
        Self { counted, ..Self::default() }
    }

    /// The update that `now` is, where it counts; `later` waits for a reload. `held` is what NGINX has before it.
    pub(super) fn of(&mut self, target: &Built, loaded: &Loaded, now: &[Op], later: &[Op], held: &Live) -> Option<Avoided> {
        let text = &target.model.fixed;
        let is_loaded = || loaded.fixed.as_ref().is_some_and(|running| reasons(running, text).is_empty());
        let reloads = self.text.as_ref().is_none_or(|before| !reasons(before, text).is_empty()) && !is_loaded();
        let waiting: BTreeSet<(Table, Arc<str>)> = later.iter().map(|op| (op.table, op.key.clone())).collect();
        let waited = std::mem::replace(&mut self.waited, waiting);
        self.text = Some(text.clone());
        let fresh: Vec<&Op> = now.iter().filter(|op| !waited.contains(&(op.table, op.key.clone()))).collect();
        if reloads || fresh.is_empty() || !self.waited.is_subset(&waited) {
            return None;
        }
        // Two are enough to know that there are several.
        let mut namespaces = BTreeSet::new();
        for owner in owners(fresh.iter().copied(), held, &target.model.live) {
            if namespaces.len() < 2 && !owner.is_empty() {
                namespaces.insert(Arc::from(owner));
            }
        }
        Some(Avoided { change: change(&fresh), namespaces, counted: self.counted.clone() })
    }
}

/// The label of the change that leads to these: a host that comes or goes, else what is referred to before what refers to it.
fn change(ops: &[&Op]) -> &'static str {
    let is_whole = |op: &&&Op| op.table == Table::Host && (op.old_crc == 0 || op.value.is_none());
    let whole = ops.iter().find(is_whole);
    let cause = [Table::Users, Table::Certificate, Table::Server, Table::Staple, Table::Host];
    let first = || cause.into_iter().find_map(|table| ops.iter().find(|op| op.table == table));
    whole.or_else(first).or(ops.first()).map_or("", |op| op.table.row().change)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn op(table: Table, key: &str, old_crc: u32, value: Option<&str>) -> Op {
        Op { table, key: key.into(), value: value.map(str::to_owned), old_crc, needs: Vec::new() }
    }

    fn label(ops: &[Op]) -> &'static str {
        change(&ops.iter().collect::<Vec<_>>())
    }

    #[test]
    fn an_update_has_the_label_of_what_led_to_it() {
        let backend = op(Table::Backend, "n/web:80", 1, Some("{}"));
        let host = |old_crc| op(Table::Host, "a.example", old_crc, Some("{}"));
        let users = op(Table::Users, "1f", 0, Some("{}"));
        let name = op(Table::Server, "a.example", 1, Some("2e"));
        assert_eq!(label(std::slice::from_ref(&backend)), "endpoints");
        assert_eq!(label(&[backend.clone(), host(1)]), "route");
        assert_eq!(label(&[users.clone(), host(1)]), "users");
        assert_eq!(label(&[users, name.clone(), host(0)]), "route");
        assert_eq!(label(&[op(Table::Certificate, "2e", 0, Some("{}")), name]), "certificate");
    }

    #[test]
    fn a_build_counts_once_whatever_channels_it_takes() {
        let (counted, built) = (Counted::default(), Arc::new(Built::default()));
        assert!(counted.is_first(&built) && !counted.clone().is_first(&built) && counted.is_first(&Arc::new(Built::default())));
    }

    #[test]
    fn what_waited_for_a_reload_does_not_count_and_what_changed_meanwhile_does() {
        let (mut credit, built, loaded, held) = (Credit::default(), Built::default(), Loaded::default(), Live::default());
        let of =
            |credit: &mut Credit, now: &[Op], later: &[Op]| credit.of(&built, &loaded, now, later, &held).map(|avoided| avoided.change);
        let (host, backend) = (op(Table::Host, "a.example", 0, Some("{}")), op(Table::Backend, "n/web:80", 1, Some("{}")));
        assert_eq!(of(&mut credit, std::slice::from_ref(&backend), &[]), None, "the first text is loaded by a start");
        assert_eq!(of(&mut credit, std::slice::from_ref(&backend), &[]), Some("endpoints"));
        assert_eq!(of(&mut credit, std::slice::from_ref(&backend), std::slice::from_ref(&host)), None, "the change waits");
        assert_eq!(of(&mut credit, std::slice::from_ref(&backend), std::slice::from_ref(&host)), Some("endpoints"), "another one");
        assert_eq!(of(&mut credit, std::slice::from_ref(&host), &[]), None, "a reload was needed");
        assert_eq!(of(&mut credit, &[], &[]), None);
    }
}
