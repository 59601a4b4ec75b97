//! The present Problems of objects, as the controller's log has them.

use std::collections::BTreeSet;

use serde_json::Value;

/// The kinds of the Problems of an object that are there at the end of a log.
pub(super) fn present(log: &str, object: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    // Most lines are about something else, and reading one as JSON takes time.
    for line in log.lines().filter(|line| line.contains(object)) {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        if line["object"] != object {
            continue;
        }
        let problem = (line["field"].to_string(), line["kind"].as_str().unwrap_or_default().to_owned());
        match line["message"].as_str() {
            Some("no longer a problem") => found.remove(&problem),
            _ => found.insert(problem),
        };
    }
    found.into_iter().map(|(_, kind)| kind).collect()
}

/// The controller's own last lines of a log, for people.
pub(super) fn end(log: &str) -> String {
    const LINES: usize = 30;
    const LENGTH: usize = 600;
    let lines: Vec<String> = log.lines().filter(|line| line.starts_with('{')).map(|line| line.chars().take(LENGTH).collect()).collect();
    format!("log of the controller:\n{}", lines[lines.len().saturating_sub(LINES)..].join("\n"))
}
