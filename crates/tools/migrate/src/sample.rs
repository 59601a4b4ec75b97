//! Literal text for the patterns that people write as paths. Best effort: what can't be followed ends the text.

use std::iter::Peekable;
use std::str::Chars;

/// The sample for "anything".
const ANYTHING: &str = "narthex-probe";

/// `true` if a path holds characters that mean something in a pattern.
pub(crate) fn is_pattern(path: &str) -> bool {
    path.contains(['(', ')', '[', ']', '{', '}', '*', '+', '?', '|', '\\', '^', '$'])
}

/// A text that a pattern matches: the first alternative of each group, one turn of each repetition.
pub(crate) fn sample(pattern: &str) -> String {
    let mut text = String::new();
    alternatives(&mut pattern.chars().peekable(), &mut text);
    if text.starts_with('/') { text } else { format!("/{text}") }
}

/// Reads up to the end or a closing parenthesis; the first alternative that is not empty counts.
fn alternatives(chars: &mut Peekable<Chars<'_>>, into: &mut String) {
    let mut first: Option<String> = None;
    loop {
        let mut text = String::new();
        let more = sequence(chars, &mut text);
        if first.as_ref().is_none_or(String::is_empty) {
            first = Some(text);
        }
        if !more {
            break;
        }
    }
    into.push_str(&first.unwrap_or_default());
}

/// Reads one alternative; whether another one follows.
fn sequence(chars: &mut Peekable<Chars<'_>>, into: &mut String) -> bool {
    while let Some(c) = chars.next() {
        let mut item = String::new();
        match c {
            '|' => return true,
            ')' => return false,
            '(' => {
                skip_group_flags(chars);
                alternatives(chars, &mut item);
            }
            '[' => item.extend(class(chars)),
            '\\' => item.extend(chars.next().map(escaped)),
            '.' => item.push_str(if matches!(chars.peek(), Some('*' | '+')) { ANYTHING } else { "x" }),
            '^' | '$' => {}
            c => item.push(c),
        }
        repeat(chars);
        into.push_str(&item);
    }
    false
}

/// `?:`, `?i:` and names say nothing about the text.
fn skip_group_flags(chars: &mut Peekable<Chars<'_>>) {
    if chars.next_if_eq(&'?').is_some() {
        while let Some(c) = chars.next_if(|c| !matches!(c, ')' | '/')) {
            if matches!(c, ':' | '>' | '=') {
                break;
            }
        }
    }
}

/// The first character that a class has; `x` for one that says what it has not.
fn class(chars: &mut Peekable<Chars<'_>>) -> Option<char> {
    let negated = chars.next_if_eq(&'^').is_some();
    let first = match chars.next()? {
        '\\' => chars.next().map(escaped),
        c => Some(c),
    };
    while let Some(c) = chars.next_if(|c| *c != ']') {
        if c == '\\' {
            chars.next();
        }
    }
    chars.next();
    if negated { Some('x') } else { first }
}

fn escaped(c: char) -> char {
    match c {
        'd' => '1',
        'w' | 'S' | 'D' => 'x',
        'W' => '-',
        c => c,
    }
}

/// Passes over what says how often.
fn repeat(chars: &mut Peekable<Chars<'_>>) {
    while let Some(c) = chars.next_if(|c| matches!(c, '*' | '+' | '?' | '{')) {
        if c == '{' {
            chars.by_ref().take_while(|c| *c != '}').for_each(drop);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_that_people_write_have_a_text() {
        for (pattern, text) in [
            ("/api(/|$)(.*)", "/api/narthex-probe"),
            ("/(.*)", "/narthex-probe"),
            ("/v[0-9]+/users", "/v0/users"),
            ("/a/(?:b|c)/d", "/a/b/d"),
            (r"/file\.txt$", "/file.txt"),
            (r"/\d{1,3}/\w+", "/1/x"),
            ("/[^/]+/x", "/x/x"),
            ("/foo/?", "/foo/"),
            ("/(|a)b", "/ab"),
            ("/x.y", "/xxy"),
        ] {
            assert_eq!(sample(pattern), text, "{pattern}");
        }
    }

    #[test]
    fn broken_patterns_end_the_text() {
        for pattern in ["/a(", "/a[", "/a\\", "/a{", "/a(?", "/a)b", "*"] {
            assert!(sample(pattern).starts_with('/'), "{pattern}");
        }
    }
}
