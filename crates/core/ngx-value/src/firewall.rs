//! Rules of the web application firewall.

use std::fmt;
use std::str::FromStr;

use crate::{Invalid, lexer};

/// Rules in the language of ModSecurity: whole lines, not empty, at most 64 KiB, no control characters but line breaks and tabs.
///
/// It is written as the content of a quoted word of NGINX, where such rules usually stand (`modsecurity_rules '...'`): `\\`, `\"` and
/// `\'` stand for a backslash and quotes, `\n`, `\r` and `\t` for control characters. A quote that would end the word may stand as it is.
///
/// It is the text of a file of its own (`modsecurity_rules_file`), never part of `nginx.conf`. It ends in a line break.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FirewallRules(String);

const MAX_BYTES: usize = 65_536;

impl FirewallRules {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for FirewallRules {
    type Err = Invalid;

    /// Spaces and line breaks around the text are dropped, escapes are resolved.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = text.trim().replace("\r\n", "\n");
        let valid = (1..MAX_BYTES).contains(&text.len()) && !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t');
        let text = lexer::unescaped(&text);
        if valid { Ok(Self(format!("{text}\n"))) } else { Err(Invalid::new("rules of at most 64 KiB without control characters")) }
    }
}

impl fmt::Display for FirewallRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As it is written: reading it gives the same rules.
        f.write_str(&self.0.replace('\\', "\\\\").replace('\r', "\\r"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_are_written_as_the_content_of_a_quoted_word() {
        for (written, meant) in [
            (r#""@rx ^block\\.ua$""#, r#""@rx ^block\.ua$""#),
            (r#""@rx ^block\.ua$""#, r#""@rx ^block\.ua$""#),
            (r#"SecRule ARGS \"@rx a\" \"id:1,msg:\'b\'\""#, r#"SecRule ARGS "@rx a" "id:1,msg:'b'""#),
            (r"a\tb\nc\rd\\ne\d", "a\tb\nc\rd\\ne\\d"),
            ("SecRule ARGS \\\n  \"@rx a\"", "SecRule ARGS \\\n  \"@rx a\""),
            ("'", "'"),
        ] {
            let rules: FirewallRules = written.parse().unwrap();
            assert_eq!(rules.as_str(), format!("{meant}\n"), "{written}");
            assert_eq!(rules.to_string().parse(), Ok(rules));
        }
    }

    #[test]
    fn rules_are_lines() {
        let rules: FirewallRules = "\n SecRuleEngine On\r\nSecRule ARGS \"@rx 'a;}'\" \"id:1,deny\"\n\n".parse().unwrap();
        assert_eq!(rules.as_str(), "SecRuleEngine On\nSecRule ARGS \"@rx 'a;}'\" \"id:1,deny\"\n");
        assert_eq!(rules.to_string().parse(), Ok(rules));
        for text in ["", " \n", "a\0", "a\rb", "a\u{1b}", &"a".repeat(MAX_BYTES)] {
            assert!(text.parse::<FirewallRules>().is_err(), "{text:?}");
        }
    }
}
