//! Values as YAML: maps in block style, everything else on the line of its key.

use std::fmt::Write;

use serde_json::Value;

/// Words that YAML takes for something else than text, in one version or another.
const WORDS: &[&str] = &["y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf"];

/// The text of a map, with a newline at its end; `{}` for an empty one.
pub fn yaml(value: &Value) -> String {
    match value.as_object() {
        Some(map) if !map.is_empty() => {
            let mut text = String::new();
            block(value, 0, &mut text);
            text
        }
        _ => "{}\n".to_owned(),
    }
}

fn block(value: &Value, indent: usize, text: &mut String) {
    for (key, value) in value.as_object().into_iter().flatten() {
        let _ = write!(text, "{:indent$}{}:", "", scalar(key));
        if value.as_object().is_some_and(|map| !map.is_empty()) {
            text.push('\n');
            block(value, indent + 2, text);
        } else {
            let _ = writeln!(text, " {}", flow(value));
        }
    }
}

/// Lists and maps as JSON, which is YAML.
fn flow(value: &Value) -> String {
    match value {
        Value::String(text) => scalar(text),
        other => other.to_string(),
    }
}

/// A text without quotes where that is one in every version of YAML.
fn scalar(text: &str) -> String {
    let begins = text.starts_with(|first: char| first.is_ascii_alphabetic() || first == '/');
    let holds = text.chars().all(|each| each.is_ascii_alphanumeric() || "-_./".contains(each));
    if begins && holds && !WORDS.contains(&text.to_ascii_lowercase().as_str()) { text.to_owned() } else { Value::from(text).to_string() }
}
