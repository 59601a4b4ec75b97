//! Output: progress as it goes on the standard error output, plans and results on the standard one.

use migrate::switch::decide::plain;
use migrate::switch::port::SwitchEvent;
use migrate::switch::record::{Entry, EntryState, Record};
use migrate::switch::run::End;
use migrate::switch::undo::Undone;
use serde_json::{Value, json};

use crate::args::{Format, SwitchArgs};
use crate::output;

/// `1 Ingress`, `2 Ingresses`, `1 Service`.
pub(super) fn objects(count: usize, first: Option<&Entry>) -> String {
    let kind = first.map_or("object", |entry| entry.kind.label());
    let plural = if count == 1 {
        ""
    } else if kind == "Ingress" {
        "es"
    } else {
        "s"
    };
    format!("{count} {kind}{plural}")
}

/// `1 step`, `2 steps`.
pub(super) fn many(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The command that undoes a switch.
pub(super) fn undo_command(args: &SwitchArgs, id: &str) -> String {
    let mut text = format!("narthex switch --rollback {id}");
    if args.record_namespace != "default" {
        text.push_str(&format!(" --record-namespace {}", args.record_namespace));
    }
    if let Some(file) = &args.record {
        text.push_str(&format!(" --record {}", file.display()));
    }
    text
}

/// Says it in one of two forms.
pub(super) struct Printer {
    format: Format,
}

impl Printer {
    pub(super) fn new(format: Format) -> Self {
        Self { format }
    }

    /// A line of progress.
    pub(super) fn say(&self, text: &str) {
        output::remark(text);
    }

    pub(super) fn notes(&self, notes: &[String]) {
        for note in notes {
            self.say(&format!("note: {note}"));
        }
    }

    pub(super) fn event(&self, event: &SwitchEvent<'_>, forth: bool) {
        match event {
            SwitchEvent::Step(step, steps, entries) => {
                let names: Vec<String> = entries.iter().map(|entry| entry.key().to_string()).collect();
                self.say(&format!("step {step} of {steps}: {}: {}", objects(entries.len(), entries.first()), names.join(", ")));
            }
            SwitchEvent::Done(entry) if forth => self.say(&format!("  {entry}: {} -> {}", plain(&entry.old), plain(&entry.new))),
            SwitchEvent::Done(entry) => self.say(&format!("  {entry}: back to {}", plain(&entry.old))),
            SwitchEvent::Left(entry, conflict) => self.say(&format!("  {entry} is left alone: {conflict}")),
            SwitchEvent::Passed(step) => self.say(&format!("  step {step} is done")),
        }
    }

    pub(super) fn nothing(&self, record: &Record, notes: &[String]) -> anyhow::Result<()> {
        self.result(
            "nothing to move: everything that is meant is there already\n",
            || json!({"end": "nothing", "goal": record.goal, "notes": notes}),
        )
    }

    pub(super) fn plan(&self, record: &Record, resumed: bool, notes: &[String]) -> anyhow::Result<()> {
        let mut text = String::new();
        let mut step = 0;
        for entry in record.in_state(&[EntryState::Planned, EntryState::Moving, EntryState::Moved]) {
            if entry.step != step {
                step = entry.step;
                text.push_str(&format!("step {step}\n"));
            }
            text.push_str(&format!("  {entry}: {} {} -> {}\n", entry.field.label(), plain(&entry.old), plain(&entry.new)));
        }
        if resumed {
            text.push_str(&format!("continues the switch {}\n", record.id));
        }
        self.result(&text, || json!({"end": "plan", "resumes": resumed.then_some(&record.id), "entries": record.entries, "notes": notes}))
    }

    pub(super) fn rollback(&self, record: &Record, touched: &[Entry]) -> anyhow::Result<()> {
        let lines = touched.iter().rev().map(|entry| format!("  {entry}: {} back to {}\n", entry.field.label(), plain(&entry.old)));
        let text = format!("switch {}\n{}", record.id, lines.collect::<String>());
        self.result(&text, || json!({"end": "plan", "id": record.id, "entries": touched}))
    }

    pub(super) fn end(&self, record: &Record, end: &End, undo: &str, notes: &[String]) -> anyhow::Result<()> {
        let moved: Vec<&Entry> = record.entries.iter().filter(|entry| entry.state.is_touched()).collect();
        let left = record.in_state(&[EntryState::Left]).count();
        let sum = format!("{} moved", objects(moved.len(), moved.first().copied()));
        let went = match left {
            0 => sum,
            count => format!("{sum}, {count} left alone because others changed them"),
        };
        let (name, text) = match end {
            End::Done => ("done", format!("{went}\n")),
            End::Regression { step, moved, reason } => {
                let when = if *moved { "after" } else { "before" };
                ("regression", format!("stopped {when} step {step}: {reason}\n{went}{}\n", open(record)))
            }
            End::Failed(trouble) => ("failed", format!("stopped: {trouble}\n{went}{}\n", open(record))),
        };
        let back = if moved.is_empty() { String::new() } else { format!("to go back: {undo}\n") };
        let on = if *end == End::Done { "" } else { "to go on: the same command again\n" };
        self.result(&format!("{text}{back}{on}"), || {
            json!({"end": name, "id": record.id, "status": record.status, "reason": record.reason, "entries": record.entries, "undo": undo, "notes": notes})
        })
    }

    pub(super) fn undone(&self, record: &Record, undone: &Undone) -> anyhow::Result<()> {
        let mut text = format!("{} brought back\n", objects(undone.restored, record.entries.first()));
        for (entry, conflict) in &undone.conflicts {
            text.push_str(&format!("conflict: {entry}, {}: {conflict}; --force brings back {}\n", entry.field.label(), plain(&entry.old)));
        }
        if let Some(trouble) = &undone.trouble {
            text.push_str(&format!("stopped: {trouble}\n"));
        }
        self.result(&text, || {
            let conflicts =
                undone.conflicts.iter().map(|(entry, conflict)| json!({"object": entry.to_string(), "reason": conflict.to_string()}));
            json!({
                "end": if undone.trouble.is_some() { "failed" } else if undone.conflicts.is_empty() { "done" } else { "conflict" },
                "id": record.id, "status": record.status, "restored": undone.restored,
                "conflicts": conflicts.collect::<Vec<_>>(),
                "reason": undone.trouble.as_ref().map(ToString::to_string),
            })
        })
    }

    fn result(&self, text: &str, value: impl FnOnce() -> Value) -> anyhow::Result<()> {
        let text = match self.format {
            Format::Text => text.to_owned(),
            Format::Json => serde_json::to_string_pretty(&value())? + "\n",
        };
        output::text(text)
    }
}

/// The steps that are still to come.
fn open(record: &Record) -> String {
    let open: Vec<_> = record.in_state(&[EntryState::Planned]).collect();
    if open.is_empty() { String::new() } else { format!(", {} not touched", objects(open.len(), open.first().copied())) }
}
