//! Consistent hashing.

use ngx_value::{HashKey, Invalid, parse_bool, parse_integer};

use super::common::{self, BOOL, LOCATION, without_blanks};
use crate::rare::Rare;
use crate::table::{Applies, Draft, Entry, Group, Needs, OnEmpty, OnInvalid, Risk, Scope};

pub(super) static GROUP: Group = Group {
    title: "Consistent hashing",
    doc: "Requests with the same key go to the same endpoint. An empty value of any of these annotations switches hashing off.",
    entries: ENTRIES,
    clear: |spec| spec.hashing = Rare::default(),
    ..common::GROUP
};

/// What these annotations ask for. Empty without `by`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Hashing {
    /// `upstream-hash-by`: what requests are hashed by.
    pub upstream_hash_by: Option<HashKey>,
    /// `upstream-hash-by-subset`: hash to a subset of the endpoints and take any of it.
    pub upstream_hash_by_subset: bool,
    /// `upstream-hash-by-subset-size`, where it is given.
    pub upstream_hash_by_subset_size: Option<u32>,
}

impl Hashing {
    /// How many endpoints a subset has, at least 1. `None`: there are no subsets.
    pub fn subset_size(&self) -> Option<u32> {
        self.upstream_hash_by_subset.then(|| self.upstream_hash_by_subset_size.unwrap_or(3))
    }
}

const HASHING: Entry = Entry {
    scope: Scope::Backend,
    applies: Applies::Backend,
    on_invalid: OnInvalid::Refuse,
    on_empty: OnEmpty::Value,
    companions: &[("upstream-hash-by", "$request_uri")],
    needs: Some(Needs { what: "upstream-hash-by", met: |spec| spec.hashing.upstream_hash_by.is_some() }),
    ..LOCATION
};

static ENTRIES: &[Entry] = &[
    Entry {
        name: "upstream-hash-by",
        risk: Risk::High,
        value: "letters, digits, `-` and `_` with variables such as `$request_uri` or `${host}`",
        doc: "What requests are hashed by. Variables that do not exist are empty.",
        example: "$request_uri",
        companions: &[],
        needs: None,
        parse: |text, draft| {
            draft.spec.hashing.upstream_hash_by = some(text, draft).and_then(without_blanks)?;
            Ok(())
        },
        ..HASHING
    },
    Entry {
        name: "upstream-hash-by-subset",
        value: BOOL,
        doc: "Hash to a subset of the endpoints, and take any of it: for many requests with the same key.",
        example: "true",
        parse: |text, draft| {
            draft.spec.hashing.upstream_hash_by_subset = some(text, draft).and_then(parse_bool)?;
            Ok(())
        },
        ..HASHING
    },
    Entry {
        name: "upstream-hash-by-subset-size",
        value: "a whole number; 0 means 3",
        doc: "How many endpoints a subset has. Without it: 3.",
        example: "5",
        companions: &[("upstream-hash-by", "$request_uri"), ("upstream-hash-by-subset", "true")],
        parse: |text, draft| {
            draft.spec.hashing.upstream_hash_by_subset_size = some(text, draft).and_then(size)?;
            Ok(())
        },
        ..HASHING
    },
];

/// Something: nothing switches the group off.
fn some<'a>(text: &'a str, draft: &mut Draft) -> Result<&'a str, Invalid> {
    if !text.is_empty() {
        return Ok(text);
    }
    draft.on_invalid(OnInvalid::DropGroup);
    Err(Invalid::new("a value"))
}

fn size(text: &str) -> Result<Option<u32>, Invalid> {
    const EXPECTED: Invalid = Invalid::new("a whole number from 0 to 4294967295");
    let size = parse_integer(text).ok().and_then(|size| u32::try_from(size).ok()).ok_or(EXPECTED)?;
    Ok(Some(size).filter(|size| *size > 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::testing::{bad, good};
    use crate::parse::FindingKind::{Invalid as Bad, Surprise};
    use crate::parse::ParseVerdict::{Accepted, Refused};

    const BY: (&str, &str) = ("upstream-hash-by", "$request_uri");

    #[test]
    fn requests_are_hashed_by_a_text_with_variables() {
        let spec = good(&[("upstream-hash-by", "${host} $arg_user")]);
        assert_eq!((spec.hashing.upstream_hash_by.as_ref().unwrap().as_str(), spec.hashing.subset_size()), ("${host}$arg_user", None));
        for text in ["$", "a;b", "$request_uri\n", "ngx.var"] {
            bad(&[("upstream-hash-by", text)], Refused, &[("upstream-hash-by", Bad, "expected letters")]);
        }
    }

    #[test]
    fn a_subset_has_three_endpoints_unless_told_otherwise() {
        for (size, expected) in [("0", 3), ("5", 5)] {
            let spec = good(&[BY, ("upstream-hash-by-subset", "true"), ("upstream-hash-by-subset-size", size)]);
            assert_eq!(spec.hashing.subset_size(), Some(expected));
        }
        assert_eq!(good(&[BY, ("upstream-hash-by-subset", "true")]).hashing.subset_size(), Some(3));
        assert_eq!(good(&[BY, ("upstream-hash-by-subset-size", "5")]).hashing.subset_size(), None);
        bad(&[BY, ("upstream-hash-by-subset", "yes")], Refused, &[("upstream-hash-by-subset", Bad, "expected true or false")]);
        bad(&[BY, ("upstream-hash-by-subset-size", "-1")], Refused, &[("upstream-hash-by-subset-size", Bad, "expected a whole number")]);
    }

    #[test]
    fn an_empty_value_switches_hashing_off() {
        let found = [("upstream-hash-by-subset", Bad, "expected a value; all annotations of the group \"Consistent hashing\" are ignored")];
        let spec = bad(&[BY, ("upstream-hash-by-subset", "")], Accepted, &found);
        assert_eq!(spec.hashing, Hashing::default());
        assert_eq!(good(&[("upstream-hash-by", "")]).hashing, Hashing::default());
    }

    #[test]
    fn a_subset_needs_a_key() {
        let found = [("upstream-hash-by-subset", Surprise, "it has no effect without upstream-hash-by")];
        bad(&[("upstream-hash-by-subset", "true")], Accepted, &found);
    }
}
