//! Values of a request's header that are not welcome.

use std::fmt;
use std::str::FromStr;

use pcre2::bytes::RegexBuilder;

use crate::{Invalid, Text};

/// The pattern for the value of a header, as a key of an NGINX `map`: a text, or `~` (`~*` without regard to letter case) and a
/// regular expression that compiled with PCRE2. Double quotes around the whole do not count.
///
/// Not empty, at most 1000 bytes, no longer than NGINX reads when it is escaped ([`Text`]), no control characters; a regular
/// expression has no named groups, as each would be a variable.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HeaderPattern(String);

const EXPECTED: Invalid = Invalid::new("a text, or ~ or ~* and a regular expression");

impl HeaderPattern {
    /// The text without regard to letter case, as NGINX compares it. `None`: it is a regular expression.
    pub fn exact(&self) -> Option<String> {
        (!self.0.starts_with('~')).then(|| self.0.to_ascii_lowercase())
    }

    /// The text as a key of a `map`, not yet quoted: a text that could be taken for a word of NGINX's is marked as a text.
    pub fn map_key(&self) -> String {
        let marked = matches!(self.0.as_str(), "default" | "hostnames" | "include" | "volatile") || self.0.starts_with('\\');
        if marked { format!("\\{}", self.0) } else { self.0.clone() }
    }
}

impl FromStr for HeaderPattern {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(text);
        if !(1..=1000).contains(&text.len()) || text.contains(char::is_control) {
            return Err(EXPECTED);
        }
        if let Some(regex) = text.strip_prefix('~') {
            let regex = regex.strip_prefix('*').unwrap_or(regex);
            let compiled = RegexBuilder::new().build(regex);
            let compiled = compiled.map_err(|error| Invalid::because(format!("a regular expression behind ~ ({error})")))?;
            if compiled.capture_names().iter().any(Option::is_some) {
                return Err(Invalid::new("a regular expression behind ~ without named groups"));
            }
            if regex.is_empty() {
                return Err(EXPECTED);
            }
        }
        let pattern = Self(text.to_owned());
        Text::new(&pattern.map_key())?;
        Ok(pattern)
    }
}

impl fmt::Display for HeaderPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_text_or_a_regex() {
        for (text, key) in [
            ("qwerty", "qwerty"),
            ("~*example\\.com", "~*example\\.com"),
            ("~^Bad", "~^Bad"),
            ("\"a b\"", "a b"),
            ("default", "\\default"),
            ("\\x", "\\\\x"),
            ("a;{b}\"c", "a;{b}\"c"),
        ] {
            assert_eq!(text.parse::<HeaderPattern>().unwrap().map_key(), key, "{text}");
        }
        for text in ["", "\"\"", "~", "~*", "~(", "a\nb", "\0", "~(?<host>x)", "~*(?P<a>x)"] {
            assert!(text.parse::<HeaderPattern>().is_err(), "{text:?}");
        }
        // Each is written as a variable.
        assert!("$".repeat(200).parse::<HeaderPattern>().is_ok() && "$".repeat(300).parse::<HeaderPattern>().is_err());
    }
}
