//! The main ConfigMap: typed, merged over the defaults.

mod affinity;
mod dicts;
pub(crate) mod grammar;
mod headers;
mod keys;
mod snippets;
mod stream;
pub(crate) mod table;
mod tickets;

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use ngx_value::{Invalid, Size, TlsProtocol};

use crate::groups::{ANNOTATIONS, GROUPS, misfits, unsendable_logs, withdraw_unknown};
use crate::known;
use crate::table::Since;

pub use affinity::CpuAffinity;
pub use dicts::{LARGEST_DICTIONARY, is_ours as is_own_dictionary, sized_dictionaries};
pub use headers::HeaderDefaults;
pub use keys::Config;
pub use snippets::SnippetDefaults;
pub use stream::StreamDefaults;
pub use tickets::TicketKey;

/// Every key that is supported, grouped by subject.
pub static CONFIG_KEYS: LazyLock<Vec<&'static ConfigEntry>> = LazyLock::new(|| {
    [keys::KEYS, headers::KEYS, snippets::KEYS, stream::KEYS].into_iter().chain(GROUPS.iter().map(|group| group.keys)).flatten().collect()
});

/// One key of the main ConfigMap: everything that is known about it.
#[derive(Debug)]
pub struct ConfigEntry {
    /// The key.
    pub name: &'static str,
    /// What it takes, in words: a noun phrase.
    pub value: &'static str,
    /// What it does: sentences in Markdown.
    pub doc: &'static str,
    /// A value that it takes, other than the default.
    pub example: &'static str,
    /// What is made again when it changes, besides the typed settings themselves.
    pub invalidates: &'static [Derived],
    /// The directive of the `http` block that is the value and nothing else.
    pub directive: Option<Directive>,
    /// Which controller had it first.
    pub since: Since,
    /// Why its example changes neither what is built nor the text. `None`: it does, which is checked.
    pub inert: Option<&'static str>,
    /// Puts a value into the configuration, or says what was expected. Remarks about parts of the value go into the list.
    pub set: fn(&mut Config, &str, &mut Vec<String>) -> Result<(), Invalid>,
    /// The value as text that [`ConfigEntry::set`] takes.
    pub get: fn(&Config) -> String,
    /// Whether two configurations agree on it.
    pub same: fn(&Config, &Config) -> bool,
}

/// A directive of the `http` block.
#[derive(Debug)]
pub struct Directive {
    /// Its name.
    pub name: &'static str,
    /// Its arguments. Empty: the directive is left out.
    pub arguments: fn(&Config) -> Vec<String>,
}

/// What is made from the settings, and made again when one of them changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Derived {
    /// Text of `nginx.conf`.
    Text,
    /// The records of all backends: their endpoints, and how one is chosen.
    Backends,
    /// The records of all hosts, with the policies and profiles of their routes.
    Routes,
    /// What every Ingress asks for: its annotations are read again, and all that follows from them is made again.
    Ingresses,
}

impl fmt::Display for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "reload",
            Self::Backends => "all backends are built again",
            Self::Routes => "the routes of all hosts are built again",
            Self::Ingresses => "every Ingress is read again",
        })
    }
}

impl ConfigEntry {
    /// How a change takes effect, in words.
    pub fn applies(&self) -> String {
        let lane = if self.invalidates.contains(&Derived::Text) { Derived::Text.to_string() } else { "live".to_owned() };
        let built = self.invalidates.iter().filter(|part| **part != Derived::Text).map(Derived::to_string);
        [lane].into_iter().chain(built).collect::<Vec<_>>().join("; ")
    }

    /// Whether annotations have their default here: findings about these name its value.
    pub fn is_default_of_annotations(&self) -> bool {
        ANNOTATIONS.iter().any(|annotation| annotation.config_key == Some(self.name))
    }
}

/// Something about one key that the administrator should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigFinding {
    /// The key as written.
    pub key: String,
    /// The value as written.
    pub value: String,
    /// What was expected and what happens instead: lower case, no final period, the value not repeated.
    pub detail: String,
}

