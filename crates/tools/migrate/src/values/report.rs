//! A review for people and for programs.

use std::fmt::Write;

use serde_json::{Value, json};

use super::{Consequence, Path, Refused, Review, yaml};

/// The longest value in a message, in characters.
const SHOWN: usize = 60;

/// A path as Helm writes it; keys with dots in quotes.
pub(super) fn name(path: &[String]) -> String {
    let key = |key: &String| if key.contains('.') { format!("{key:?}") } else { key.clone() };
    path.iter().map(key).collect::<Vec<_>>().join(".").replace(".[", "[")
}

/// A value and its type, cut to a readable length: `"two" (a text)`.
pub fn shown(value: &Value) -> String {
    let kind = match value {
        Value::Null => return "null".to_owned(),
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "a map",
    };
    let text = value.to_string();
    let cut: String = text.chars().take(SHOWN).collect();
    if cut.len() < text.len() { format!("{cut}... ({kind})") } else { format!("{cut} ({kind})") }
}

impl Review {
    /// For people. `line`: the line of a value in the file.
    pub fn text(&self, file: &str, line: impl Fn(&Path) -> Option<u32>) -> String {
        let mut text = format!("{file}: {} values, of which {} are the default here\n", self.count, self.usual);
        let mut section = |title: &str, lines: Vec<String>| {
            if !lines.is_empty() {
                let _ = write!(text, "\n{title}\n{}", lines.into_iter().map(|line| format!("  {line}\n")).collect::<String>());
            }
        };
        let place = |path: &Path| format!("{}{}", name(path), line(path).map(|line| format!(" (line {line})")).unwrap_or_default());
        let of = |consequence| move |one: &&Refused| one.consequence == consequence;
        let wrong = |one: &Refused| format!("{}: {}; {}", place(&one.path), shown(&one.value), one.expected);
        section("Helm refuses the file:", self.refused.iter().filter(of(Consequence::Refused)).map(wrong).collect());
        section(
            "Without effect, or refused later by the API server or the controller:",
            self.refused.iter().filter(of(Consequence::Ineffective)).map(wrong).collect(),
        );
        let idle = self.idle.iter().map(|one| format!("{}: {}; {}", place(&one.path), shown(&one.value), one.reason));
        section("Without a meaning here:", idle.collect());
        let differing =
            self.differing.iter().map(|one| format!("{} is {}, there it was {}: {}", name(&one.path), one.here, one.there, one.reason));
        section("Defaults that are others than in ingress-nginx's chart, and not set in this file:", differing.collect());
        if self.is_good() {
            let _ = write!(text, "\nThe file with the same meaning for this chart:\n---\n{}", yaml(&self.values));
        }
        text
    }

    /// For programs.
    pub fn json(&self, line: impl Fn(&Path) -> Option<u32>) -> Value {
        let refused = self.refused.iter().map(|one| {
            let kind = if one.consequence == Consequence::Refused { "refused" } else { "ineffective" };
            json!({"path": name(&one.path), "line": line(&one.path), "value": one.value, "expected": one.expected, "kind": kind})
        });
        let idle =
            self.idle.iter().map(|one| json!({"path": name(&one.path), "line": line(&one.path), "value": one.value, "reason": one.reason}));
        let differing =
            self.differing.iter().map(|one| json!({"path": name(&one.path), "here": one.here, "there": one.there, "reason": one.reason}));
        json!({
            "count": self.count, "usual": self.usual, "values": self.values,
            "errors": refused.collect::<Vec<_>>(), "idle": idle.collect::<Vec<_>>(), "defaults": differing.collect::<Vec<_>>(),
        })
    }
}
