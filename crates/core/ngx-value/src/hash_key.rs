//! The key by which requests are hashed.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::template::{Part, parts};

/// The key of consistent hashing: letters, digits, `-`, `_`, braces, `$name`, `${name}` and captures; at most 4000 bytes, not empty.
///
/// Any name of a variable will do, because it is looked up by Lua: one that does not exist is empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HashKey(String);

impl HashKey {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text in pieces.
    pub fn parts(&self) -> Vec<Part<'_>> {
        parts(&self.0).expect("the text was cut once when it was read")
    }
}

impl FromStr for HashKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'$' | b'{' | b'}');
        if (1..=4000).contains(&text.len()) && text.bytes().all(allowed) && parts(text).is_some() {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid::new("letters, digits, - and _ with variables such as $request_uri or ${host}"))
    }
}

impl fmt::Display for HashKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_text_with_variables() {
        let key: HashKey = "${host}-$uri$1".parse().unwrap();
        assert_eq!(key.parts(), [Part::Variable("host"), Part::Literal("-"), Part::Variable("uri"), Part::Capture(1)]);
        assert_eq!("$request_uri".parse::<HashKey>().unwrap().to_string(), "$request_uri");
        for text in ["", "$", "$-", "${a", "a b", "$a;", "$a.b", "$a\n", "\"$a\""] {
            assert!(text.parse::<HashKey>().is_err(), "{text:?}");
        }
    }
}
