//! Goes back.

use super::decide::{Conflict, Way};
use super::port::{ObjectClient, SwitchEvent, Trouble, move_entry};
use super::record::{Entry, EntryState, Record, SwitchStatus};

/// Objects that are restored between two writes of the record.
const ROUND: usize = 50;

/// The result of a rollback.
#[derive(Debug, PartialEq, Eq)]
pub struct Undone {
    /// Objects that have their old value, now or already.
    pub restored: usize,
    /// Objects that another client changed; they are left alone.
    pub conflicts: Vec<(Entry, Conflict)>,
    /// The server refused something; what is left can be restored later.
    pub trouble: Option<Trouble>,
}

/// Gives every object that was moved, or may have been, its old value, the last one first. Doing it again does no harm.
pub async fn undo<D: ObjectClient>(objects: &mut D, record: &mut Record, force: bool, mut on_event: impl FnMut(SwitchEvent<'_>)) -> Undone {
    let mut undone = Undone { restored: 0, conflicts: Vec::new(), trouble: None };
    record.status = SwitchStatus::Running;
    let touched: Vec<usize> = (0..record.entries.len()).rev().filter(|at| record.entries[*at].state.is_touched()).collect();
    for round in touched.chunks(ROUND) {
        if let Err(trouble) = back(objects, record, round, force, &mut undone, &mut on_event).await {
            undone.trouble = Some(trouble);
            break;
        }
    }
    (record.status, record.reason) = match (&undone.trouble, undone.conflicts.len()) {
        (None, 0) => (SwitchStatus::RolledBack, None),
        (Some(trouble), _) => (SwitchStatus::Stopped, Some(trouble.message.clone())),
        (None, count) => {
            (SwitchStatus::Stopped, Some(format!("{count} of the objects to restore were changed meanwhile, not by this switch")))
        }
    };
    if let Err(trouble) = objects.save(record).await {
        undone.trouble.get_or_insert(trouble);
    }
    undone
}

async fn back<D: ObjectClient>(
    objects: &mut D,
    record: &mut Record,
    places: &[usize],
    force: bool,
    undone: &mut Undone,
    on_event: &mut impl FnMut(SwitchEvent<'_>),
) -> Result<(), Trouble> {
    for &at in places {
        match move_entry(objects, &record.entries[at], Way::Back { force }).await? {
            None => {
                record.entries[at].state = EntryState::Restored;
                undone.restored += 1;
                on_event(SwitchEvent::Done(&record.entries[at]));
            }
            // There is nothing to restore, and no object to look at.
            Some(Conflict::Gone | Conflict::Replaced) if force => record.entries[at].state = EntryState::Left,
            Some(conflict) => {
                on_event(SwitchEvent::Left(&record.entries[at], &conflict));
                undone.conflicts.push((record.entries[at].clone(), conflict));
            }
        }
    }
    objects.save(record).await
}
