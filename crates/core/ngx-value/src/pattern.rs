//! Regular expressions that are searched for.

use std::fmt;
use std::str::FromStr;

use pcre2::bytes::RegexBuilder;

use crate::Invalid;

/// A regular expression that is searched anywhere in a text, with regard to letter case.
///
/// It compiled with PCRE2 (no UTF mode); not empty, no NUL, CR or LF; at most 1000 bytes. It is data for Lua or a quoted word, never syntax.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Pattern(String);

impl Pattern {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// A matcher that finds it in the name of a host, in any letter case, as NGINX looks for the server of a request. Compiled once for all names.
    pub fn host_matcher(&self) -> impl Fn(&str) -> bool + use<> {
        let regex = RegexBuilder::new().caseless(true).build(&self.0).ok();
        move |name| regex.as_ref().is_some_and(|regex| regex.is_match(name.as_bytes()).unwrap_or(false))
    }
}

impl FromStr for Pattern {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if !(1..=1000).contains(&text.len()) || text.contains(['\0', '\r', '\n']) {
            return Err(Invalid::new("a regular expression of at most 1000 bytes without line breaks"));
        }
        RegexBuilder::new().build(text).map_err(|error| Invalid::because(format!("a regular expression ({error})")))?;
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_compiles() {
        for text in ["CN=authtls", "CN=a.*,O=\"b\"", r"CN=\d{2};", "a|b"] {
            assert_eq!(text.parse::<Pattern>().unwrap().as_str(), text);
        }
        for text in ["", "CN=(", "[][**da?$&*", "a\nb", "a\0"] {
            assert!(text.parse::<Pattern>().is_err(), "{text:?}");
        }
    }
}
