//! The sizes of NGINX's shared dictionaries.

use std::collections::{BTreeMap, BTreeSet};

use ngx_value::{Identifier, Invalid, Size, parse_integer};

use super::grammar::{Grammar, items};

/// `name:size` between commas, over the defaults. No unit is mebibytes.
pub(super) const DICTS: Grammar<BTreeMap<Identifier, Size>> = Grammar {
    value: "name:size pairs between commas; k or m behind the number, none means m; 8k to 200m each, at most 100 pairs",
    read: |text, notes| {
        let mut dicts = defaults();
        for item in items(text) {
            match pair(item) {
                Ok((name, size)) if dicts.len() < MAX_DICTS || dicts.contains_key(&name) => {
                    dicts.insert(name, size);
                }
                Ok(_) => notes.push(format!("{item:?}: more than {MAX_DICTS} dictionaries; it is left out")),
                Err(invalid) => notes.push(format!("{item:?}: {invalid}; it is left out")),
            }
        }
        Ok(dicts)
    },
    print: |dicts| dicts.iter().map(|(name, size)| format!("{name}:{}k", size.bytes / 1024)).collect::<Vec<_>>().join(","),
};

const MAX_DICTS: usize = 100;
/// Names of other memory that the workers share (`ssl_session_cache`).
const RESERVED: [&str; 1] = ["SSL"];
const EXPECTED: Invalid = Invalid::new("a name and a size from 8k to 200m, such as configuration_data:60");

/// Those that the controller fills, with mebibytes. Routes live in `configuration_data`, so it is larger than the predecessor's.
const OURS: [(&str, u32); 13] = [
    ("auth_nonces", 5),
    ("auth_verdicts", 10),
    ("balancer_ewma", 10),
    ("balancer_ewma_last_touched_at", 10),
    ("balancer_ewma_locks", 1),
    ("certificate_data", 20),
    ("certificate_servers", 5),
    ("configuration_data", 64),
    ("limit_conn", 5),
    ("limit_req", 20),
    ("ocsp_response_cache", 5),
    ("otel_spans", 8),
    ("request_metrics", 8),
];

pub(super) fn defaults() -> BTreeMap<Identifier, Size> {
    let size = |(name, mebibytes): (&str, u32)| (name.parse().expect("the names above are identifiers"), Size::mib(mebibytes));
    OURS.into_iter().map(size).collect()
}

/// Whether a shared dictionary of this name is one that the controller fills itself.
pub fn is_ours(name: &str) -> bool {
    OURS.iter().any(|(own, _)| *own == name)
}

/// The dictionaries that a value of `lua-shared-dicts` gives a size.
pub fn sized_dictionaries(value: &str) -> BTreeSet<Identifier> {
    items(value).filter_map(|item| Some(pair(item).ok()?.0)).collect()
}

/// The largest dictionary.
pub const LARGEST_DICTIONARY: Size = Size::mib(200);

/// Whether a dictionary of ours comes to have this name when its size changes.
fn is_second_name(name: &str) -> bool {
    name.strip_suffix("_resized").is_some_and(is_ours)
}

fn pair(item: &str) -> Result<(Identifier, Size), Invalid> {
    let item: String = item.split_ascii_whitespace().collect();
    let (name, size) = item.split_once(':').ok_or(EXPECTED)?;
    let (digits, unit) = match size.as_bytes().last() {
        Some(b'k' | b'K') => (&size[..size.len() - 1], 1 << 10),
        Some(b'm' | b'M') => (&size[..size.len() - 1], 1 << 20),
        _ => (size, 1 << 20),
    };
    let count = parse_integer(digits).ok().and_then(|count| u64::try_from(count).ok()).ok_or(EXPECTED)?;
    let bytes = count.checked_mul(unit).filter(|bytes| (8 << 10..=LARGEST_DICTIONARY.bytes).contains(bytes)).ok_or(EXPECTED)?;
    if RESERVED.contains(&name) {
        return Err(Invalid::because(format!("another name than {name}, which NGINX's memory for TLS sessions has")));
    }
    let name: Identifier = name.parse().map_err(|_| EXPECTED)?;
    if is_second_name(name.as_str()) {
        return Err(Invalid::new("another name: one of the controller's own with _resized behind it is used while its size changes"));
    }
    Ok((name, Size { bytes }))
}
