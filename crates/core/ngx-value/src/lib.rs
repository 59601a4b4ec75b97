//! Values that cannot hold a breakout, and the one place that escapes.
//!
//! Every type has `FromStr` with an error that says what was expected ([`Invalid`]), and `Display` that parses back to the same value.
//! What an Ingress, a Secret or a ConfigMap says becomes one of these types or nothing.

pub mod directives;
pub mod lexer;

mod blocked;
mod cache;
mod cidr;
mod cipher;
mod expression;
mod fastcgi;
mod firewall;
mod hash_key;
mod host;
mod invalid;
mod local;
mod log;
mod method;
mod names;
mod newtype;
mod number;
mod origin;
mod pattern;
mod plain;
mod quote;
mod regex;
mod rename;
mod replace;
mod size;
mod snippet;
mod status;
mod template;
#[cfg(test)]
mod testing;
mod time;
mod tokens;
mod url;
mod variable;
mod words;

pub use blocked::HeaderPattern;
pub use cache::{CacheRule, CacheRules};
pub use cidr::{Cidr, CidrSet};
pub use cipher::{CipherList, GroupList};
pub use expression::{Expression, HeaderTemplate, HeaderValue};
pub use fastcgi::{FastcgiName, FastcgiValue};
pub use firewall::FirewallRules;
pub use hash_key::HashKey;
pub use host::HostName;
pub use invalid::Invalid;
pub use local::{LOCAL_NETWORKS, is_local_name, local_address};
pub use log::{ErrorLogTarget, LogParameter, LogTarget, SyslogHost};
pub use method::Method;
pub use names::{LocationName, QueryName, Realm, ServiceName, SpanName};
pub use number::{parse_bool, parse_integer, parse_integer_literal, parse_on_off};
pub use origin::Origin;
pub use pattern::Pattern;
pub use plain::{BasicText, CookieDomain, CookieName, CookiePath, RedirectUrl};
pub use quote::{Text, json_in_lua, quote, quote_template, quote_text};
pub use regex::{PathRegex, Regex};
pub use rename::{refers_to, rename_variable};
pub use replace::{CookieDomainReplacement, CookiePathReplacement, LocationPart};
pub use size::Size;
pub use snippet::{Snippet, SnippetError};
pub use status::ErrorStatus;
pub use template::{Part, RewriteTarget, Template, VhostTemplate};
pub use time::{Seconds, Time, parse_duration};
pub use tokens::TokenList;
pub use url::{RedirectTemplate, UrlTemplate};
pub use variable::{
    built_in as built_in_variables, is_built_in as is_built_in_variable, is_expanded as is_expanded_variable,
    is_known as is_known_variable, is_stream as is_stream_variable, of_places as place_variables, of_stream as stream_variables,
};
pub use words::{HeaderName, HttpVersion, Identifier, LogLevel, NextUpstream, RetryCondition, TlsProtocol, Word};
