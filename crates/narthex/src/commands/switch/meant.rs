//! A check that what the flags name is there at all: a name with a letter too many must not look like work that is done.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::bail;
use cluster::Editor;
use migrate::site::class_of;
use model::{Ingress, ObjectKey};

use crate::args::SwitchArgs;

/// Refuses a `--from` or a selection that holds nothing to move and nothing that has moved. `classes`: the IngressClasses, if they may be listed.
pub(super) fn ingresses(
    args: &SwitchArgs,
    to: &str,
    selected: &[(ObjectKey, Ingress)],
    everything: &[(ObjectKey, Ingress)],
    classes: &[String],
) -> anyhow::Result<()> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for class in everything.iter().filter_map(|(_, ingress)| class_of(ingress)) {
        *counts.entry(class).or_default() += 1;
    }
    if let Some(from) = args.from.as_deref().filter(|from| !counts.contains_key(from) && !classes.iter().any(|class| class == from)) {
        let known: BTreeSet<&str> = counts.keys().copied().chain(classes.iter().map(String::as_str)).filter(|class| *class != to).collect();
        let near = settings::did_you_mean(from, known.iter().copied());
        let many = |class: &&str| match counts.get(class) {
            Some(1) => format!("{class} (1 Ingress)"),
            count => format!("{class} ({} Ingresses)", count.unwrap_or(&0)),
        };
        let list = known.iter().map(many).collect::<Vec<_>>().join(", ");
        let there = if list.is_empty() { "there is no other class".to_owned() } else { format!("there are {list}") };
        bail!("--from {from:?}: no Ingress and no IngressClass has this class{near}; {there}");
    }
    if selected.iter().any(|(_, ingress)| class_of(ingress) == Some(to)) {
        return Ok(());
    }
    let mut what = args.from.as_ref().map_or_else(|| "no Ingress".to_owned(), |from| format!("no Ingress of the class {from}"));
    if let Some(namespace) = &args.namespace {
        what.push_str(&format!(" in the namespace {namespace}"));
    }
    if !args.selector.is_empty() {
        what.push_str(&format!(" with the labels {}", args.selector));
    }
    bail!("nothing is meant: there is {what}, and none that is in {to} already")
}

/// Refuses a selector behind which no Pod is ready: the Service would lead nowhere. A note when that can't be seen.
pub(super) async fn pods(editor: &Editor, service: &ObjectKey, to: &BTreeMap<String, String>) -> anyhow::Result<Option<String>> {
    let selector = to.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(",");
    let found = match editor.pods(&service.namespace, to).await {
        Ok(found) => found,
        Err(error) if error.code() == Some(403) => {
            return Ok(Some(format!(
                "it can't be checked whether a Pod has the labels {selector}: listing Pods of {} is forbidden",
                service.namespace
            )));
        }
        Err(error) => return Err(error.into()),
    };
    if found.is_empty() {
        bail!(
            "--to-selector {selector}: no Pod in the namespace {} has these labels, so that Service {service} would lead nowhere",
            service.namespace
        );
    }
    if found.iter().all(|(_, ready)| !ready) {
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).take(5).collect();
        bail!(
            "--to-selector {selector}: none of the Pods with these labels is ready ({}), so that Service {service} would lead nowhere",
            names.join(", ")
        );
    }
    Ok(None)
}
