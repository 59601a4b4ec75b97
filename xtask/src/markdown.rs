//! What is read of Markdown: links, anchors, and the pages of this repository.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context, Result};

/// Directories without pages of ours: what is built, and what others wrote.
const FOREIGN: [&str; 2] = ["target", "vendor"];
/// Attributes of HTML that name another file.
const ATTRIBUTES: [&str; 3] = ["src=\"", "srcset=\"", "href=\""];

/// A link of a page.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Link {
    /// Its line, from 1.
    pub(crate) line: usize,
    /// The target without its fragment; empty for the page itself.
    pub(crate) path: String,
    /// Behind the `#`.
    pub(crate) fragment: Option<String>,
}

/// The links of a page that lead to files of this repository, in their order.
pub(crate) fn links(text: &str) -> Vec<Link> {
    let mut found = Vec::new();
    for (line, text) in prose(text) {
        let text = without_code(text);
        let mut targets: Vec<(usize, &str)> = text.match_indices("](").filter_map(|(at, _)| Some((at, inside(&text[at + 2..])?))).collect();
        for attribute in ATTRIBUTES {
            let values = text.match_indices(attribute);
            targets.extend(values.filter_map(|(at, _)| Some((at, text[at + attribute.len()..].split('"').next()?))));
        }
        targets.sort_unstable();
        let local = targets.into_iter().map(|(_, target)| target).filter(|target| !is_elsewhere(target));
        found.extend(local.map(|target| {
            let (path, fragment) = target.split_once('#').map_or((target, None), |(path, fragment)| (path, Some(fragment)));
            Link { line, path: path.to_owned(), fragment: fragment.map(str::to_owned) }
        }));
    }
    found
}

/// Whether a target is no file: it has a scheme, as `https://...` and `mailto:...` have.
fn is_elsewhere(target: &str) -> bool {
    target.split(['/', '#', '?']).next().is_some_and(|head| head.contains(':'))
}

/// The target at the start of a text, up to the parenthesis that closes it, without a title.
fn inside(text: &str) -> Option<&str> {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return text[..at].split_whitespace().next(),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// The anchors of a page: its headings, and elements with an `id`.
pub(crate) fn anchors(text: &str) -> BTreeSet<String> {
    let (mut found, mut seen) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
    for (_, line) in prose(text) {
        if let Some(title) = heading(line) {
            let slug = slug(title);
            let count = seen.entry(slug.clone()).or_default();
            found.insert(if *count == 0 { slug } else { format!("{slug}-{count}") });
            *count += 1;
        }
        found.extend(line.match_indices(" id=\"").filter_map(|(at, id)| line[at + id.len()..].split('"').next()).map(str::to_owned));
    }
    found
}

/// The first heading of a page.
pub(crate) fn title(text: &str) -> Option<&str> {
    prose(text).find_map(|(_, line)| heading(line))
}

fn heading(line: &str) -> Option<&str> {
    let rest = line.trim_start_matches('#');
    (1..=6).contains(&(line.len() - rest.len())).then(|| rest.strip_prefix(' ')).flatten().map(str::trim)
}

/// The anchor of a heading, as hosts of repositories and mdBook make it.
fn slug(title: &str) -> String {
    let mut text = String::new();
    let mut rest = title;
    // Of a link its text.
    while let Some((before, (label, after))) = rest.split_once('[').and_then(|(before, link)| {
        Some((before, link.split_once("](").and_then(|(label, after)| Some((label, after.split_once(')')?.1)))?))
    }) {
        text = text + before + label;
        rest = after;
    }
    text += rest;
    text.chars()
        .filter_map(|letter| match letter {
            letter if letter.is_alphanumeric() || letter == '_' || letter == '-' => Some(letter.to_ascii_lowercase()),
            letter if letter.is_whitespace() => Some('-'),
            _ => None,
        })
        .collect()
}

/// Lines outside of fenced blocks, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fence: Option<&str> = None;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let line = line.trim_start();
        match fence {
            Some(open) => {
                if line.starts_with(open) {
                    fence = None;
                }
                false
            }
            None => {
                fence = ["```", "~~~"].into_iter().find(|fence| line.starts_with(fence));
                fence.is_none()
            }
        }
    })
}

