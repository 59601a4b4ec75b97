//! Notes that wait, those of each namespace in a line of their own. The lines have their turn one after the other, so that a namespace with
//! thousands of Problems delays its own Events only. Pure.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};
use std::sync::Arc;

use super::note::Note;

/// `None`: of cluster-scoped objects.
type Namespace = Option<Arc<str>>;

/// Notes in the order in which they are posted.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    lines: BTreeMap<Namespace, VecDeque<Note>>,
    /// The line that had its turn last.
    last: Option<Namespace>,
    len: usize,
}

impl Backlog {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Adds a note at the end of its line. Returns whether a note was dropped because there were `most`: the newest one of the longest line.
    pub(super) fn push(&mut self, note: Note, most: usize) -> bool {
        self.lines.entry(note.object.namespace.clone()).or_default().push_back(note);
        self.len += 1;
        if self.len <= most {
            return false;
        }
        if let Some(longest) = self.lines.values_mut().max_by_key(|line| line.len()) {
            longest.pop_back();
            self.len -= 1;
        }
        true
    }

    /// Puts a note back that could not be posted.
    pub(super) fn push_front(&mut self, note: Note) {
        self.lines.entry(note.object.namespace.clone()).or_default().push_front(note);
        self.len += 1;
    }

    pub(super) fn pop(&mut self) -> Option<Note> {
        let after = self.last.as_ref().and_then(|last| self.lines.range((Excluded(last), Unbounded)).next());
        let namespace = after.or_else(|| self.lines.iter().next())?.0.clone();
        let line = self.lines.get_mut(&namespace)?;
        let note = line.pop_front();
        if line.is_empty() {
            self.lines.remove(&namespace);
        }
        self.len -= usize::from(note.is_some());
        self.last = Some(namespace);
        note
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&Note) -> bool) {
        self.lines.retain(|_, line| {
            line.retain(&keep);
            !line.is_empty()
        });
        self.len = self.lines.values().map(VecDeque::len).sum();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{ObjectKey, ObjectRef};

    fn note(namespace: &str, number: usize) -> Note {
        Note::new(ObjectRef::ingress(&ObjectKey::new(namespace, format!("i{number}"))), true, "Conflict", "it is".into())
    }

    fn names(backlog: &mut Backlog, count: usize) -> Vec<String> {
        std::iter::from_fn(|| backlog.pop()).take(count).map(|note| note.object.to_string()).collect()
    }

    #[test]
    fn a_namespace_with_very_many_notes_delays_no_other() {
        let mut backlog = Backlog::default();
        for number in 0..1000 {
            assert!(!backlog.push(note("evil", number), 2000));
        }
        backlog.push(note("shop", 1), 2000);
        backlog.push(note("web", 1), 2000);
        backlog.push(note("shop", 2), 2000);
        let all = [
            "Ingress evil/i0",
            "Ingress shop/i1",
            "Ingress web/i1",
            "Ingress evil/i1",
            "Ingress shop/i2",
            "Ingress evil/i2",
            "Ingress evil/i3",
        ];
        assert_eq!(names(&mut backlog, 7), all);
        backlog.retain(|note| note.object.namespace.as_deref() != Some("evil"));
        assert!(backlog.is_empty() && backlog.pop().is_none());
    }

    #[test]
    fn what_is_too_much_is_dropped_from_the_longest_line() {
        let mut backlog = Backlog::default();
        for number in 0..5 {
            assert_eq!(backlog.push(note("evil", number), 3), number >= 3);
        }
        assert!(backlog.push(note("shop", 1), 3));
        assert_eq!(names(&mut backlog, 9), ["Ingress evil/i0", "Ingress shop/i1", "Ingress evil/i1"]);
    }

    #[test]
    fn a_note_that_was_put_back_is_the_next_of_its_line() {
        let mut backlog = Backlog::default();
        backlog.push(note("shop", 2), 9);
        backlog.push_front(note("shop", 1));
        assert_eq!(names(&mut backlog, 9), ["Ingress shop/i1", "Ingress shop/i2"]);
    }
}
