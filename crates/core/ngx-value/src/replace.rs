//! Replacements that NGINX makes in the answers of endpoints.

use std::fmt;
use std::str::FromStr;

use crate::plain::is_url;
use crate::template::is_basic;
use crate::{Invalid, Pattern};

macro_rules! replacement {
    ($(#[$doc:meta])* $name:ident, $allowed:expr, $expected:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name {
            /// Nothing is replaced.
            Off,
            /// One text takes the place of another. Both are words of the alphabet above; `from` may be `~` and a regular expression.
            Replace {
                /// The text to replace.
                from: String,
                /// The text in its place.
                to: String,
            },
        }

        impl $name {
            /// The text to replace, and the one in its place; for off twice nothing, which changes nothing.
            pub fn pair(&self) -> [&str; 2] {
                match self {
                    Self::Off => [""; 2],
                    Self::Replace { from, to } => [from, to],
                }
            }
        }

        impl FromStr for $name {
            type Err = Invalid;

            fn from_str(text: &str) -> Result<Self, Invalid> {
                let allowed: fn(u8) -> bool = $allowed;
                let words: Vec<&str> = text.split_ascii_whitespace().collect();
                let valid = text.len() <= 4000 && words.iter().all(|word| word.bytes().all(allowed));
                match words.as_slice() {
                    ["off"] => Ok(Self::Off),
                    [from, to] if valid && is_match(from) => Ok(Self::Replace { from: (*from).to_owned(), to: (*to).to_owned() }),
                    _ => Err(Invalid::new($expected)),
                }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    Self::Off => f.write_str("off"),
                    Self::Replace { from, to } => write!(f, "{from} {to}"),
                }
            }
        }
    };
}

replacement! {
    /// The replacement for the `Domain` of cookies. Alphabet: letters, digits and `- . _ ~ / :`.
    CookieDomainReplacement, is_basic, "off, or two words of letters, digits and - . _ ~ / : such as localhost example.org"
}

replacement! {
    /// The replacement for the `Path` of cookies. Alphabet: letters, digits and `- . _ ~ / : , ? & =`.
    CookiePathReplacement, is_url, "off, or two words of letters, digits and - . _ ~ / : , ? & = such as /one/ /"
}

/// One end of the replacement in the header `Location`: letters, digits and `- . _ ~ / : , ? & =`, at most 4000 bytes, not empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LocationPart(String);

impl LocationPart {
    /// The text. `off` and `default` have a meaning of their own.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for LocationPart {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if (1..=4000).contains(&text.len()) && text.bytes().all(is_url) && is_match(text) {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid::new("off, default, or a URL of letters, digits and - . _ ~ / : , ? & ="))
    }
}

impl fmt::Display for LocationPart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// NGINX takes a text behind `~`, and `~*`, for a regular expression; it must be one. The alphabets have no parentheses, so that it has no groups.
fn is_match(text: &str) -> bool {
    text.strip_prefix('~').is_none_or(|pattern| pattern.parse::<Pattern>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_replacement_is_off_or_two_words() {
        for text in ["off", "localhost example.org", "~\\.x y"] {
            let parsed = text.parse::<CookieDomainReplacement>();
            assert_eq!(parsed.is_ok(), !text.contains('\\'), "{text}");
        }
        assert_eq!(" /one/   / ".parse::<CookiePathReplacement>().unwrap().to_string(), "/one/ /");
        assert_eq!("off".parse(), Ok(CookiePathReplacement::Off));
        for text in ["", "one", "a b c", "a; b", "a $b", "a \"b\"", "~? x", "a\u{a0}b c"] {
            assert!(text.parse::<CookiePathReplacement>().is_err(), "{text:?}");
        }
        assert!("/a?b c".parse::<CookieDomainReplacement>().is_err());
    }

    #[test]
    fn a_part_of_a_location_is_one_word() {
        for text in ["off", "default", "http://a.com/b?c=d", "~/a.b"] {
            assert_eq!(text.parse::<LocationPart>().unwrap().to_string(), text);
        }
        for text in ["", "a b", "a;", "$a", "~?a", "a\n"] {
            assert!(text.parse::<LocationPart>().is_err(), "{text:?}");
        }
    }
}
