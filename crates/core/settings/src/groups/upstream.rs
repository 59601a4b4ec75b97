//! Choice of the endpoint.

use std::fmt;
use std::str::FromStr;

use ngx_value::{Invalid, parse_bool};
use serde::Serialize;

use super::common::{self, BOOL, LOCATION};
use crate::config::grammar::{self, LOAD_BALANCE};
use crate::config::table::settings;
use crate::parse::FindingKind;
use crate::table::{Applies, Draft, Entry, Group, OnEmpty, OnInvalid, Scope};

const DOC: &str = "These belong to a backend (Service and port), which all paths that use it share: the first Ingress that refers to it decides. \
    Cookie affinity comes before `upstream-hash-by`, and that before `load-balance`.";

pub(super) static GROUP: Group = Group {
    title: "Choice of the endpoint",
    doc: DOC,
    entries: ENTRIES,
    keys: KEYS,
    clear: |spec| spec.upstream = Upstream::default(),
    ..common::GROUP
};

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Upstream {
    /// `load-balance`.
    pub load_balance: Option<LoadBalance>,
    /// `service-upstream`: the Service's own address is the only endpoint.
    pub service_upstream: Option<bool>,
}

settings! {
    /// The same for all Ingresses.
    UpstreamDefaults in upstream;

    /// How a backend chooses an endpoint.
    load_balance: LoadBalance = LoadBalance::RoundRobin, LOAD_BALANCE, "ewma", [Backends];
    /// Use a Service's own address instead of its endpoints.
    service_upstream: bool = false, grammar::BOOL, "true", [Backends];
}

static ENTRIES: &[Entry] = &[
    Entry {
        name: "load-balance",
        scope: Scope::Backend,
        config_key: Some("load-balance"),
        applies: Applies::Backend,
        value: "round_robin or ewma",
        doc: "How the backend chooses an endpoint: in turn, or the one of two that answered quicker of late.",
        example: "ewma",
        on_invalid: OnInvalid::Refuse,
        parse: load_balance,
        ..LOCATION
    },
    Entry {
        name: "service-upstream",
        scope: Scope::Backend,
        config_key: Some("service-upstream"),
        applies: Applies::Backend,
        value: BOOL,
        doc: "Use the Service's own address and port as the only endpoint. Anything else, even nothing, counts as `false`.",
        example: "true",
        on_empty: OnEmpty::Value,
        parse: service_upstream,
        ..LOCATION
    },
];

fn load_balance(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    draft.spec.upstream.load_balance = match text.trim() {
        // They exist for the annotations about hashing and cookies, and do nothing by themselves.
        "chash" | "chashsubset" | "sticky_balanced" | "sticky_persistent" => {
            draft.note(FindingKind::Unsupported, "expected round_robin or ewma; round_robin is used");
            Some(LoadBalance::RoundRobin)
        }
        text => Some(text.parse()?),
    };
    Ok(())
}

fn service_upstream(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let value = parse_bool(text).unwrap_or_else(|invalid| {
        draft.note(FindingKind::Invalid, format!("{invalid}; false is used"));
        false
    });
    draft.spec.upstream.service_upstream = Some(value);
    Ok(())
}

/// How a backend chooses an endpoint (`load-balance`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LoadBalance {
    /// In turn, weighted.
    #[default]
    RoundRobin,
    /// The quicker of two random ones, by an exponentially weighted moving average of response times.
    Ewma,
}

impl FromStr for LoadBalance {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "round_robin" => Ok(Self::RoundRobin),
            "ewma" => Ok(Self::Ewma),
            _ => Err(Invalid::new("round_robin or ewma")),
        }
    }
}

impl fmt::Display for LoadBalance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::RoundRobin => "round_robin",
            Self::Ewma => "ewma",
        })
    }
}
