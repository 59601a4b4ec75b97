//! What the compiler does not check.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

/// Where the crates without I/O are.
const CORE: &str = "crates/core";
/// What they must not depend on, however indirectly.
const IMPURE: &[&str] = &["tokio", "hyper", "kube-client"];

/// The longest file, without its `mod tests`.
const MAX_LINES: usize = 450;
/// Files that may be longer, because they are one flat table.
const TABLES: &[&str] = &["crates/core/settings/src/config/keys.rs"];

/// Everything that is not tidy.
pub(crate) fn check(root: &Path) -> Result<Vec<String>> {
    let mut complaints = crate::docs::check(root)?;
    complaints.extend(crate::coverage::check(root)?);
    complaints.extend(crate::metrics::check(root)?);
    complaints.extend(crate::predecessor::check(root)?);
    complaints.extend(crate::wire::check(root)?);
    complaints.extend(crate::chart::check(root)?);
    complaints.extend(crate::links::check(root)?);
    for path in crates_below(&root.join(CORE))? {
        let name = &base_name(&path);
        let depended: BTreeSet<String> = dependencies(root, name)?;
        complaints.extend(IMPURE.iter().filter(|impure| depended.contains(**impure)).map(|impure| format!("{name}: depends on {impure}")));
    }
    complaints.extend(lints(root)?);
    for path in crates_below(root)? {
        let source = path.join("src");
        let files = rust_files(&source)?;
        let mut reached = BTreeSet::new();
        for start in files.iter().filter(|file| is_root(&source, file)) {
            reach(start, true, &mut reached)?;
        }
        for file in &files {
            let name = file.strip_prefix(root).unwrap_or(file).display().to_string();
            if !reached.contains(file) {
                complaints.push(format!("{name}: no `mod` leads to it"));
            }
            if let Some(line) = tested_example(&read(file)?) {
                complaints.push(format!("{name}:{line}: an example that no suite runs; write a test, or ```text"));
            }
            let lines = lines_without_tests(&read(file)?);
            let is_test = file.file_name().is_some_and(|name| name == "tests.rs");
            if lines > MAX_LINES && !is_test && !TABLES.contains(&name.as_str()) {
                complaints.push(format!("{name}: {lines} lines; split it, the limit is {MAX_LINES}"));
            }
        }
    }
    Ok(complaints)
}

/// The first line of documentation that begins an example in Rust: `make test` runs none.
fn tested_example(text: &str) -> Option<usize> {
    let mut inside = false;
    for (number, line) in (1..).zip(text.lines().map(str::trim_start)) {
        let Some(fence) =
            line.strip_prefix("///").or_else(|| line.strip_prefix("//!")).and_then(|doc| doc.trim_start().strip_prefix("```"))
        else {
            continue;
        };
        if !inside && !fence.starts_with("text") {
            return Some(number);
        }
        inside = !inside;
    }
    None
}

/// What the lists of clippy lack for pure crates: clippy reads the nearest `clippy.toml` alone.
fn lints(root: &Path) -> Result<Vec<String>> {
    let all = read(&root.join("clippy.toml"))?;
    let mut complaints = Vec::new();
    for path in crates_below(&root.join(CORE))? {
        let own = read(&path.join("clippy.toml"))?;
        let missing = all.lines().filter(|line| !line.starts_with('#') && !own.contains(line));
        complaints.extend(missing.map(|line| format!("{CORE}/{}/clippy.toml: lacks {}", base_name(&path), line.trim())));
    }
    Ok(complaints)
}

/// Names of all crates that a crate needs at run time.
fn dependencies(root: &Path, name: &str) -> Result<BTreeSet<String>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--edges", "normal", "--prefix", "none", "--format", "{p}", "--package", name])
        .current_dir(root)
        .output()
        .context("run cargo tree")?;
    ensure!(output.status.success(), "cargo tree -p {name}: {}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(|line| line.split(' ').next().map(str::to_owned)).collect())
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let context = || format!("list {}", directory.display());
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).with_context(context)? {
        paths.push(entry.with_context(context)?.path());
    }
    paths.sort();
    Ok(paths)
}

