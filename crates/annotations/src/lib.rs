//! One table for annotations ([`ANNOTATIONS`]) and one for the keys of the main ConfigMap ([`CONFIG_KEYS`]).
//!
//! Text in, typed values and findings out: [`parse()`] gives the [`Spec`] of an Ingress, [`Config::parse`] the global settings.
//! The reference pages under `docs/reference` are generated from the tables.

mod config;
mod entries;
mod known;
mod parse;
mod spec;
mod table;

pub use config::{CONFIG_KEYS, Config, ConfigEntry, ConfigFinding, HeaderBuffers, Workers};
pub use entries::ANNOTATIONS;
pub use parse::{Finding, FindingKind, Parsed, Policy, Verdict, parse};
pub use spec::{LoadBalance, Spec};
pub use table::{Applies, Draft, Entry, OnEmpty, OnInvalid, Risk, Scope};
