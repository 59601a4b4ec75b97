//! `narthex explain`: what the tables say, and what serves a request.

mod key;
pub(crate) mod request;

use std::fmt::Write;
use std::process::ExitCode;

use serde_json::json;
use settings::{Description, GROUPS, describe, descriptions};

use crate::args::{ExplainArgs, ExplainNameArgs, LogArgs, Subject};
use crate::output;
use key::Key;

/// The default prefix of annotations.
const PREFIX: &str = "nginx.ingress.kubernetes.io";

/// Explains what goes by a name or what serves a request, or lists all names.
pub(crate) fn explain(args: &ExplainArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    match &args.subject {
        Some(Subject::Request(args)) => request::explain(args, log),
        _ => names(args),
    }
}

fn names(args: &ExplainArgs) -> anyhow::Result<ExitCode> {
    match &args.subject {
        Some(Subject::Annotation(ExplainNameArgs { name: None, json })) => {
            output::text(if *json { pretty(&descriptions())? } else { list() })?;
        }
        Some(Subject::Key(ExplainNameArgs { name: None, json })) => {
            output::text(if *json { pretty(&key::all())? } else { key::list() })?;
        }
        Some(Subject::Annotation(ExplainNameArgs { name: Some(name), json })) => match describe(bare(name)) {
            Ok(found) => output::text(if *json { pretty(&found)? } else { text(&found) })?,
            Err(complaint) => return Ok(unknown(name, &[complaint])),
        },
        Some(Subject::Key(ExplainNameArgs { name: Some(name), json })) => match Key::find(name) {
            Ok(found) => output::text(if *json { pretty(&found)? } else { found.text() })?,
            Err(complaint) => return Ok(unknown(name, &[complaint])),
        },
        None | Some(Subject::Request(_)) => return any(&args.any),
    }
    Ok(ExitCode::SUCCESS)
}

/// Explains the annotation of a name, the key of the ConfigMap, or both.
fn any(args: &ExplainNameArgs) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.name else {
        let both = || json!({ "annotations": descriptions(), "keys": key::all() });
        output::text(if args.json { pretty(&both())? } else { format!("{}\n{}", list(), key::list()) })?;
        return Ok(ExitCode::SUCCESS);
    };
    let (annotation, key) = match (describe(bare(name)), Key::find(name)) {
        (Err(annotation), Err(key)) => return Ok(unknown(name, &[annotation, key])),
        (annotation, key) => (annotation.ok(), key.ok()),
    };
    if args.json {
        output::text(pretty(&json!({ "annotation": annotation, "key": key }))?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let texts = [annotation.as_ref().map(text), key.as_ref().map(Key::text)];
    output::text(texts.into_iter().flatten().collect::<Vec<_>>().join("\n"))?;
    Ok(ExitCode::SUCCESS)
}

/// A name without its prefix.
fn bare(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn unknown(name: &str, complaints: &[String]) -> ExitCode {
    for complaint in complaints {
        output::remark(format_args!("narthex: {name:?}: {complaint}"));
    }
    output::remark("narthex: `narthex explain` lists all");
    ExitCode::from(crate::USAGE)
}

fn pretty<T: serde::Serialize>(value: &T) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn list() -> String {
    let mut text = String::new();
    for group in GROUPS {
        let _ = writeln!(text, "{}:", group.title);
        for entry in settings::descriptions_of(group) {
            let _ = writeln!(text, "  {:<42}{}", entry.name, entry.applies);
        }
    }
    text
}

fn text(entry: &Description) -> String {
    let mut text = format!("{}\n\n{}\n", entry.name, wrapped(entry.doc));
    text.push('\n');
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<12}{value}");
    };
    row("Value", &plain(entry.value));
    match (entry.config_key, &entry.default) {
        (Some(key), Some(default)) => row("Default", &format!("the ConfigMap's {key}, which is {default} by default")),
        (Some(key), None) => row("Default", &format!("the ConfigMap's {key}, which is empty by default")),
        (None, _) => row("Default", "not set"),
    }
    if let Some(needs) = entry.needs {
        row("Needs", needs);
    }
    row("Scope", &format!("the {}", entry.scope));
    row("A change is", &entry.applies);
    row("Risk", &entry.risk);
    row("Else", &entry.on_invalid);
    if let Some(protects) = &entry.protects {
        row("Protects", protects);
    }
    if entry.empty_is_a_value {
        row("Empty", "is not the same as not set");
    }
    for alias in entry.aliases {
        row("Older name", alias);
    }
    row("Group", entry.group);
    text.push_str("\nExample:\n  metadata:\n    annotations:\n");
    for (name, value) in &entry.example {
        let _ = writeln!(text, "      {PREFIX}/{name}: {value:?}");
    }
    text
}

/// Without the marks of Markdown.
fn plain(text: &str) -> String {
    text.replace('`', "")
}

/// Lines of at most 100 characters.
fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in plain(text).split_whitespace() {
        if lines.last().is_some_and(|line| !line.is_empty() && line.chars().count() + 1 + word.chars().count() > 100) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            line.push_str(if line.is_empty() { "" } else { " " });
            line.push_str(word);
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_is_explained_from_the_table() {
        let entry = settings::describe("x-forwarded-prefix").unwrap();
        let text = text(&entry);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "x-forwarded-prefix");
        for expected in [
            "Default     not set",
            "Needs       rewrite-target",
            "Scope       the location",
            "Risk        Medium",
            "Else        Ingress refused",
            "      nginx.ingress.kubernetes.io/rewrite-target: \"/$2\"",
            "      nginx.ingress.kubernetes.io/x-forwarded-prefix: \"/shop\"",
        ] {
            assert!(lines.contains(&expected), "{expected}\n{text}");
        }
        assert!(lines.iter().all(|line| line.chars().count() <= 140 && !line.contains('`')));
    }

    #[test]
    fn the_list_names_every_annotation() {
        let list = list();
        for entry in settings::descriptions() {
            assert!(list.lines().any(|line| line.split_whitespace().next() == Some(entry.name)), "{}", entry.name);
        }
    }

    #[test]
    fn a_name_may_have_its_prefix_and_an_unknown_one_is_wrong_usage() {
        let run = |name: &str| {
            let args = ExplainNameArgs { name: Some(name.to_owned()), json: false };
            names(&ExplainArgs { subject: Some(Subject::Annotation(args)), any: ExplainNameArgs { name: None, json: false } }).unwrap()
        };
        assert_eq!(run("nginx.ingress.kubernetes.io/ssl-redirect"), ExitCode::SUCCESS);
        assert_eq!(run("rewrite-targt"), ExitCode::from(crate::USAGE));
    }
}
