//! Label selectors as kubectl writes them: `a=b,c!=d,e in (f,g),h notin (i),j,!k`.

use anyhow::{Context, bail};
use model::options::SelectorTerm;

/// Parses a selector; empty text selects everything.
pub(super) fn parse(flag: &str, text: &str) -> anyhow::Result<Vec<SelectorTerm>> {
    split(text).into_iter().map(|term| parse_term(term).with_context(|| format!("{flag} {text:?}"))).collect()
}

/// Splits at commas outside parentheses.
pub(super) fn split(text: &str) -> Vec<&str> {
    let (mut depth, mut start, mut terms) = (0, 0, Vec::new());
    for (at, c) in text.char_indices() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                terms.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    terms.push(&text[start..]);
    terms.into_iter().map(str::trim).filter(|term| !term.is_empty()).collect()
}

fn parse_term(term: &str) -> anyhow::Result<SelectorTerm> {
    let key = |text: &str| -> anyhow::Result<String> {
        let text = text.trim();
        let legal = !text.is_empty() && text.bytes().all(|c| c.is_ascii_alphanumeric() || b"-_./".contains(&c));
        if legal { Ok(text.to_owned()) } else { bail!("{text:?} is not a label key") }
    };
    if let Some((left, right)) = term.split_once("!=") {
        return Ok(SelectorTerm::NotIn(key(left)?, vec![right.trim().to_owned()]));
    }
    if let Some((left, right)) = term.split_once('=') {
        return Ok(SelectorTerm::In(key(left)?, vec![right.trim_start_matches('=').trim().to_owned()]));
    }
    if let Some((left, right)) = term.split_once('(') {
        let Some(list) = right.trim().strip_suffix(')') else { bail!("{term:?} has no closing parenthesis") };
        let values: Vec<String> = list.split(',').map(|value| value.trim().to_owned()).collect();
        let mut words = left.split_whitespace();
        return match (words.next(), words.next(), words.next()) {
            (Some(name), Some("in"), None) => Ok(SelectorTerm::In(key(name)?, values)),
            (Some(name), Some("notin"), None) => Ok(SelectorTerm::NotIn(key(name)?, values)),
            _ => bail!("{term:?} is not of the form `key in (a,b)` or `key notin (a,b)`"),
        };
    }
    match term.strip_prefix('!') {
        Some(name) => Ok(SelectorTerm::NotExists(key(name)?)),
        None => Ok(SelectorTerm::Exists(key(term)?)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use SelectorTerm::{Exists, In, NotExists, NotIn};

    #[test]
    fn every_form_of_a_term_is_read() {
        let terms = parse("--flag", "a=b, c == d,e!=f,g in (h, i),j notin (k),l,!m/n").unwrap();
        let own = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>();
        assert_eq!(
            terms,
            [
                In("a".into(), own(&["b"])),
                In("c".into(), own(&["d"])),
                NotIn("e".into(), own(&["f"])),
                In("g".into(), own(&["h", "i"])),
                NotIn("j".into(), own(&["k"])),
                Exists("l".into()),
                NotExists("m/n".into()),
            ]
        );
        assert_eq!(parse("--flag", "").unwrap(), []);
    }

    #[test]
    fn a_term_that_is_none_is_an_error() {
        for text in ["a in (b", "a b", "a of (b)", "=x"] {
            assert!(parse("--flag", text).is_err(), "{text}");
        }
    }
}
