//! Access control by address, and how it combines with authentication.

use std::str::FromStr;

use ngx_value::{CidrSet, Invalid};

use super::common::{self, LOCATION, set};
use crate::config::grammar;
use crate::config::table::settings;
use crate::table::*;

pub(super) static GROUP: Group = Group {
    title: "Access control",
    doc: "Refused clients get 403. Entries that deny come first, the first match decides. The lists replace the global ones, they do not extend them.",
    entries: ENTRIES,
    keys: KEYS,
    clear: |spec| spec.access = Access::default(),
    ..common::GROUP
};

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Access {
    /// `allowlist-source-range`: only these may pass. Never empty.
    pub allowlist_source_range: Option<CidrSet>,
    /// `denylist-source-range`: these may not pass. Never empty.
    pub denylist_source_range: Option<CidrSet>,
    /// `satisfy`.
    pub satisfy: Satisfy,
}

/// How the lists of addresses and the kinds of authentication combine (`satisfy`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Satisfy {
    /// Everything that is configured must agree.
    #[default]
    All,
    /// One of them is enough.
    Any,
}

impl FromStr for Satisfy {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "all" => Ok(Self::All),
            "any" => Ok(Self::Any),
            _ => Err(Invalid::new("all or any")),
        }
    }
}

settings! {
    /// Lists of addresses of Ingresses that have none.
    AccessDefaults in access;

    /// Addresses that may use Ingresses which say nothing themselves. Empty: every client. Where nothing in the list is usable: no client.
    whitelist_source_range: CidrSet = CidrSet::default(), grammar::ALLOWED_CIDRS, "10.0.0.0/8,192.168.0.0/16", [Text, Routes];
    /// Addresses that may not use Ingresses which say nothing themselves.
    denylist_source_range: CidrSet = CidrSet::default(), grammar::CIDRS, "203.0.113.0/24", [Text, Routes];
}

const CIDRS: &str = "IP addresses and ranges such as `10.0.0.0/8`, between commas";

static ENTRIES: &[Entry] = &[
    Entry {
        name: "allowlist-source-range",
        aliases: &["whitelist-source-range"],
        config_key: Some("whitelist-source-range"),
        doc: "Only clients with these addresses may pass. One bad item, or none at all, closes the locations.",
        parse: |text, draft| set(&mut draft.spec.access.allowlist_source_range, ranges(text)),
        ..SOURCE_RANGE
    },
    Entry {
        name: "denylist-source-range",
        config_key: Some("denylist-source-range"),
        doc: "Clients with these addresses may not pass. One bad item, or none at all, closes the locations.",
        parse: |text, draft| set(&mut draft.spec.access.denylist_source_range, ranges(text)),
        ..SOURCE_RANGE
    },
    Entry {
        name: "satisfy",
        applies: Applies::Route,
        value: "all or any",
        doc: "Whether a client needs the consent of all of them (address lists, password, external authentication) or of one.",
        example: "any",
        guard: Guard::Shapes,
        parse: |text, draft| match text.trim() {
            "" => Ok(()),
            text => set(&mut draft.spec.access.satisfy, text.parse()),
        },
        ..LOCATION
    },
];

/// What the two lists have in common.
const SOURCE_RANGE: Entry = Entry {
    risk: Risk::Medium,
    value: CIDRS,
    example: "10.0.0.0/8,192.168.1.7",
    on_invalid: OnInvalid::Deny,
    on_empty: OnEmpty::Value,
    guard: Guard::Protects,
    ..LOCATION
};

fn ranges(text: &str) -> Result<Option<CidrSet>, Invalid> {
    let set: CidrSet = text.parse()?;
    if set.is_empty() { Err(Invalid::new("at least one IP address or range such as 10.0.0.0/8")) } else { Ok(Some(set)) }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good};
    use super::*;
    use crate::parse::FindingKind::{Invalid, Surprise};
    use crate::parse::ParseVerdict;

    #[test]
    fn ranges_are_sorted_and_an_older_name_counts() {
        let access = good(&[("allowlist-source-range", "18.0.0.0/8, 56.0.0.1/8,18.0.0.0/8"), ("denylist-source-range", "::1")]).access;
        assert_eq!(access.allowlist_source_range.unwrap().to_string(), "18.0.0.0/8,56.0.0.0/8");
        assert_eq!(access.denylist_source_range.unwrap().to_string(), "::1");
        assert_eq!(good(&[("whitelist-source-range", "1.1.1.1")]).access.allowlist_source_range.unwrap().to_string(), "1.1.1.1");
        assert!(good(&[("allowlist-source-range", ""), ("whitelist-source-range", "1.1.1.1")]).access.allowlist_source_range.is_some());
    }

    #[test]
    fn a_bad_or_empty_list_closes_the_locations() {
        for name in ["allowlist-source-range", "denylist-source-range"] {
            for value in ["", " ", "1.1.1.1,", "1.1.1.1,x", "1.1.1.1/33", "1.1.1.1;", "$remote_addr"] {
                let access = bad(&[(name, value)], ParseVerdict::Denied, &[(name, Invalid, "expected ")]).access;
                assert_eq!((access.allowlist_source_range, access.denylist_source_range), (None, None), "{name}: {value:?}");
            }
        }
        bad(&[("whitelist-source-range", "x")], ParseVerdict::Denied, &[("whitelist-source-range", Invalid, "expected ")]);
    }

    #[test]
    fn allowlist_source_range_wins_over_its_older_name_whitelist_source_range() {
        let pairs = [("allowlist-source-range", "1.1.1.1"), ("whitelist-source-range", "2.2.2.2")];
        let spec = bad(&pairs, ParseVerdict::Accepted, &[("whitelist-source-range", Surprise, "allowlist-source-range is set as well")]);
        assert_eq!(spec.access.allowlist_source_range.unwrap().to_string(), "1.1.1.1");
    }

    #[test]
    fn an_unknown_combination_is_the_strict_one() {
        assert_eq!(good(&[("satisfy", " any ")]).access.satisfy, Satisfy::Any);
        assert_eq!(good(&[("satisfy", " ")]).access.satisfy, Satisfy::All);
        let spec = bad(&[("satisfy", "Any")], ParseVerdict::Accepted, &[("satisfy", Invalid, "expected all or any; it is ignored")]);
        assert_eq!(spec.access.satisfy, Satisfy::All);
    }
}
