//! The keys and flags of ingress-nginx: each has a row with its default, and what has an effect here a test that names it.
//!
//! That a row has documentation and an effect, or a reason for none, is checked by `coverage` and `effects` for all rows.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use settings::{CONFIG_KEYS, Config, ConfigEntry};

use crate::tidy::files;

/// Name, section, default, and what is other here.
const KEYS: &str = "xtask/data/keys.txt";
/// Name, kind, default, and what it does here: the command line is made of it.
const FLAGS: &str = "crates/narthex/src/args/predecessor.txt";
/// Where tests stand that look at what is served: folders, and the extension of their files.
const TESTS: [(&str, &str); 5] = [
    ("tests/e2e", "rs"),
    ("tests/equivalence", "rs"),
    ("crates/narthex/tests", "rs"),
    ("crates/edge/controller/src/fixed_lane/tests", "rs"),
    ("lua/spec", "lua"),
];
/// Its files end with tests of the flags that they define.
const ARGUMENTS: &str = "crates/narthex/src/args";

/// What is missing.
pub(crate) fn check(root: &Path) -> Result<Vec<String>> {
    let read = |path: &Path| std::fs::read_to_string(path).with_context(|| format!("read {}", path.display()));
    let mut tests = String::new();
    for (folder, extension) in TESTS {
        for file in files(&root.join(folder), extension)? {
            tests += &read(&file)?;
        }
    }
    let keys = read(&root.join(KEYS))?;
    let mut complaints: Vec<String> = rows(&keys).filter_map(|row| key(row, &tests)).collect();
    let listed: BTreeSet<&str> = rows(&keys).map(|row| row[0]).collect();
    let unlisted = CONFIG_KEYS.iter().filter(|entry| entry.since == settings::Since::IngressNginx && !listed.contains(entry.name));
    complaints.extend(unlisted.map(|entry| format!("key {}: {KEYS} does not have it", entry.name)));
    for file in files(&root.join(ARGUMENTS), "rs")? {
        let text = read(&file)?;
        let own = if file.ends_with("tests.rs") { text.as_str() } else { text.split_once("mod tests {").map_or("", |(_, tests)| tests) };
        tests += own;
    }
    let flags = read(&root.join(FLAGS))?;
    complaints.extend(rows(&flags).filter_map(|row| flag(row, &tests)));
    Ok(complaints)
}

/// The cells of each line that is no comment.
fn rows(text: &str) -> impl Iterator<Item = [&str; 4]> {
    text.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut cells = line.splitn(4, " |").map(str::trim);
        std::array::from_fn(|_| cells.next().unwrap_or_default())
    })
}

fn key([name, _, default, other]: [&str; 4], tests: &str) -> Option<String> {
    let row = CONFIG_KEYS.iter().copied().find(|entry| entry.name == name);
    let complaint = match (row, other) {
        (None, "missing") => return None,
        (None, _) => "it has no row".to_owned(),
        (Some(_), "missing") => format!("it has a row: take the mark \"missing\" out of {KEYS}"),
        (Some(entry), _) if has_default(entry, default) == other.starts_with("other: ") => {
            format!("its default is {:?}, and {KEYS} says {default:?} and {other:?}", (entry.get)(&Config::default()))
        }
        (Some(_), _) if !tests.contains(&format!("\"{name}\"")) => "no test of what is served names it".to_owned(),
        _ => return None,
    };
    Some(format!("key {name}: {complaint}"))
}

fn has_default(entry: &ConfigEntry, text: &str) -> bool {
    let mut config = Config::default();
    (entry.set)(&mut config, text, &mut Vec::new()).is_ok() && (entry.same)(&config, &Config::default())
}

fn flag([name, _, _, here]: [&str; 4], tests: &str) -> Option<String> {
    let is_used = here == "same" || here.starts_with("other: ");
    let short = if name.len() == 1 { format!("-{name}") } else { format!("--{name}") };
    (is_used && !tests.contains(&short)).then(|| format!("flag {short}: no test names it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_four_cells_of_which_the_last_may_be_empty() {
        let found: Vec<_> = rows("# no row\na | b | c d | e | f\ng | h").collect();
        assert_eq!(found, [["a", "b", "c d", "e | f"], ["g", "h", "", ""]]);
    }

    #[test]
    fn a_key_needs_its_row_its_default_and_a_test() {
        let complaint = |row: [&str; 4], tests: &str| key(row, tests).unwrap_or_default();
        assert_eq!(complaint(["keep-alive", "", "75", ""], "(\"keep-alive\", 5)"), "");
        assert_eq!(complaint(["keep-alive", "", "75", ""], "keep-alive"), "key keep-alive: no test of what is served names it");
        assert_eq!(complaint(["keep-dead", "", "", ""], ""), "key keep-dead: it has no row");
        assert!(complaint(["keep-alive", "", "60", ""], "").starts_with("key keep-alive: its default is \"75\""));
        assert!(complaint(["keep-alive", "", "75", "missing"], "").starts_with("key keep-alive: it has a row"));
        assert!(flag(["http-port", "", "", "same"], "").is_some() && flag(["http-port", "", "", "none: it"], "").is_none());
    }
}
