//! `narthex explain`: what the tables say.

use std::fmt::Write;
use std::process::ExitCode;

use annotations::{Description, GROUPS};

use crate::args::ExplainAnnotationArgs;

/// What the names of annotations begin with by default.
const PREFIX: &str = "nginx.ingress.kubernetes.io";

/// Explains one annotation, or lists all.
pub(crate) fn annotation(args: &ExplainAnnotationArgs) -> anyhow::Result<ExitCode> {
    let Some(name) = &args.name else {
        print!("{}", if args.json { json(&annotations::descriptions())? } else { list() });
        return Ok(ExitCode::SUCCESS);
    };
    match annotations::describe(name.rsplit('/').next().unwrap_or(name)) {
        Ok(found) => {
            print!("{}", if args.json { json(&found)? } else { text(&found) });
            Ok(ExitCode::SUCCESS)
        }
        Err(complaint) => {
            eprintln!("narthex: {name:?}: {complaint}; `narthex explain annotation` lists all");
            Ok(ExitCode::from(crate::USAGE))
        }
    }
}

fn json<T: serde::Serialize>(value: &T) -> anyhow::Result<String> {
    Ok(serde_json::to_string_pretty(value)? + "\n")
}

fn list() -> String {
    let mut text = String::new();
    for group in GROUPS {
        let _ = writeln!(text, "{}:", group.title);
        for entry in annotations::descriptions_of(group) {
            let mark = if entry.supported { "" } else { " (not yet)" };
            let _ = writeln!(text, "  {:<42}{}{mark}", entry.name, entry.applies);
        }
    }
    text
}

fn text(entry: &Description) -> String {
    let mut text = format!("{}\n\n{}\n", entry.name, wrapped(entry.doc));
    if !entry.supported {
        text.push_str("It has no effect yet: it is read, checked and reported.\n");
    }
    text.push('\n');
    let mut row = |name: &str, value: &str| {
        let _ = writeln!(text, "{name:<12}{value}");
    };
    row("Takes", &plain(entry.value));
    match (entry.config_key, &entry.default) {
        (Some(key), Some(default)) => row("Default", &format!("the ConfigMap's {key}, which is {default} by default")),
        (Some(key), None) => row("Default", &format!("the ConfigMap's {key}, which is empty by default")),
        (None, _) => row("Default", "not set"),
    }
    if let Some(needs) = entry.needs {
        row("Needs", needs);
    }
    row("Holds for", &format!("the {}", entry.scope));
    row("A change is", &entry.applies);
    row("Risk", &entry.risk);
    row("Else", &entry.on_invalid);
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
        let entry = Description { supported: true, ..annotations::describe("x-forwarded-prefix").unwrap() };
        let text = text(&entry);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "x-forwarded-prefix");
        for expected in [
            "Default     not set",
            "Needs       rewrite-target",
            "Holds for   the location",
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
        for entry in annotations::descriptions() {
            assert!(list.lines().any(|line| line.split_whitespace().next() == Some(entry.name)), "{}", entry.name);
        }
    }

    #[test]
    fn a_name_may_have_its_prefix_and_an_unknown_one_is_wrong_usage() {
        let run = |name: &str| annotation(&ExplainAnnotationArgs { name: Some(name.to_owned()), json: false }).unwrap();
        assert_eq!(run("nginx.ingress.kubernetes.io/ssl-redirect"), ExitCode::SUCCESS);
        assert_eq!(run("rewrite-targt"), ExitCode::from(crate::USAGE));
    }
}
