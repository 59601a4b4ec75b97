//! Links between pages: each leads to a file of the repository, and its fragment to a heading there. Each page of `docs/` is in the contents of the site.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::markdown::{anchors, links, pages, resolve};

/// The contents of the site.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";
/// Where its pages are.
const DOCS: &str = "docs";

/// Links that lead nowhere, and pages that nothing leads to.
pub(crate) fn check(root: &Path) -> Result<Vec<String>> {
    let mut texts = BTreeMap::new();
    for page in pages(root)? {
        let text = std::fs::read_to_string(root.join(&page)).with_context(|| format!("read {}", page.display()))?;
        texts.insert(page, text);
    }
    let known: BTreeMap<&Path, BTreeSet<String>> = texts.iter().map(|(page, text)| (page.as_path(), anchors(text))).collect();
    let mut complaints = Vec::new();
    for (page, text) in &texts {
        for link in links(text) {
            let place = || format!("{}:{}", page.display(), link.line);
            let Some(target) = resolve(page, &link.path).filter(|target| root.join(target).exists()) else {
                complaints.push(format!("{}: there is no {}", place(), link.path));
                continue;
            };
            let Some(fragment) = link.fragment else { continue };
            if !known.get(target.as_path()).is_some_and(|anchors| anchors.contains(&fragment)) {
                complaints.push(format!("{}: {} has no heading #{fragment}", place(), target.display()));
            }
        }
    }
    let contents = texts.get(Path::new(SUMMARY)).with_context(|| format!("there is no {SUMMARY}"))?;
    let listed: Vec<PathBuf> = links(contents).iter().filter_map(|link| resolve(Path::new(SUMMARY), &link.path)).collect();
    let own = texts.keys().filter(|page| page.starts_with(DOCS) && *page != Path::new(SUMMARY));
    for page in own {
        let times = listed.iter().filter(|listed| *listed == page).count();
        if times != 1 {
            complaints.push(format!("{SUMMARY}: has {} {times} times; expected once", page.display()));
        }
    }
    Ok(complaints)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dead_links_missing_headings_and_pages_without_a_place_are_found() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("README.md", "[a](docs/a.md#one) [b](docs/a.md#two)\n\n[c](../c.md) [d](deploy)\n");
        write("docs/SUMMARY.md", "- [a](a.md)\n- [b](b.md)\n");
        write("docs/a.md", "# One\n[here](#one)\n[gone](gone.md)\n");
        write("docs/c.md", "# C\n");
        write("deploy/unit", "");
        write("target/x.md", "[gone](gone.md)");
        let expected = [
            "README.md:1: docs/a.md has no heading #two",
            "README.md:3: there is no ../c.md",
            "docs/SUMMARY.md:2: there is no b.md",
            "docs/a.md:3: there is no gone.md",
            "docs/SUMMARY.md: has docs/c.md 0 times; expected once",
        ];
        assert_eq!(check(root.path()).unwrap(), expected);
    }

    #[test]
    fn the_links_of_this_repository_are_alive() {
        assert_eq!(check(&crate::root().unwrap()).unwrap(), [""; 0]);
    }
}
