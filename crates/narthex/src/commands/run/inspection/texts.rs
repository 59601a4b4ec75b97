//! The difference between two texts of `nginx.conf`.

use std::sync::Arc;

use console::Refusal;
use controller::Journal;
use inspect::RevisionDiff;

/// The difference between two revisions. Absent: `to` the running one, `from` the one that was confirmed before it.
pub(super) fn diff(journal: &Journal, running: &str, from: Option<&str>, to: Option<&str>) -> Result<RevisionDiff, Refusal> {
    let known: Vec<String> = journal.revisions(running).into_iter().filter(|of| of.ok).map(|of| of.revision).collect();
    let to = named(&known, to.unwrap_or(running))?;
    let from = match from {
        Some(from) => named(&known, from)?,
        None => before(&known, to).ok_or_else(|| Refusal::Unknown(format!("no revision was applied before {to}")))?,
    };
    let diff = console::unified((from, &text(journal, from)?), (to, &text(journal, to)?));
    Ok(RevisionDiff { from: from.to_owned(), to: to.to_owned(), diff })
}

/// The revision that is meant by the beginning of its name.
fn named<'a>(known: &'a [String], name: &str) -> Result<&'a str, Refusal> {
    let mut found: Vec<&str> = known.iter().map(String::as_str).filter(|revision| revision.starts_with(name)).collect();
    found.sort_unstable();
    found.dedup();
    match *found {
        [one] if !name.is_empty() => Ok(one),
        [] => Err(Refusal::Unknown(format!("no revision {name:?} was applied by this controller"))),
        _ => Err(Refusal::Wrong(format!("revision {name:?}: expected one, {} begin like that", found.len()))),
    }
}

/// Of revisions with the newest first, the one before another.
fn before<'a>(known: &'a [String], revision: &str) -> Option<&'a str> {
    let at = known.iter().position(|known| known == revision)?;
    known[at..].iter().map(String::as_str).find(|known| *known != revision)
}

fn text(journal: &Journal, revision: &str) -> Result<Arc<str>, Refusal> {
    journal.text_of(revision).ok_or_else(|| Refusal::Unknown(format!("the text of revision {revision} is not kept any more")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_revision_is_named_by_its_beginning_and_the_one_before_is_another() {
        let known = ["ab1", "ab1", "cd2", "ab3"].map(str::to_owned);
        assert_eq!(named(&known, "c"), Ok("cd2"));
        assert_eq!(named(&known, "ab1"), Ok("ab1"));
        assert!(matches!(named(&known, "ab"), Err(Refusal::Wrong(_))));
        assert!(matches!(named(&known, "x"), Err(Refusal::Unknown(_))) && named(&known, "").is_err());
        assert_eq!((before(&known, "ab1"), before(&known, "cd2"), before(&known, "ab3")), (Some("cd2"), Some("ab3"), None));
    }
}
