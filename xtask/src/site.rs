//! The sources of the documentation site, and whether what mdBook made of them has dead links.
//!
//! They lie as in the repository, so that a link between two pages is the same in both: the pages of `docs/SUMMARY.md`, and what they lead
//! to outside of it (the chart's page, units, rules of alerts) as further pages and files.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use crate::links::SUMMARY;
use crate::markdown::{links, resolve, title};

/// The settings of mdBook and our styles.
const BOOK: &str = "docs/site";
/// Where mdBook looks for pages, below that.
const SOURCE: &str = "src";
/// Title of the part with pages that the contents don't have.
const PART: &str = "Files of the repository";
/// Its path is that of the missing page, so that nothing on it is relative to itself.
const NOT_FOUND: &str = "404.html";

/// Writes the sources into a directory, which is made. Files of an earlier run that are no part of it any more are removed.
pub(crate) fn stage(root: &Path, out: &Path) -> Result<()> {
    let source = out.join(SOURCE);
    if source.exists() {
        fs::remove_dir_all(&source).with_context(|| format!("remove {}", source.display()))?;
    }
    copy_all(&root.join(BOOK), out)?;
    let contents = read(&root.join(SUMMARY))?;
    let listed: BTreeSet<PathBuf> = links(&contents).iter().filter_map(|link| resolve(Path::new(SUMMARY), &link.path)).collect();
    let mut seen = listed.clone();
    let mut open: VecDeque<PathBuf> = listed.iter().cloned().collect();
    let mut further = BTreeMap::new();
    while let Some(path) = open.pop_front() {
        let place = root.join(&path);
        let page = if place.is_dir() {
            Some((path.join("index.md"), directory_page(root, &path)?))
        } else if path.extension().is_some_and(|extension| extension == "md") {
            Some((path.clone(), read(&place)?))
        } else {
            write(&source.join(&path), &fs::read(&place).with_context(|| format!("read {}", place.display()))?)?;
            None
        };
        let Some((file, text)) = page else { continue };
        for link in links(&text) {
            let target = resolve(&file, &link.path).with_context(|| format!("{}: {} is outside", path.display(), link.path))?;
            if seen.insert(target.clone()) {
                open.push_back(target);
            }
        }
        write(&source.join(&file), text.as_bytes())?;
        if !listed.contains(&path) {
            further.insert(file, title(&text).unwrap_or_default().to_owned());
        }
    }
    write(&source.join("SUMMARY.md"), summary(&contents, &further)?.as_bytes())
}

/// The contents with paths from the root, and further pages at the end.
fn summary(contents: &str, further: &BTreeMap<PathBuf, String>) -> Result<String> {
    let mut text = String::new();
    for line in contents.lines() {
        match line.split_once("](").and_then(|(head, rest)| Some((head, rest.strip_suffix(')')?))) {
            Some((head, target)) => {
                let path = resolve(Path::new(SUMMARY), target).with_context(|| format!("{target} is outside"))?;
                text += &format!("{head}]({})\n", path.display());
            }
            None => text = text + line + "\n",
        }
    }
    if !further.is_empty() {
        text += &format!("\n# {PART}\n\n");
        for (path, title) in further {
            text += &format!("- [{title}]({})\n", path.display());
        }
    }
    Ok(text)
}

/// A page for a directory that a link leads to: its files.
fn directory_page(root: &Path, path: &Path) -> Result<String> {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.join(path)).with_context(|| format!("list {}", path.display()))? {
        let entry = entry.with_context(|| format!("list {}", path.display()))?;
        if entry.file_type()?.is_file() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    let rows: String = names.iter().map(|name| format!("- [{name}]({name})\n")).collect();
    Ok(format!("# {}\n\n{rows}", path.display()))
}

fn copy_all(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| format!("list {}", from.display()))? {
        let path = entry.with_context(|| format!("list {}", from.display()))?.path();
        let target = to.join(path.file_name().context("an entry has a name")?);
        if path.is_dir() {
            copy_all(&path, &target)?;
        } else {
            write(&target, &fs::read(&path).with_context(|| format!("read {}", path.display()))?)?;
        }
    }
    Ok(())
}

fn write(path: &Path, content: &[u8]) -> Result<()> {
    let directory = path.parent().context("a file lies in a directory")?;
    fs::create_dir_all(directory).with_context(|| format!("create {}", directory.display()))?;
    fs::write(path, content).with_context(|| format!("write {}", path.display()))
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("read {}", path.display()))
}

