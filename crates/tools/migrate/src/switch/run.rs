//! Goes forth, step by step.

use std::time::Duration;

use super::decide::{Conflict, Way};
use super::port::{Checks, ObjectClient, SwitchEvent, Trouble, move_entry};
use super::record::{EntryState, Record, SwitchStatus};

/// The end of a run.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// Every step is done. Objects that were left alone are in the record as such.
    Done,
    /// A check failed. `moved`: the step's objects have moved already.
    Regression {
        /// The step.
        step: usize,
        /// `true` if the step's objects have moved.
        moved: bool,
        /// The message of the check.
        reason: String,
    },
    /// The server refused something.
    Failed(Trouble),
}

/// Moves everything of a record that has not moved. The record is up to date and saved when this returns, unless saving is what failed.
pub async fn run<D: ObjectClient, C: Checks>(
    objects: &mut D,
    checks: &mut C,
    record: &mut Record,
    pause: Duration,
    mut on_event: impl FnMut(SwitchEvent<'_>),
) -> End {
    record.status = SwitchStatus::Running;
    record.reason = None;
    let end = match steps(objects, checks, record, pause, &mut on_event).await {
        Ok(end) => end,
        Err(trouble) => End::Failed(trouble),
    };
    (record.status, record.reason) = match &end {
        End::Done => (SwitchStatus::Done, None),
        End::Regression { reason, .. } => (SwitchStatus::Stopped, Some(reason.clone())),
        End::Failed(trouble) => (SwitchStatus::Stopped, Some(trouble.message.clone())),
    };
    match (objects.save(record).await, end) {
        (Err(trouble), End::Done) => End::Failed(trouble),
        (_, end) => end,
    }
}

async fn steps<D: ObjectClient, C: Checks>(
    objects: &mut D,
    checks: &mut C,
    record: &mut Record,
    pause: Duration,
    on_event: &mut impl FnMut(SwitchEvent<'_>),
) -> Result<End, Trouble> {
    let (mut first, steps) = (true, record.steps());
    for step in 1..=steps {
        let open = |state: EntryState| matches!(state, EntryState::Planned | EntryState::Moving | EntryState::Moved);
        let places: Vec<usize> =
            (0..record.entries.len()).filter(|at| record.entries[*at].step == step && open(record.entries[*at].state)).collect();
        if places.is_empty() {
            continue;
        }
        if !first {
            tokio::time::sleep(pause).await;
        }
        first = false;
        let entries = |record: &Record| places.iter().map(|at| record.entries[*at].clone()).collect::<Vec<_>>();
        on_event(SwitchEvent::Step(step, steps, &entries(record)));
        if let Err(reason) = checks.before(&entries(record)).await {
            let moved = entries(record).iter().all(|entry| entry.state == EntryState::Moved);
            return Ok(End::Regression { step, moved, reason });
        }
        for &at in &places {
            record.entries[at].state = EntryState::Moving;
        }
        objects.save(record).await?;
        for &at in &places {
            let conflict = move_entry(objects, &record.entries[at], Way::Forth).await?;
            record.entries[at].state = settled(conflict.as_ref());
            match &conflict {
                None => on_event(SwitchEvent::Done(&record.entries[at])),
                Some(conflict) => on_event(SwitchEvent::Left(&record.entries[at], conflict)),
            }
        }
        objects.save(record).await?;
        let moved: Vec<_> = entries(record).into_iter().filter(|entry| entry.state == EntryState::Moved).collect();
        if let Err(reason) = checks.after(&moved).await {
            return Ok(End::Regression { step, moved: true, reason });
        }
        for &at in &places {
            if record.entries[at].state == EntryState::Moved {
                record.entries[at].state = EntryState::Checked;
            }
        }
        objects.save(record).await?;
        on_event(SwitchEvent::Passed(step));
    }
    Ok(End::Done)
}

fn settled(conflict: Option<&Conflict>) -> EntryState {
    if conflict.is_none() { EntryState::Moved } else { EntryState::Left }
}

#[cfg(test)]
mod tests;
