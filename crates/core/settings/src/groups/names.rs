//! Names of a host.

use std::collections::BTreeSet;

use ngx_value::{HostName, Invalid, Pattern};

use super::common::{self, LOCATION};
use crate::parse::FindingKind;
use crate::rare::Rare;
use crate::table::{Draft, Entry, Group, OnInvalid, Risk, Scope};

pub(super) static GROUP: Group =
    Group { title: "Names of a host", entries: ENTRIES, clear: |spec| spec.names = Rare::default(), ..common::GROUP };

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Names {
    /// `server-alias`: further names of the host, sorted, without duplicates.
    pub server_alias: Vec<HostName>,
    /// Those of `server-alias` that are regular expressions, without the `~` before them; sorted, without duplicates.
    pub server_alias_patterns: Vec<Pattern>,
}

static ENTRIES: &[Entry] = &[Entry {
    name: "server-alias",
    scope: Scope::Host,
    risk: Risk::High,
    value: "host names between commas; `*.` for all sub-domains, `~` before a regular expression",
    doc: "Further names of the host. A name that is the host of a rule somewhere is dropped; the oldest Ingress of the host that lists any decides.",
    example: "www.example.com,*.example.org",
    on_invalid: OnInvalid::Refuse,
    parse: server_alias,
    ..LOCATION
}];

fn server_alias(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let (mut names, mut patterns) = (BTreeSet::new(), BTreeSet::new());
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        if let Some(pattern) = item.strip_prefix('~').filter(|_| item.bytes().all(is_pattern)) {
            match pattern.parse::<Pattern>() {
                Ok(pattern) => drop(patterns.insert(pattern)),
                Err(invalid) => draft.note(FindingKind::Invalid, format!("{item:?}: {invalid}; it is left out")),
            }
            continue;
        }
        match item.parse::<HostName>() {
            Ok(name) => drop(names.insert(name)),
            Err(invalid) if item.bytes().all(is_pattern) => {
                draft.note(FindingKind::Unsupported, format!("{item:?}: {invalid}; it is left out"));
            }
            Err(_) => return Err(Invalid::new("host names such as www.example.com or *.example.com, between commas")),
        }
    }
    *draft.spec.names = Names { server_alias: names.into_iter().collect(), server_alias_patterns: patterns.into_iter().collect() };
    Ok(())
}

fn is_pattern(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/' | b':' | b'^' | b'$' | b'[' | b']' | b'(' | b')' | b'{' | b'}')
        || matches!(byte, b'*' | b'+' | b'?' | b'&' | b'=' | b'\\' | b'|')
}
