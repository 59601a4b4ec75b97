//! Rules of the web application firewall.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

/// Rules in the language of ModSecurity: whole lines, not empty, at most 64 KiB, no control characters but line breaks and tabs.
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

    /// Blanks and line breaks around the text are dropped.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let text = text.trim().replace("\r\n", "\n");
        let valid = (1..MAX_BYTES).contains(&text.len()) && !text.contains(|c: char| c.is_control() && c != '\n' && c != '\t');
        if valid { Ok(Self(format!("{text}\n"))) } else { Err(Invalid::new("rules of at most 64 KiB without control characters")) }
    }
}

impl fmt::Display for FirewallRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
