//! Parameters of FastCGI.

use std::borrow::Borrow;
use std::fmt;
use std::str::FromStr;

use crate::Invalid;
use crate::template::{Part, parts};
use crate::variable::is_known;
use crate::words::word;

word! {
    /// A file name or the name of a parameter: letters, digits and `. - _`; at most 256 bytes, not empty.
    FastcgiName,
    "a name of letters, digits and . - _",
    |text| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_');
        (1..=256).contains(&text.len()) && text.bytes().all(allowed)
    }
}

/// The value of a parameter: letters, digits and `- _ / . { }` with `$name` and `${name}`; at most 4000 bytes, may be empty.
///
/// Variables are those that tenants may use, and those that say where a script lies. Print it with [`crate::quote()`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FastcgiValue(String);

/// Variables that make sense here only.
const OWN: &[&str] = &["document_root", "fastcgi_path_info", "fastcgi_script_name", "realpath_root", "request_filename"];

impl FastcgiValue {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The text in pieces, without captures.
    pub fn parts(&self) -> Vec<Part<'_>> {
        parts(&self.0).expect("the text was cut once when it was read")
    }
}

impl FromStr for FastcgiValue {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'$' | b'{' | b'}' | b'/' | b'.');
        let usable = |part: &Part<'_>| match part {
            Part::Literal(text) => !text.contains(['{', '}']),
            Part::Capture(_) => false,
            Part::Variable(name) => is_known(name) || OWN.contains(name),
        };
        if text.len() <= 4000 && text.bytes().all(allowed) && parts(text).is_some_and(|parts| parts.iter().all(usable)) {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid::new("letters, digits and - _ / . with variables such as $fastcgi_script_name"))
    }
}

impl fmt::Display for FastcgiValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_word() {
        for text in ["index.php", "SCRIPT_FILENAME", "a-b"] {
            assert_eq!(text.parse::<FastcgiName>().unwrap().as_str(), text);
        }
        for text in ["", "a b", "a/b", "a;", "$a", "a\n"] {
            assert!(text.parse::<FastcgiName>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_value_may_have_variables_but_no_syntax() {
        for text in ["", "200", "$fastcgi_script_name", "$document_root${fastcgi_script_name}", "/srv/app.d"] {
            assert_eq!(text.parse::<FastcgiValue>().unwrap().to_string(), text);
        }
        for text in ["$", "$nginx_version", "$1", "{a}", "a b", "a;b", "\"", "a\n"] {
            assert!(text.parse::<FastcgiValue>().is_err(), "{text:?}");
        }
    }
}
