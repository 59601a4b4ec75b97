//! Regular expressions for paths.

use std::fmt;
use std::str::FromStr;

use pcre2::bytes::RegexBuilder;

use crate::{Invalid, Text};

/// A path that is matched as a regular expression: `^` + text, case-insensitive, on the bytes of the normalised URI.
///
/// It compiled with PCRE2 and the options that NGINX uses (caseless, no UTF mode), alone and behind `^`; no NUL, CR or LF; at most 4000 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PathRegex(String);

/// A regular expression for a whole argument of a directive.
///
/// It compiled with PCRE2, without regard to letter case; not empty, no NUL, CR or LF; at most 4000 bytes, and no longer than NGINX reads when it is
/// escaped.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Regex(String);

const MAX_BYTES: usize = 4000;
const LIMITS: Invalid = Invalid::new("a regular expression of at most 4000 bytes, escaped, without NUL and line breaks");

impl Regex {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for Regex {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text.is_empty() || Text::new(text).is_err() {
            return Err(LIMITS);
        }
        compile(text, &[text])?;
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Regex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Whether a text is within the limits, and whether these patterns of it compile.
fn compile(text: &str, patterns: &[&str]) -> Result<(), Invalid> {
    if text.len() > MAX_BYTES || text.contains(['\0', '\r', '\n']) {
        return Err(LIMITS);
    }
    for pattern in patterns {
        let compiled = RegexBuilder::new().caseless(true).build(pattern);
        compiled.map_err(|error| Invalid::because(format!("a regular expression ({error})")))?;
    }
    Ok(())
}

impl PathRegex {
    /// The text, without the `^`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// `true` if a normalised path begins with it.
    pub fn is_match(&self, path: &str) -> bool {
        let regex = RegexBuilder::new().caseless(true).build(&format!("^{}", self.0));
        regex.is_ok_and(|regex| regex.is_match(path.as_bytes()).unwrap_or(false))
    }
}

impl FromStr for PathRegex {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        // Two positions, because a leading verb such as (*UTF) counts only at the very start.
        compile(text, &[text, &format!("^{text}")])?;
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for PathRegex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_path_regex_compiles() {
        for text in ["/", "/foo/.*", "/foo(/|$)(.*)", r"/[A-Z]{3}", r"/(?<name>\d+)", "/a|/b", "/\"quoted\"", "/ä", "/(?i)a;{}"] {
            assert_eq!(text.parse::<PathRegex>().unwrap().as_str(), text);
        }
        for text in ["/foo(", "/[z-a]", "/a{2,1}", "/(?<n>a)(?<n>b)", "/*+?{", "/foo\nbar", "/foo\0", "(*UTF)/a", "/\\"] {
            assert!(text.parse::<PathRegex>().is_err(), "{text:?}");
        }
        let regex: PathRegex = "/foo(/|$)(.*)".parse().unwrap();
        assert!(regex.is_match("/FOO/bar") && regex.is_match("/foo") && !regex.is_match("/food") && !regex.is_match("/x/foo"));
        assert!("/a".repeat(3000).parse::<PathRegex>().is_err());
    }

    proptest! {
        #[test]
        fn any_text_is_a_regex_or_an_error(text in r#"[/a-z(){}\[\]|*+?.\\^$"; -]{0,20}"#) {
            if let Ok(regex) = text.parse::<PathRegex>() {
                prop_assert_eq!(regex.to_string(), text);
            }
        }
    }
}
