//! One table for annotations ([`ANNOTATIONS`]) and one for the keys of the main ConfigMap ([`CONFIG_KEYS`]).
//!
//! Text in, typed values and findings out: [`parse()`] gives the [`Spec`] of an Ingress, [`Config::parse`] the global settings.
//! The reference pages under `docs/reference` are generated from the tables.

mod arguments;
mod config;
mod describe;
mod effective;
pub mod groups;
mod guards;
mod known;
mod name;
mod parse;
mod policy;
mod rare;
mod reference;
mod spec;
mod table;

pub use arguments::Arguments;
pub use config::{
    CONFIG_KEYS, Config, ConfigEntry, ConfigFinding, CpuAffinity, Derived, Directive, HeaderBuffers, HeaderDefaults, SnippetDefaults,
    StreamDefaults, TicketKey, Workers, shown,
};
pub use config::{LARGEST_DICTIONARY, is_own_dictionary, sized_dictionaries};
pub use describe::{Description, describe, descriptions, descriptions_of};
pub use effective::Effective;
pub use groups::{
    ANNOTATIONS, AuthScheme, ClientCa, ClientTls, ExternalAuth, GROUPS, Keepalive, LoadBalance, ObservabilityDefaults, Satisfy,
    SecretLayout, TlsErrorPage, VerifyClient, annotation,
};
pub use guards::Guards;
pub use known::did_you_mean;
pub use name::dashes;
pub use parse::{Finding, FindingKind, ParseVerdict, Parsed, Policy, parse};
pub use rare::Rare;
pub use reference::Reference;
pub use spec::Spec;
pub use table::{Applies, Draft, Entry, Group, Guard, Needs, OnEmpty, OnInvalid, Risk, Scope, Since};