fn base_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The directories of our crates in `directory` and below it.
fn crates_below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in entries(directory)? {
        let name = base_name(&path);
        // A worktree of its own, and what is not source.
        if !path.is_dir() || name.starts_with('.') || ["target", "fuzz"].contains(&&*name) {
            continue;
        }
        if path.join("Cargo.toml").is_file() {
            found.push(path);
        } else {
            found.extend(crates_below(&path)?);
        }
    }
    Ok(found)
}

pub(crate) fn rust_files(directory: &Path) -> Result<Vec<PathBuf>> {
    files(directory, "rs")
}

/// The files with an extension, in the directory and all below it.
pub(crate) fn files(directory: &Path, extension: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for path in entries(directory)? {
        if path.is_dir() {
            found.extend(files(&path, extension)?);
        } else if path.extension().is_some_and(|own| own == extension) {
            found.push(path);
        }
    }
    Ok(found)
}

/// Whether Cargo starts a crate at this file: `lib.rs`, `main.rs`, `bin/x.rs`, `bin/x/main.rs`.
fn is_root(source: &Path, file: &Path) -> bool {
    let Ok(path) = file.strip_prefix(source) else { return false };
    let parts: Vec<&str> = path.iter().filter_map(|part| part.to_str()).collect();
    matches!(parts.as_slice(), ["lib.rs" | "main.rs"] | ["bin", _] | ["bin", _, "main.rs"])
}

/// Follows `mod name;` from a file.
fn reach(file: &Path, root: bool, reached: &mut BTreeSet<PathBuf>) -> Result<()> {
    if !reached.insert(file.to_owned()) {
        return Ok(());
    }
    let mut directory = file.parent().context("a file lies in a directory")?.to_owned();
    if !root {
        directory.push(file.file_stem().context("a file has a name")?);
    }
    for name in modules(&read(file)?) {
        let child = directory.join(format!("{name}.rs"));
        if child.is_file() {
            reach(&child, false, reached)?;
        }
    }
    Ok(())
}

/// Names that a file declares as modules in files of their own.
fn modules(source: &str) -> Vec<&str> {
    source
        .lines()
        .filter_map(|line| {
            let line = line.trim().strip_suffix(';')?;
            let line = line.strip_prefix("pub ").or_else(|| line.strip_prefix("pub(crate) ")).unwrap_or(line);
            line.strip_prefix("mod ")
        })
        .collect()
}

/// Lines up to a `mod tests {` that ends the file.
fn lines_without_tests(source: &str) -> usize {
    let lines: Vec<&str> = source.lines().collect();
    lines.iter().position(|line| *line == "mod tests {").map_or(lines.len(), |at| at.saturating_sub(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_that_would_not_run_are_found() {
        assert_eq!(tested_example("/// Adds.\n///\n/// ```\n/// add(1, 2);\n/// ```\nfn add() {}"), Some(3));
        assert_eq!(tested_example("    //! ```text\n    //! a b\n    //! ```\n    //! ```should_panic\n"), Some(4));
        assert_eq!(tested_example("// ```\n/// A line.\n/// ```text\n/// ```"), None);
    }

    #[test]
    fn modules_are_found_by_their_declaration() {
        let source = "mod a;\npub mod b;\n    pub(crate) mod c;\nmod tests {\n// mod d;\nmodule e;\nmod f; // no";
        assert_eq!(modules(source), ["a", "b", "c"]);
    }

    #[test]
    fn tests_at_the_end_do_not_count() {
        assert_eq!(lines_without_tests("a\nb\n#[cfg(test)]\nmod tests {\nc\n}\n"), 2);
        assert_eq!(lines_without_tests("a\nb\n"), 2);
    }

    #[test]
    fn cargo_starts_at_the_usual_files() {
        let source = Path::new("src");
        for (file, root) in
            [("src/lib.rs", true), ("src/bin/x.rs", true), ("src/bin/x/main.rs", true), ("src/x.rs", false), ("src/x/main.rs", false)]
        {
            assert_eq!(is_root(source, Path::new(file)), root, "{file}");
        }
    }
}