/// A line whose inline code is spaces: what looks like a link in it is none.
fn without_code(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find('`') {
        let (before, from) = rest.split_at(at);
        let ticks = from.len() - from.trim_start_matches('`').len();
        let (open, code) = from.split_at(ticks);
        text += before;
        match code.find(open) {
            Some(end) => {
                text += &" ".repeat(ticks + end + ticks);
                rest = &code[end + ticks..];
            }
            None => {
                text += open;
                rest = code;
            }
        }
    }
    text + rest
}

/// All pages of the repository, as paths below its root.
pub(crate) fn pages(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    collect(root, Path::new(""), &mut found)?;
    found.sort();
    Ok(found)
}

fn collect(root: &Path, below: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let directory = root.join(below);
    let context = || format!("list {}", directory.display());
    for entry in std::fs::read_dir(&directory).with_context(context)? {
        let entry = entry.with_context(context)?;
        let (name, path) = (entry.file_name(), below.join(entry.file_name()));
        let name = name.to_string_lossy();
        if entry.file_type().with_context(context)?.is_dir() {
            if !name.starts_with('.') && !FOREIGN.contains(&&*name) {
                collect(root, &path, found)?;
            }
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    Ok(())
}

/// Where a link of a page leads, below the root; nothing where that is outside of it.
pub(crate) fn resolve(page: &Path, link: &str) -> Option<PathBuf> {
    if link.is_empty() {
        return Some(page.to_owned());
    }
    let mut path = page.parent()?.to_owned();
    for part in Path::new(link).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir => path.pop().then_some(())?,
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets(text: &str) -> Vec<(usize, String, Option<String>)> {
        links(text).into_iter().map(|link| (link.line, link.path, link.fragment)).collect()
    }

    #[test]
    fn links_are_found_outside_of_code_with_their_lines() {
        let text = "[a](a.md) and [b](../b.md#c-d)\n```sh\n[x](no.md)\n```\n`[y](no.md)` ``[`](no.md)`` ![i](i_(1).svg \"title\")\n\
                    [web](https://example.com/a.md) [mail](mailto:a@example.com) [here](#there)\n<img src=\"p/q.png\">";
        let some = |text: &str| Some(text.to_owned());
        let expected =
            [(1, "a.md", None), (1, "../b.md", some("c-d")), (5, "i_(1).svg", None), (6, "", some("there")), (7, "p/q.png", None)]
                .map(|(line, path, fragment)| (line, path.to_owned(), fragment));
        assert_eq!(targets(text), expected);
    }

    #[test]
    fn anchors_are_those_of_hosts_of_repositories() {
        let text = "# The `x-y` of a_b: more\n## Twice\n## Twice\n## A [link](a.md), too\n```\n# no\n```\n<a id=\"own\"></a>\n#none\n";
        let expected = ["the-x-y-of-a_b-more", "twice", "twice-1", "a-link-too", "own"].map(str::to_owned);
        assert_eq!(anchors(text), expected.into());
        assert_eq!(title(text), Some("The `x-y` of a_b: more"));
    }

    #[test]
    fn links_are_resolved_beside_their_page_and_never_outside() {
        let page = Path::new("docs/reference/flags.md");
        for (link, expected) in [
            ("metrics.md", Some("docs/reference/metrics.md")),
            ("../security.md", Some("docs/security.md")),
            ("../../README.md", Some("README.md")),
            ("", Some("docs/reference/flags.md")),
            ("../../../etc/passwd", None),
            ("/etc/passwd", None),
        ] {
            assert_eq!(resolve(page, link).as_deref(), expected.map(Path::new), "{link}");
        }
    }
}
