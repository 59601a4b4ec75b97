//! Whether every row has documentation, an example, and an effect.

use std::path::Path;

use anyhow::{Context, Result};
use settings::{ANNOTATIONS, CONFIG_KEYS};

use crate::effects;

/// The reference pages.
const ANNOTATION_PAGE: &str = "docs/reference/annotations.md";
const KEY_PAGE: &str = "docs/reference/configmap.md";

/// What is missing.
pub(crate) fn check(root: &Path) -> Result<Vec<String>> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).with_context(|| format!("read {path}"));
    let (annotations, keys) = (read(ANNOTATION_PAGE)?, read(KEY_PAGE)?);
    let mut complaints = Vec::new();
    let mut row = |kind: &str, names: &[&str], page: (&str, &str), is_complete: bool| {
        let name = names[0];
        complaints.extend((!is_complete).then(|| format!("{kind} {name}: its row has no documentation or no example")));
        let missing = names.iter().filter(|name| !page.1.contains(&format!("`{name}`")));
        complaints.extend(missing.map(|name| format!("{kind} {name}: {} does not mention it", page.0)));
    };
    for entry in ANNOTATIONS.iter() {
        let names: Vec<&str> = [entry.name].into_iter().chain(entry.aliases.iter().copied()).collect();
        row("annotation", &names, (ANNOTATION_PAGE, &annotations), !entry.doc.is_empty() && !entry.example.is_empty());
    }
    for entry in CONFIG_KEYS.iter() {
        row("key", &[entry.name], (KEY_PAGE, &keys), !entry.doc.is_empty() && !entry.example.is_empty());
    }
    complaints.extend(effects::check()?);
    Ok(complaints)
}
