//! `narthex switch`.

mod meant;
mod object_client;
mod prepare;
mod print;

use std::io::{self, BufRead, IsTerminal};
use std::process::ExitCode;

use anyhow::bail;
use cluster::Editor;
use migrate::switch::decide::plain;
use migrate::switch::record::{EntryState, Record};
use migrate::switch::run::{End, run};
use migrate::switch::undo::undo;

use crate::args::{Format, SwitchArgs};
use crate::output;
use object_client::KubeObjectClient;
use prepare::Prepared;
use print::Printer;

/// Moves, or brings back; the exit code says whether everything is where it shall be.
pub(crate) fn switch(args: &SwitchArgs) -> anyhow::Result<ExitCode> {
    super::run::runtime()?.block_on(async {
        let editor = Editor::new(cluster::connect(&args.api.connect_options()).await?);
        match &args.rollback {
            Some(id) => back(args, editor, id).await,
            None => forth(args, editor).await,
        }
    })
}

async fn forth(args: &SwitchArgs, editor: Editor) -> anyhow::Result<ExitCode> {
    let mut objects = KubeObjectClient::new(editor.clone(), &args.record_namespace, args.record.clone());
    let Prepared { mut record, resumed, notes, checks } = prepare::prepare(args, &editor, &mut objects).await?;
    let printer = Printer::new(args.output);
    printer.notes(&notes);
    let open: Vec<_> = record.in_state(&[EntryState::Planned, EntryState::Moving, EntryState::Moved]).cloned().collect();
    if open.is_empty() && !(resumed && record.is_open()) {
        printer.nothing(&record, &notes)?;
        return Ok(ExitCode::SUCCESS);
    }
    record.json()?;
    if args.dry_run {
        printer.plan(&record, resumed, &notes)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut checks = checks;
    if checks.probe_check.is_none() && checks.command.is_none() {
        printer.say("nothing is checked: give --old and --new, or --check-command, to stop at the first regression");
    }
    let steps: std::collections::BTreeSet<usize> = open.iter().map(|entry| entry.step).collect();
    let verb = if resumed { "Continue with" } else { "Move" };
    let first = open.first().map(|entry| format!("{} -> {}", plain(&entry.old), plain(&entry.new))).unwrap_or_default();
    let question = format!("{verb} {} in {} ({first})?", print::objects(open.len(), open.first()), print::many(steps.len(), "step"));
    if let Some(code) = unless_agreed(args, &question)? {
        return Ok(code);
    }
    printer.say(&format!("the record is {}; to go back: {}", objects.place(&record.id), print::undo_command(args, &record.id)));
    let end = run(&mut objects, &mut checks, &mut record, args.pause, |event| printer.event(&event, true)).await;
    printer.end(&record, &end, &print::undo_command(args, &record.id), &notes)?;
    let left = record.in_state(&[EntryState::Left]).count();
    Ok(if end == End::Done && left == 0 { ExitCode::SUCCESS } else { ExitCode::from(crate::FAILED) })
}

async fn back(args: &SwitchArgs, editor: Editor, id: &str) -> anyhow::Result<ExitCode> {
    let mut objects = KubeObjectClient::new(editor, &args.record_namespace, args.record.clone());
    let Some(mut record) = objects.load(id).await? else {
        let which = if id.is_empty() { "no switch".to_owned() } else { format!("no switch {id:?}") };
        bail!("{which} is recorded in the namespace {}: --record-namespace or --record FILE say where else", args.record_namespace);
    };
    let printer = Printer::new(args.output);
    let touched: Vec<_> = record.entries.iter().filter(|entry| entry.state.is_touched()).cloned().collect();
    if args.dry_run {
        printer.rollback(&record, &touched)?;
        return Ok(ExitCode::SUCCESS);
    }
    let question = format!("Bring back {} of the switch {}?", print::objects(touched.len(), touched.first()), record.id);
    if !touched.is_empty()
        && let Some(code) = unless_agreed(args, &question)?
    {
        return Ok(code);
    }
    let undone = undo(&mut objects, &mut record, args.force, |event| printer.event(&event, false)).await;
    printer.undone(&record, &undone)?;
    let good = undone.trouble.is_none() && undone.conflicts.is_empty();
    Ok(if good { ExitCode::SUCCESS } else { ExitCode::from(crate::FAILED) })
}

/// Asks, unless `--yes` says not to. `None`: go on.
fn unless_agreed(args: &SwitchArgs, question: &str) -> anyhow::Result<Option<ExitCode>> {
    if args.yes {
        return Ok(None);
    }
    if !io::stdin().is_terminal() || args.output == Format::Json {
        output::remark(format_args!(
            "narthex: {question} There is no terminal to answer on: give --yes to do it, --dry-run to see the plan"
        ));
        return Ok(Some(ExitCode::from(crate::USAGE)));
    }
    output::aside(format_args!("{question} [y/N] "));
    let mut answer = String::new();
    io::stdin().lock().read_line(&mut answer)?;
    let agreed = matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes");
    Ok((!agreed).then(|| ExitCode::from(crate::FAILED)))
}

/// A name for a new record: the time.
fn new_record(goal: migrate::switch::record::Goal) -> Record {
    let now = jiff::Timestamp::now();
    let id = now.to_zoned(jiff::tz::TimeZone::UTC).strftime("%Y%m%d-%H%M%S-%3f").to_string();
    Record {
        version: 1,
        id,
        created: now.to_string(),
        goal,
        status: migrate::switch::record::SwitchStatus::Running,
        reason: None,
        entries: Vec::new(),
    }
}
