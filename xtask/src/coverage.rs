//! Whether every annotation has documentation and a test that is named after it.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use settings::{ANNOTATIONS, Entry};

/// Names whose effect does not exist yet, one a line.
const PENDING: &str = "crates/core/settings/src/known/pending.txt";
const PAGE: &str = "docs/reference/annotations.md";
/// Where tests are.
const SOURCES: [&str; 2] = ["crates", "tests"];

/// What is missing.
pub(crate) fn check(root: &Path) -> Result<Vec<String>> {
    let read = |path: &str| std::fs::read_to_string(root.join(path)).with_context(|| format!("read {path}"));
    let (pending, page) = (read(PENDING)?, read(PAGE)?);
    let names = |entry: &&'static Entry| [entry.name].into_iter().chain(entry.aliases.iter().copied());
    let known: Vec<&str> = ANNOTATIONS.iter().flat_map(names).collect();
    let pending: BTreeSet<&str> = pending.lines().collect();
    let mut tested = BTreeSet::new();
    for directory in SOURCES {
        for file in crate::tidy::rust_files(&root.join(directory))? {
            let source = std::fs::read_to_string(&file).with_context(|| format!("read {}", file.display()))?;
            tested.extend(test_names(&source).into_iter().flat_map(|name| keys_in(name, &known)));
        }
    }
    let mut complaints = Vec::new();
    let bare = ANNOTATIONS.iter().filter(|entry| entry.doc.is_empty() || entry.example.is_empty());
    complaints.extend(bare.map(|entry| format!("annotation {}: its entry has no documentation or no example", entry.name)));
    for name in known {
        if !page.contains(&format!("`{name}`")) {
            complaints.push(format!("annotation {name}: {PAGE} does not mention it"));
        }
        if !pending.contains(name) && !tested.contains(name) {
            complaints.push(format!("annotation {name}: no test has {} in its name", name.replace('-', "_")));
        }
    }
    Ok(complaints)
}

/// Names of the functions below a `#[test]` or `#[tokio::test]`.
fn test_names(source: &str) -> Vec<&str> {
    let mut lines = source.lines().map(str::trim);
    let mut names = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
            let function = lines.find(|line| line.contains("fn ")).and_then(|line| line.split("fn ").nth(1));
            names.extend(function.and_then(|rest| rest.split(['(', '<']).next()));
        }
    }
    names
}

/// Annotations that a test is about: their words stand in its name, and not as a part of a longer annotation's.
fn keys_in<'a>(name: &str, known: &[&'a str]) -> Vec<&'a str> {
    let words: Vec<&str> = name.split('_').collect();
    let mut found: Vec<(usize, usize, &str)> = Vec::new();
    for key in known {
        let parts: Vec<&str> = key.split('-').collect();
        let starts = words.windows(parts.len()).enumerate().filter(|(_, window)| *window == parts);
        found.extend(starts.map(|(at, _)| (at, at + parts.len(), *key)));
    }
    let inside = |one: &(usize, usize, &str), other: &(usize, usize, &str)| {
        other.0 <= one.0 && one.1 <= other.1 && other.1 - other.0 > one.1 - one.0
    };
    found.iter().filter(|one| !found.iter().any(|other| inside(one, other))).map(|(_, _, key)| *key).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_found_by_the_longest_annotation_in_its_name() {
        let known = ["affinity", "affinity-mode", "satisfy"];
        assert_eq!(keys_in("aff_01_affinity_mode_persistent_moves_nobody", &known), ["affinity-mode"]);
        assert_eq!(keys_in("affinity_and_affinity_mode", &known), ["affinity", "affinity-mode"]);
        assert!(keys_in("satisfying", &known).is_empty());
    }

    #[test]
    fn only_tests_count() {
        let source = "fn affinity() {}\n#[test]\nfn a() {}\n    #[tokio::test(flavor = \"multi_thread\")]\n    async fn b() -> X {}\n";
        assert_eq!(test_names(source), ["a", "b"]);
    }
}
