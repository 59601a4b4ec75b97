//! The time for which answers are cached.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::status::status;
use crate::{Invalid, Seconds, Time};

/// The answers to cache, and the time for that: statuses and a time, such as `200 202 5m`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CacheRule {
    /// The statuses, 100 to 599. Empty: every status.
    pub statuses: BTreeSet<u16>,
    /// The time, in whole seconds.
    pub time: Seconds,
}

const EXPECTED: Invalid = Invalid::new("statuses and one time in whole seconds, such as 200 202 5m");

impl CacheRule {
    /// `true` if the rule covers answers with this status.
    pub fn covers(&self, status: u16) -> bool {
        self.statuses.is_empty() || self.statuses.contains(&status)
    }
}

impl FromStr for CacheRule {
    type Err = Invalid;

    /// Without a status it means 200, 301 and 302; `any` means every status.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut words: Vec<&str> = text.split_ascii_whitespace().collect();
        let time: Time = words.pop().filter(|word| is_time(word)).and_then(|word| word.parse().ok()).ok_or(EXPECTED)?;
        if !time.millis.is_multiple_of(1000) {
            return Err(EXPECTED);
        }
        let time = Seconds(u32::try_from(time.millis / 1000).map_err(|_| EXPECTED)?);
        if words.is_empty() {
            return Ok(Self { statuses: BTreeSet::from([200, 301, 302]), time });
        }
        let any = words.contains(&"any");
        words.retain(|word| *word != "any");
        let statuses = words.iter().map(|word| status(word).filter(|status| (100..=599).contains(status)).ok_or(EXPECTED));
        let statuses: BTreeSet<u16> = statuses.collect::<Result<_, _>>()?;
        Ok(Self { statuses: if any { BTreeSet::new() } else { statuses }, time })
    }
}

/// One number and one unit. A bare number would be a status that lacks its time.
fn is_time(word: &str) -> bool {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit());
    unit.len() < word.len() && matches!(unit, "ms" | "s" | "m" | "h" | "d" | "w" | "M" | "y")
}

impl fmt::Display for CacheRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.statuses.is_empty() {
            f.write_str("any ")?;
        }
        for status in &self.statuses {
            write!(f, "{status} ")?;
        }
        write!(f, "{}s", self.time)
    }
}

/// Rules in the order written; the first that covers a status decides. Read from a comma-separated list; not empty.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CacheRules(Vec<CacheRule>);

impl CacheRules {
    /// The rules.
    pub fn rules(&self) -> &[CacheRule] {
        &self.0
    }

    /// The time for which an answer with this status is cached. `None`: not at all.
    pub fn time(&self, status: u16) -> Option<Seconds> {
        self.0.iter().find(|rule| rule.covers(status)).map(|rule| rule.time)
    }
}

impl Default for CacheRules {
    /// 200, 202 and 401 for five minutes.
    fn default() -> Self {
        Self(vec![CacheRule { statuses: BTreeSet::from([200, 202, 401]), time: Seconds(300) }])
    }
}

impl FromStr for CacheRules {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        text.split(',').map(str::parse).collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for CacheRules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, rule) in self.0.iter().enumerate() {
            write!(f, "{}{rule}", if at == 0 { "" } else { "," })?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_rule_has_statuses_and_one_time() {
        for (text, printed) in [
            ("200 202 401 5m", "200 202 401 300s"),
            ("200 201 401 30m", "200 201 401 1800s"),
            ("10s", "200 301 302 10s"),
            ("any 1h", "any 3600s"),
            (" 404 1000ms ", "404 1s"),
            ("200 5m,401 0s", "200 300s,401 0s"),
        ] {
            assert_eq!(text.parse::<CacheRules>().unwrap().to_string(), printed, "{text}");
        }
        for text in
            ["", ",", "200", "200 5m,", "5m 200", "200 5m 10m", "99 5m", "600 5m", "x 5m", "200 5", "200 1500ms", "200 5m;", "200 m"]
        {
            assert!(text.parse::<CacheRules>().is_err(), "{text:?}");
        }
    }

    #[test]
    fn the_first_rule_that_covers_a_status_decides() {
        let rules: CacheRules = "200 5m,any 1m".parse().unwrap();
        assert_eq!((rules.time(200), rules.time(500)), (Some(Seconds(300)), Some(Seconds(60))));
        assert_eq!(CacheRules::default().time(403), None);
    }

    proptest! {
        #[test]
        fn any_text_is_rules_or_an_error(text in "[0-9]{0,3}[ ,anysmhd0-9]{0,14}") {
            if let Ok(rules) = text.parse::<CacheRules>() {
                prop_assert_eq!(rules.to_string().parse(), Ok(rules));
            }
        }
    }
}