impl Config {
    /// Reads the data of the ConfigMap. A key that is missing or unusable keeps its default.
    ///
    /// Findings are ordered by key. Letter case of a key does not matter unless two keys differ in nothing else: then the one
    /// written as documented wins.
    pub fn parse(data: &BTreeMap<String, String>) -> (Self, Vec<ConfigFinding>) {
        let mut config = Self::default();
        let mut findings = Vec::new();
        for (key, value) in data {
            let lower = key.to_ascii_lowercase();
            let mut details = Vec::new();
            match CONFIG_KEYS.iter().find(|entry| entry.name == lower) {
                Some(entry) if entry.name != key && data.contains_key(entry.name) => {
                    details.push(format!("{} is set as well and wins; this key is ignored", entry.name));
                }
                Some(entry) => {
                    if let Err(invalid) = (entry.set)(&mut config, value, &mut details) {
                        details.push(format!("{invalid}; the default {:?} is used", (entry.get)(&Self::default())));
                    }
                }
                None => details.push(known::config_key(&lower)),
            }
            findings.extend(details.into_iter().map(|detail| ConfigFinding { key: key.clone(), value: shown(&lower, value), detail }));
        }
        for (key, detail) in withdraw_unknown(&mut config).into_iter().chain(withdraw_http3(&mut config)) {
            let written = data.iter().find(|(written, _)| written.eq_ignore_ascii_case(key));
            let (key, value) = written.map_or((key.to_owned(), String::new()), |(key, value)| (key.clone(), value.clone()));
            findings.push(ConfigFinding { key, value, detail });
        }
        for (key, detail) in misfits(&config).into_iter().chain(unsendable_logs(&config)) {
            let value = CONFIG_KEYS.iter().find(|entry| entry.name == key).map(|entry| (entry.get)(&config)).unwrap_or_default();
            findings.push(ConfigFinding { key: key.to_owned(), value, detail });
        }
        findings.sort_by(|one, other| one.key.cmp(&other.key));
        (config, findings)
    }

    /// The keys whose effective value differs, in the order of [`CONFIG_KEYS`].
    pub fn changed_keys(&self, other: &Self) -> Vec<&'static ConfigEntry> {
        CONFIG_KEYS.iter().copied().filter(|entry| !(entry.same)(self, other)).collect()
    }
}

/// Takes HTTP/3 back where the version of TLS that it needs is off: NGINX would refuse the whole configuration. Says so.
fn withdraw_http3(config: &mut Config) -> Option<(&'static str, String)> {
    if !config.use_http3 || config.ssl_protocols.contains(&TlsProtocol::V1_3) {
        return None;
    }
    config.use_http3 = false;
    Some(("use-http3", "HTTP/3 needs TLSv1.3, which ssl-protocols leaves out; false is used".to_owned()))
}

/// Keys whose value is a secret.
const SECRET_KEYS: [&str; 1] = ["ssl-session-ticket-key"];

/// The value of a key for people: `(hidden)` where it is a secret.
pub fn shown(key: &str, value: &str) -> String {
    let is_secret = SECRET_KEYS.iter().any(|secret| secret.eq_ignore_ascii_case(key));
    if is_secret { "(hidden)".to_owned() } else { value.to_owned() }
}

/// How many NGINX workers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Workers {
    /// One for each CPU that may be used.
    Auto,
    /// So many, 1 to 512: NGINX has room for 1024 processes, and a reload has as many again.
    Count(u32),
}

impl FromStr for Workers {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "auto" => Ok(Self::Auto),
            _ => text
                .parse()
                .ok()
                .filter(|count| (1..=512).contains(count))
                .map(Self::Count)
                .ok_or(Invalid::new("auto or a number from 1 to 512")),
        }
    }
}

impl fmt::Display for Workers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Count(count) => write!(f, "{count}"),
        }
    }
}

/// Buffers for long request headers: `large_client_header_buffers`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct HeaderBuffers {
    /// How many, 1 to 1024.
    pub count: u32,
    /// How large each is, 512 bytes to 1 GiB.
    pub size: Size,
}

impl FromStr for HeaderBuffers {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let words: Vec<&str> = text.split_ascii_whitespace().collect();
        let buffers = match words.as_slice() {
            [count, size] => count.parse().ok().zip(size.parse().ok()),
            _ => None,
        };
        buffers
            .filter(|(count, size): &(u32, Size)| (1..=1024).contains(count) && (512..=1 << 30).contains(&size.bytes))
            .map(|(count, size)| Self { count, size })
            .ok_or(Invalid::new("a number from 1 to 1024 and a size from 512 to 1g, such as 4 8k"))
    }
}

impl fmt::Display for HeaderBuffers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.count, self.size)
    }
}

#[cfg(test)]
pub(crate) mod tests;
