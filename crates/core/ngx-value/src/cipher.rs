//! Lists of ciphers, and of groups for the key exchange.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

/// Ciphers up to TLS 1.2 as OpenSSL lists them (ciphers(1)): items with `:` between them; at most 4000 bytes, not empty. Spaces and commas also
/// separate when it is read.
///
/// An item is made of commands: a name, or several joined by `+`; one of `! + -` and a name; `@STRENGTH` or `@SECLEVEL=` 0 to 5. Another command
/// may follow without a separator where it begins with `!` or `@`; of what follows a command with `@` OpenSSL reads nothing.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CipherList(String);

const EXPECTED: Invalid = Invalid::new("a list of ciphers such as ECDHE-RSA-AES128-GCM-SHA256:HIGH:!aNULL");

impl CipherList {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for CipherList {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let items: Vec<&str> = text.split([':', ' ', ',']).filter(|item| !item.is_empty()).collect();
        if items.is_empty() || text.len() > 4000 || !items.iter().all(|item| is_item(item)) {
            return Err(EXPECTED);
        }
        Ok(Self(items.join(":")))
    }
}

impl fmt::Display for CipherList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_item(item: &str) -> bool {
    let plain = |byte: u8| is_name(byte) || matches!(byte, b'!' | b'+' | b'@');
    let mut rest = item;
    while !rest.is_empty() {
        let (special, command) = match rest.strip_prefix(['!', '+', '-', '@']) {
            Some(command) => (rest.starts_with('@'), command),
            None => (false, rest),
        };
        // Names joined by `+`: the last one may be missing.
        let joined = |byte: u8| is_name(byte) || (byte == b'+' && !special);
        let end = command.bytes().position(|byte| !joined(byte)).unwrap_or(command.len());
        let (name, after) = command.split_at(end);
        if name.is_empty() || name.starts_with('+') {
            return false;
        }
        if special {
            let level = name.strip_prefix("SECLEVEL=").is_some_and(|level| matches!(level.as_bytes(), [b'0'..=b'5']));
            return (level || name == "STRENGTH") && after.bytes().all(plain);
        }
        rest = after;
    }
    true
}

const fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.' | b'=')
}

/// Curves and groups for the key exchange, as OpenSSL lists them, or `auto`: names with `:` or `/` between them, each once; at most 1000 bytes, not empty.
/// Before a name OpenSSL 3.5 knows `?` (not refused where it is unknown), `*` (a key share is sent) and `-` (taken out).
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupList(String);

impl GroupList {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for GroupList {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut seen = Vec::new();
        let is_group = |group: &str| {
            let name = group.trim_start_matches(['?', '*', '-']);
            let is_new = !seen.iter().any(|other: &String| other.eq_ignore_ascii_case(name));
            seen.push(name.to_owned());
            !name.is_empty() && is_new && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        };
        if text.len() <= 1000 && text.split([':', '/']).all(is_group) {
            return Ok(Self(text.to_owned()));
        }
        Err(Invalid::new("names of groups between colons such as X25519:prime256v1, each once, or auto"))
    }
}

impl fmt::Display for GroupList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_list_has_items_between_colons_or_spaces() {
        for (text, printed) in [
            ("HIGH", "HIGH"),
            ("ALL:!aNULL:!EXPORT56:RC4+RSA:+HIGH:+EXP", "ALL:!aNULL:!EXPORT56:RC4+RSA:+HIGH:+EXP"),
            (" A: B C ", "A:B:C"),
            ("DEFAULT:@STRENGTH:@SECLEVEL=0", "DEFAULT:@STRENGTH:@SECLEVEL=0"),
            ("RC4+RSA@STRENGTH:+HIGH@SECLEVEL=0", "RC4+RSA@STRENGTH:+HIGH@SECLEVEL=0"),
            ("HIGH!aNULL!MD5@SECLEVEL=2,TLSv1.2", "HIGH!aNULL!MD5@SECLEVEL=2:TLSv1.2"),
            ("DEFAULT@STRENGTH@SECLEVEL=1", "DEFAULT@STRENGTH@SECLEVEL=1"),
        ] {
            assert_eq!(text.parse::<CipherList>().unwrap().as_str(), printed, "{text}");
        }
        for text in [
            "",
            " ",
            ":",
            "A;",
            "A\n",
            "!",
            "A:+",
            "A!",
            "@",
            "@SECLEVEL=6",
            "@SECLEVEL=10",
            "A@SECLEVEL=",
            "@strength",
            "'A'",
            "$a",
            "A@STRENGTH;",
        ] {
            assert!(text.parse::<CipherList>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn groups_stand_between_colons_each_once() {
        for text in ["auto", "X25519:prime256v1", "?X25519MLKEM768:*X25519/P-256", "P-384"] {
            assert_eq!(text.parse::<GroupList>().unwrap().as_str(), text);
        }
        for text in ["", ":", "X25519:", "X25519:x25519", "a b", "a;", "a\"", "?", "é"] {
            assert!(text.parse::<GroupList>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_list_or_an_error(text in "[A-C@!+=:;, -]{0,20}") {
            if let Ok(list) = text.parse::<CipherList>() {
                prop_assert_eq!(list.to_string().parse(), Ok(list));
            }
        }
    }
}
