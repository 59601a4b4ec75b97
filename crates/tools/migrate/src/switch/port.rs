//! Traits through which a switch reaches objects and controllers.

use serde_json::Value;

use super::decide::{Conflict, Found, Step, Way, decide};
use super::record::{Entry, Record};

/// Attempts at one object, when others change it at the same time.
const ATTEMPTS: u32 = 4;

/// Something could not be done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Trouble {
    /// The operation and the reason.
    pub message: String,
    /// The object is not what the patch tested for, or is gone: look again.
    pub stale: bool,
}

/// The objects and the record.
pub trait ObjectClient {
    /// The object of an entry as it is now.
    fn find(&mut self, entry: &Entry) -> impl Future<Output = Result<Option<Found>, Trouble>>;
    /// Applies a JSON patch to the object of an entry.
    fn patch(&mut self, entry: &Entry, patch: &Value) -> impl Future<Output = Result<(), Trouble>>;
    /// Writes the record, so that it survives this process and this machine.
    fn save(&mut self, record: &Record) -> impl Future<Output = Result<(), Trouble>>;
}

/// Checks before and after each step. The text of an error is for people.
pub trait Checks {
    /// Before the entries move.
    fn before(&mut self, entries: &[Entry]) -> impl Future<Output = Result<(), String>>;
    /// After they moved.
    fn after(&mut self, entries: &[Entry]) -> impl Future<Output = Result<(), String>>;
}

/// An event of a switch, as it happens.
#[derive(Debug)]
pub enum SwitchEvent<'a> {
    /// A step begins: its number, how many there are, its entries.
    Step(usize, usize, &'a [Entry]),
    /// An object has its new value, or its old one again.
    Done(&'a Entry),
    /// An object is left alone.
    Left(&'a Entry, &'a Conflict),
    /// The checks of a step passed.
    Passed(usize),
}

/// Sets one object to one of its two values.
pub(crate) async fn move_entry<D: ObjectClient>(objects: &mut D, entry: &Entry, way: Way) -> Result<Option<Conflict>, Trouble> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        let found = objects.find(entry).await?;
        match decide(entry, found.as_ref(), way) {
            Step::There => return Ok(None),
            Step::Leave(conflict) => return Ok(Some(conflict)),
            Step::Patch(patch) => match objects.patch(entry, &patch).await {
                Ok(()) => return Ok(None),
                Err(trouble) if trouble.stale => last = Some(trouble),
                Err(trouble) => return Err(trouble),
            },
        }
    }
    Err(last.unwrap_or(Trouble { message: format!("{entry} can't be changed"), stale: false }))
}