/// Links of the pages that mdBook wrote which lead to no file, or to no element of it.
pub(crate) fn check(site: &Path) -> Result<Vec<String>> {
    let mut pages = BTreeMap::new();
    for path in crate::tidy::files(site, "html")? {
        let text = read(&path)?;
        pages.insert(path.strip_prefix(site).unwrap_or(&path).to_owned(), text);
    }
    if !pages.contains_key(Path::new("index.html")) {
        bail!("{} has no index.html", site.display());
    }
    let ids: BTreeMap<&Path, BTreeSet<&str>> =
        pages.iter().map(|(path, text)| (path.as_path(), values(text, &[" id=\""]).collect())).collect();
    let mut complaints = BTreeSet::new();
    for (page, text) in pages.iter().filter(|(page, _)| *page != Path::new(NOT_FOUND)) {
        for value in values(text, &[" href=\"", " src=\"", " srcset=\""]).filter(|value| !value.contains(':')) {
            let (path, fragment) = value.split_once('#').map_or((value, ""), |(path, fragment)| (path, fragment));
            let target = resolve(page, path).map(|target| if site.join(&target).is_dir() { target.join("index.html") } else { target });
            match target.filter(|target| site.join(target).is_file()) {
                None => complaints.insert(format!("{}: there is no {path}", page.display())),
                Some(target) if !fragment.is_empty() && !ids.get(target.as_path()).is_some_and(|ids| ids.contains(fragment)) => {
                    complaints.insert(format!("{}: {} has no #{fragment}", page.display(), target.display()))
                }
                Some(_) => false,
            };
        }
    }
    Ok(complaints.into_iter().collect())
}

/// Values of attributes of HTML.
fn values<'a>(text: &'a str, attributes: &'a [&str]) -> impl Iterator<Item = &'a str> {
    attributes
        .iter()
        .flat_map(move |attribute| text.match_indices(attribute).filter_map(move |(at, found)| text[at + found.len()..].split('"').next()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(root: &Path, all: &[(&str, &str)]) {
        for (path, text) in all {
            write(&root.join(path), text.as_bytes()).unwrap();
        }
    }

    #[test]
    fn pages_lie_as_in_the_repository_with_what_they_lead_to() {
        let (root, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let contents = "# Contents\n\n[Start](../README.md)\n\n- [A page](a.md)\n";
        files(
            root.path(),
            &[
                ("docs/SUMMARY.md", contents),
                ("docs/site/book.toml", "[book]\n"),
                ("README.md", "# Start\n[a](docs/a.md)\n"),
                ("docs/a.md", "# A\n[unit](../deploy/x.service) [chart](../charts/x/README.md#v) [all](../boards)\n"),
                ("docs/b.md", "# Not in the contents\n"),
                ("deploy/x.service", "[Unit]\n"),
                ("charts/x/README.md", "# Chart\n## V\n[schema](s.json)\n"),
                ("charts/x/s.json", "{}"),
                ("boards/one.json", "{}"),
            ],
        );
        files(out.path(), &[("src/stale.md", "")]);
        stage(root.path(), out.path()).unwrap();
        let source = out.path().join("src");
        let summary = read(&source.join("SUMMARY.md")).unwrap();
        assert_eq!(
            summary,
            "# Contents\n\n[Start](README.md)\n\n- [A page](docs/a.md)\n\n# Files of the repository\n\n- [boards](boards/index.md)\n- [Chart](charts/x/README.md)\n"
        );
        for path in ["README.md", "docs/a.md", "deploy/x.service", "charts/x/README.md", "charts/x/s.json", "boards/one.json"] {
            assert!(source.join(path).is_file(), "{path}");
        }
        assert_eq!(read(&source.join("boards/index.md")).unwrap(), "# boards\n\n- [one.json](one.json)\n");
        assert!(!source.join("stale.md").exists() && !source.join("docs/b.md").exists());
        assert!(out.path().join("book.toml").is_file());
    }

    #[test]
    fn dead_links_of_a_site_are_found() {
        let site = tempfile::tempdir().unwrap();
        files(
            site.path(),
            &[
                (
                    "index.html",
                    r##"<h1 id="a">A</h1><a href="b/c.html#d">1</a> <a href="b/c.html#e">2</a> <a href="gone.html">3</a> <a href="b">4</a>"##,
                ),
                ("b/c.html", r##"<p id="d"></p><a href="../index.html#a">1</a> <img src="x.png"> <a href="https://example.com">2</a>"##),
                ("b/index.html", ""),
                ("404.html", r##"<a href="anything.html">1</a>"##),
            ],
        );
        assert_eq!(
            check(site.path()).unwrap(),
            ["b/c.html: there is no x.png", "index.html: b/c.html has no #e", "index.html: there is no gone.html"]
        );
    }
}
