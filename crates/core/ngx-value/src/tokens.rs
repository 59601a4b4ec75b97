//! Lists that become a header as they are.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

/// Names of headers or methods: letters, digits, `-`, `_`, or `*`, with commas and spaces between them; at least one, at most 4000 bytes.
///
/// Printed as written, so that clients see what the author wrote.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TokenList(String);

impl TokenList {
    /// The text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names in order.
    pub fn tokens(&self) -> impl Iterator<Item = &str> {
        self.0.split([',', ' ']).filter(|token| !token.is_empty())
    }
}

impl FromStr for TokenList {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let list = Self(text.to_owned());
        let name = |token: &str| token.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
        if text.len() > 4000 || list.tokens().next().is_none() || !list.tokens().all(|token| token == "*" || name(token)) {
            return Err(Invalid::new("names of letters, digits, - and _, between commas"));
        }
        Ok(list)
    }
}

impl fmt::Display for TokenList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_kept_as_written() {
        for (text, tokens) in [("GET", vec!["GET"]), ("DNT, User-Agent", vec!["DNT", "User-Agent"]), ("*, X_a ,", vec!["*", "X_a"])] {
            let list: TokenList = text.parse().unwrap();
            assert_eq!((list.as_str(), list.tokens().collect::<Vec<_>>()), (text, tokens));
        }
        for text in ["", " ", ",", "a;b", "a\nb", "a:b", "\"a\"", "a*", "$a", "é"] {
            assert!(text.parse::<TokenList>().is_err(), "{text:?}");
        }
    }
}
