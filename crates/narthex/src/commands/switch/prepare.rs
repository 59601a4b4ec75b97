//! The record of what moves and the checks, made from flags.

use std::time::Duration;

use anyhow::{Context, bail};
use cluster::Editor;
use migrate::compare::Comparison;
use migrate::known;
use migrate::probe::Style;
use migrate::site::{Scope, sites};
use migrate::switch::check::{All, ProbeCheck};
use migrate::switch::command::Command;
use migrate::switch::decide::plain;
use migrate::switch::plan::{self, Plan};
use migrate::switch::record::{Goal, Record};
use model::{Ingress, ObjectKey};
use serde_json::json;

use super::meant;
use super::object_client::KubeObjectClient;
use crate::args::{SwitchArgs, key};

/// No caller waits longer; clocks can't count much further.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 3600);

/// The prepared switch.
pub(super) struct Prepared {
    /// New, or of an earlier run with the same goal.
    pub(super) record: Record,
    /// `true` if it is an earlier run's.
    pub(super) resumed: bool,
    /// Notes that the operator should read before.
    pub(super) notes: Vec<String>,
    /// The checks before and after each step.
    pub(super) checks: All,
}

/// Reads the cluster and plans.
pub(super) async fn prepare(args: &SwitchArgs, editor: &Editor, objects: &mut KubeObjectClient) -> anyhow::Result<Prepared> {
    let Draft { goal, plan, everything, note, meant } = match &args.to {
        Some(to) => classes(args, editor, to).await?,
        None => service(args, editor).await?,
    };
    // What an earlier run has moved is no longer there to be found.
    if plan.entries.is_empty() && plan.stay.is_empty() && !objects.knows(&goal).await? {
        meant?;
    }
    let earlier = objects.open(&goal).await?;
    let resumed = earlier.is_some();
    let mut record = earlier.unwrap_or_else(|| super::new_record(goal));
    record.resume(plan.entries);
    let mut notes: Vec<String> = note.into_iter().collect();
    notes.extend(plan.stay.iter().map(|(key, reason)| format!("Ingress {key} stays: {reason}")));
    for (host, key) in &plan.torn {
        let host = if host.is_empty() { "the default host" } else { host };
        notes.push(format!("{host} is torn apart: Ingress {key} has it too and stays where it is"));
    }
    Ok(Prepared { record, resumed, notes, checks: checks(args, &everything)? })
}

/// The plan that the flags lead to.
struct Draft {
    goal: Goal,
    plan: Plan,
    /// All Ingresses that can be seen.
    everything: Vec<(ObjectKey, Ingress)>,
    note: Option<String>,
    /// An error if what the flags name is not there; counts when there is nothing to move.
    meant: anyhow::Result<()>,
}

async fn classes(args: &SwitchArgs, editor: &Editor, to: &str) -> anyhow::Result<Draft> {
    let selected = editor.ingresses(args.namespace.as_deref(), &args.selector).await?;
    // Others are looked at for hosts in common; a user who may not see them moves all the same.
    let everything = match editor.ingresses(None, "").await {
        Ok(everything) => everything,
        Err(error) if error.code() == Some(403) => selected.clone(),
        Err(error) => return Err(error.into()),
    };
    let plan = plan::ingresses(&selected, &everything, args.from.as_deref(), to, usize::try_from(args.batch)?);
    let by_field = plan.entries.iter().any(|entry| entry.field == migrate::switch::record::Field::ClassName);
    let classes = match editor.ingress_classes().await {
        Ok(classes) if by_field && !classes.iter().any(|class| class == to) => {
            bail!(
                "--to {to:?}: there is no IngressClass of this name, so that no controller would serve what moves{}; there are {}",
                settings::did_you_mean(to, classes.iter().map(String::as_str)),
                classes.join(", ")
            );
        }
        Ok(classes) => classes,
        Err(error) if error.code() == Some(403) => Vec::new(),
        Err(error) => return Err(error.into()),
    };
    let meant = meant::ingresses(args, to, &selected, &everything, &classes);
    let goal =
        Goal::Class { to: to.to_owned(), from: args.from.clone(), namespace: args.namespace.clone(), selector: args.selector.clone() };
    Ok(Draft { goal, plan, everything, note: None, meant })
}

async fn service(args: &SwitchArgs, editor: &Editor) -> anyhow::Result<Draft> {
    let (Some(key), Some(to)) = (key("--service", args.service.as_deref())?, &args.to_selector) else {
        bail!("--service and --to-selector belong together");
    };
    let service = editor.service(&key).await?.with_context(|| format!("--service {key}: there is no Service of this name"))?;
    let entry = plan::service(&key, &json!(service), to).map_err(anyhow::Error::msg).with_context(|| format!("Service {key}"))?;
    let goal = Goal::Service { namespace: key.namespace.to_string(), name: key.name.to_string(), to: plain(&json!(to)) };
    let everything = match args.old {
        Some(_) => editor.ingresses(None, "").await?,
        None => Vec::new(),
    };
    let note = if entry.is_some() { meant::pods(editor, &key, to).await? } else { None };
    let plan = Plan { entries: entry.into_iter().collect(), ..Plan::default() };
    Ok(Draft { goal, plan, everything, note, meant: Ok(()) })
}

fn checks(args: &SwitchArgs, ingresses: &[(ObjectKey, Ingress)]) -> anyhow::Result<All> {
    let settle = args.settle.min(LONGEST);
    let command = args.check_command.as_ref().map(|text| Command { text: text.clone(), settle });
    let probe_check = match (&args.old, &args.new) {
        (Some(old), Some(new)) => {
            let options = args.ask.options(old, new);
            let schemes = options.schemes();
            if schemes.is_empty() {
                bail!("--old {old} and --new {new} have no port for the same scheme: expected HOST:HTTP,HTTPS");
            }
            let scope = Scope { class: args.class.clone(), namespace: None, annotations_prefix: args.annotations_prefix.clone() };
            let context = known::Context::new(sites(ingresses.iter().map(|(key, ingress)| (key, ingress)), &scope));
            let style = Style { schemes, all_methods: args.ask.all_methods };
            Some(ProbeCheck::new(Comparison::new(options)?, context, style, settle))
        }
        _ => None,
    };
    Ok(All { probe_check, command })
}
