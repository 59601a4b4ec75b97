//! Values that cannot hold a breakout, and the one place that escapes.
//!
//! Every type has `FromStr` with an error that says what was expected ([`Invalid`]), and `Display` that parses back to the same value.
//! What an Ingress, a Secret or a ConfigMap says becomes one of these types or nothing.

pub mod lexer;

mod cidr;
mod host;
mod invalid;
mod number;
mod quote;
mod regex;
mod size;
mod snippet;
mod template;
mod time;
mod words;

pub use cidr::{Cidr, CidrSet};
pub use host::HostName;
pub use invalid::Invalid;
pub use number::{parse_bool, parse_integer, parse_integer_literal, parse_on_off};
pub use quote::{Text, json_in_lua, quote, quote_template, quote_text};
pub use regex::PathRegex;
pub use size::Size;
pub use snippet::{Snippet, SnippetError};
pub use template::{Part, RewriteTarget, Template, VhostTemplate};
pub use time::{Seconds, Time};
pub use words::{HeaderName, HttpVersion, Identifier, LogLevel, NextUpstream, RetryCondition, TlsProtocol, Word};
