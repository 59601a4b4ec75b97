//! The difference between two texts of `nginx.conf`.

use std::sync::Arc;

use console::Refusal;
use controller::Journal;
use inspect::RevisionDiff;
use serde_json::Value;

/// The line before the settings of Lua, which are JSON in pieces of escaped text.
const BEGIN: &str = "init_by_lua_block { require(\"narthex.init\").setup(table.concat({";
/// The line behind them.
const END: &str = "})) }";

/// The text with the settings of Lua as JSON, a line each, and without the revision in them, which always differs.
fn readable(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        out.push_str(line);
        out.push('\n');
        if line.trim_start() == BEGIN {
            let pieces: Vec<&str> = lines.by_ref().take_while(|line| line.trim_start() != END).collect();
            out.push_str(&shown(&pieces));
            out.push_str("    ");
            out.push_str(END);
            out.push('\n');
        }
    }
    out
}

fn shown(pieces: &[&str]) -> String {
    let bytes: Vec<u8> = pieces.iter().flat_map(|piece| unescaped(piece.trim().trim_end_matches(',').trim_matches('"'))).collect();
    let Ok(Value::Object(mut settings)) = serde_json::from_slice(&bytes) else {
        return format!("{} bytes\n", bytes.len());
    };
    settings.remove("revision");
    format!("{:#}\n", Value::Object(settings))
}

/// The bytes of a text in Lua, where `\ddd` is one by its decimal number.
fn unescaped(text: &str) -> Vec<u8> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let escaped = after.get(..3).filter(|_| *first == b'\\').and_then(|digits| str::from_utf8(digits).ok()?.parse().ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    bytes
}

/// The difference between two revisions. Absent: `to` the running one, `from` the one that was confirmed before it.
pub(super) fn diff(journal: &Journal, running: &str, from: Option<&str>, to: Option<&str>) -> Result<RevisionDiff, Refusal> {
    let known: Vec<String> = journal.revisions(running).into_iter().filter(|of| of.ok).map(|of| of.revision).collect();
    let to = named(&known, to.unwrap_or(running))?;
    let from = match from {
        Some(from) => named(&known, from)?,
        None => before(&known, to).ok_or_else(|| Refusal::Unknown(format!("no revision was applied before {to}")))?,
    };
    let diff = console::unified((from, &readable(&text(journal, from)?)), (to, &readable(&text(journal, to)?)));
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
    #[test]
    fn settings_of_lua_are_shown_as_json() {
        let text = |revision: &str, hsts: &str| {
            let json = format!("{{\"revision\":\"{revision}\",\"hsts\":\"{hsts}\",\"profiles\":[\"base\"]}}");
            let escaped: String = json
                .bytes()
                .map(|byte| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("\\{byte:03}") })
                .collect();
            let (one, other) = escaped.split_at(escaped.find("hsts").unwrap());
            format!("http {{\n    {BEGIN}\n\"{one}\",\n\"{other}\"\n    {END}\n    \"kept\";\n}}\n")
        };
        let shown = readable(&text("a", "max-age=1"));
        assert_eq!(
            shown,
            format!(
                "http {{\n    {BEGIN}\n{{\n  \"hsts\": \"max-age=1\",\n  \"profiles\": [\n    \"base\"\n  ]\n}}\n    {END}\n    \"kept\";\n}}\n"
            )
        );
        assert_eq!(shown, readable(&text("b", "max-age=1")), "the revision always differs");
        let diff = console::unified(("a", &shown), ("b", &readable(&text("b", "max-age=2"))));
        assert!(diff.contains("-  \"hsts\": \"max-age=1\",\n+  \"hsts\": \"max-age=2\",\n"), "{diff}");
    }

    #[test]
    fn what_is_no_json_is_left_out() {
        let text = format!("    {BEGIN}\n\"\\123nonsense\"\n    {END}\n");
        assert_eq!(readable(&text), format!("    {BEGIN}\n9 bytes\n    {END}\n"));
        assert_eq!(unescaped("a\\065\\\\b\\9"), b"aA\\\\b\\9");
    }
}
