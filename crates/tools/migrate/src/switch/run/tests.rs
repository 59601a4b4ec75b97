use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::switch::decide::Found;
use crate::switch::record::Entry;
use crate::switch::record::tests::{entry, record};
use crate::switch::undo::undo;

/// Objects by name, and every record that was saved.
#[derive(Default)]
struct World {
    classes: BTreeMap<String, Option<Value>>,
    saved: Vec<Record>,
    /// Patches that are allowed; the next one is an error, as if the process died there.
    patches: Option<usize>,
    /// Another client changes this object between a look and a patch.
    rival: Option<String>,
}

impl World {
    fn of(names: &[&str]) -> Self {
        let classes = names.iter().map(|name| ((*name).to_owned(), Some(json!("nginx")))).collect();
        Self { classes, ..Self::default() }
    }

    fn classes(&self) -> Vec<&str> {
        self.classes.values().map(|value| value.as_ref().and_then(Value::as_str).unwrap_or("-")).collect()
    }
}

impl ObjectClient for World {
    async fn find(&mut self, entry: &Entry) -> Result<Option<Found>, Trouble> {
        let value = self.classes.get(&entry.name);
        Ok(value.map(|value| Found { uid: entry.uid.clone(), version: "1".into(), value: value.clone(), annotated: true }))
    }

    async fn patch(&mut self, entry: &Entry, patch: &Value) -> Result<(), Trouble> {
        if let Some(left) = &mut self.patches {
            *left = left.checked_sub(1).ok_or_else(|| Trouble { message: "the line is cut".into(), stale: false })?;
        }
        if self.rival.take_if(|name| *name == entry.name).is_some() {
            self.classes.insert(entry.name.clone(), Some(json!("third")));
        }
        let held = self.classes.get(&entry.name).cloned().flatten();
        let tests = patch.as_array().unwrap().iter().filter(|op| op["op"] == "test" && op["path"] == entry.field.pointer());
        if tests.into_iter().any(|op| Some(&op["value"]) != held.as_ref()) {
            return Err(Trouble { message: "a test does not hold".into(), stale: true });
        }
        self.classes.insert(entry.name.clone(), Some(patch[2]["value"].clone()));
        Ok(())
    }

    async fn save(&mut self, record: &Record) -> Result<(), Trouble> {
        self.saved.push(record.clone());
        Ok(())
    }
}

/// Fails after the step of this number.
struct FailAfter(usize);

impl Checks for FailAfter {
    async fn before(&mut self, _: &[Entry]) -> Result<(), String> {
        Ok(())
    }

    async fn after(&mut self, entries: &[Entry]) -> Result<(), String> {
        if entries.iter().any(|entry| entry.step == self.0) { Err("it is broken".into()) } else { Ok(()) }
    }
}

const NEVER: FailAfter = FailAfter(usize::MAX);

async fn go(world: &mut World, record: &mut Record, mut checks: FailAfter) -> End {
    run(world, &mut checks, record, Duration::ZERO, |_| {}).await
}

fn three() -> Record {
    record(vec![entry(1, "a"), entry(2, "b"), entry(3, "c")])
}

#[tokio::test]
async fn every_step_is_recorded_before_and_after_it() {
    let (mut world, mut record) = (World::of(&["a", "b", "c"]), three());
    assert_eq!(go(&mut world, &mut record, NEVER).await, End::Done);
    assert_eq!(world.classes(), ["narthex"; 3]);
    assert_eq!(world.saved[0].entries[0].state, EntryState::Moving);
    assert_eq!((record.status, world.saved.last()), (SwitchStatus::Done, Some(&record)));
}

#[tokio::test]
async fn it_stops_at_the_first_regression_and_goes_back_to_exactly_what_was() {
    let (mut world, mut record) = (World::of(&["a", "b", "c"]), three());
    let end = go(&mut world, &mut record, FailAfter(2)).await;
    assert_eq!(end, End::Regression { step: 2, moved: true, reason: "it is broken".into() });
    assert_eq!(world.classes(), ["narthex", "narthex", "nginx"]);
    let undone = undo(&mut world, &mut record, false, |_| {}).await;
    assert_eq!((undone.restored, undone.conflicts.len(), record.status), (2, 0, SwitchStatus::RolledBack));
    assert_eq!(world.classes(), ["nginx"; 3]);
}

#[tokio::test]
async fn an_interrupted_run_is_gone_on_with_from_any_record_that_was_saved() {
    for patches in 0..3 {
        let mut world = World { patches: Some(patches), ..World::of(&["a", "b", "c"]) };
        assert!(matches!(go(&mut world, &mut three(), NEVER).await, End::Failed(_)));
        world.patches = None;
        for saved in world.saved.clone() {
            let mut other = World { classes: world.classes.clone(), ..World::default() };
            let mut record = saved;
            assert_eq!(go(&mut other, &mut record, NEVER).await, End::Done);
            assert_eq!(other.classes(), ["narthex"; 3]);
            assert_eq!(undo(&mut other, &mut record, false, |_| {}).await.restored, 3);
            assert_eq!(other.classes(), ["nginx"; 3]);
        }
    }
}

#[tokio::test]
async fn what_another_client_changes_is_left_and_reported() {
    let mut world = World { rival: Some("b".into()), ..World::of(&["a", "b", "c"]) };
    let mut record = three();
    assert_eq!(go(&mut world, &mut record, NEVER).await, End::Done);
    assert_eq!(world.classes(), ["narthex", "third", "narthex"]);
    assert_eq!(record.entries[1].state, EntryState::Left);

    world.classes.insert("a".into(), Some(json!("fourth")));
    world.classes.remove("c");
    let undone = undo(&mut world, &mut record, false, |_| {}).await;
    let conflicts: Vec<_> = undone.conflicts.iter().map(|(entry, conflict)| format!("{}: {conflict}", entry.name)).collect();
    assert_eq!(conflicts, ["c: it was deleted meanwhile", "a: it was set to fourth meanwhile, not by this switch"]);
    assert_eq!((world.classes(), record.status), (vec!["fourth", "third"], SwitchStatus::Stopped));

    let undone = undo(&mut world, &mut record, true, |_| {}).await;
    assert_eq!((world.classes(), undone.conflicts.len(), record.status), (vec!["nginx", "third"], 0, SwitchStatus::RolledBack));
}
