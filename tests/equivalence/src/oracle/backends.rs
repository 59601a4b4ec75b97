//! Backends as `upstream` blocks, and canaries as maps from headers and cookies of a request to one of two.

use std::collections::BTreeMap;
use std::fmt::Write;

use model::{Alternative, BackendRecord, Model, Route};

use super::quoted;

/// The backends of a model with endpoints, numbered.
pub(super) struct Backends<'a> {
    records: BTreeMap<&'a str, (usize, &'a BackendRecord)>,
}

/// Key of the default backend.
const DEFAULT: &str = "-";

impl<'a> Backends<'a> {
    pub(super) fn new(model: &'a Model) -> Self {
        let usable = model.live.backends.iter().filter(|(_, record)| !record.endpoints.is_empty());
        Self { records: usable.enumerate().map(|(number, (key, record))| (&**key, (number, &**record))).collect() }
    }

    /// The blocks, and the maps of canaries.
    pub(super) fn text(&self) -> anyhow::Result<String> {
        let mut text = String::new();
        for (number, record) in self.records.values() {
            writeln!(text, "    upstream b{number} {{")?;
            for endpoint in &record.endpoints {
                writeln!(text, "        server {}:{};", endpoint.address, endpoint.port)?;
            }
            text.push_str("        keepalive 320;\n    }\n");
            if let Some((canary, alternative)) = self.canary(record) {
                text += &choice(*number, canary, alternative)?;
            }
        }
        Ok(text)
    }

    /// The number of the record of a backend that has endpoints.
    pub(super) fn usable(&self, key: &str) -> Option<(usize, &'a BackendRecord)> {
        self.records.get(if key.is_empty() { DEFAULT } else { key }).copied()
    }

    fn canary(&self, record: &'a BackendRecord) -> Option<(usize, &'a Alternative)> {
        let alternative = record.alternative.as_deref()?;
        Some((self.usable(&alternative.backend)?.0, alternative))
    }

    /// The name of the block that a request goes to, as an argument's end.
    pub(super) fn target(&self, key: &str) -> Option<String> {
        let (number, record) = self.usable(key)?;
        Some(if self.canary(record).is_some() { format!("$narthex_choice_{number}") } else { format!("b{number}") })
    }
}

/// The name in logs of what a route leads to.
pub(super) fn name(model: &Model, route: &Route) -> String {
    let key = if route.backend.is_empty() { DEFAULT } else { &route.backend };
    match model.live.backends.get(key) {
        Some(record) => record.name.to_string(),
        None if route.backend.is_empty() => "upstream-default-backend".to_owned(),
        None => route.backend.replace(['/', ':'], "-"),
    }
}

/// The header decides, then the cookie, then the weight, which is everything or nothing here.
fn choice(number: usize, canary: usize, alternative: &Alternative) -> anyhow::Result<String> {
    let mut text = String::new();
    let mut decides = Vec::new();
    let words = [("~^always$".to_owned(), 2), ("~^never$".to_owned(), 1)];
    if let Some(header) = &alternative.canary_by_header {
        let keys = match (&alternative.canary_by_header_value, &alternative.canary_by_header_pattern) {
            _ if alternative.header_means_primary => vec![("~.".to_owned(), 1)],
            (Some(value), _) => vec![(format!("~^{}\\z", super::escape_regex(value)), 2)],
            (None, Some(pattern)) => vec![(format!("~{pattern}"), 2)],
            (None, None) => words.to_vec(),
        };
        decides.push((format!("http_{}", header.to_ascii_lowercase().replace('-', "_")), keys));
    }
    if let Some(cookie) = &alternative.canary_by_cookie {
        decides.push((format!("cookie_{cookie}"), words.to_vec()));
    }
    let mut verdicts = String::new();
    for (at, (variable, keys)) in decides.into_iter().enumerate() {
        let name = format!("$narthex_verdict_{number}_{at}");
        writeln!(text, "    map ${variable} {name} {{\n        default \"\";")?;
        for (key, verdict) in keys {
            writeln!(text, "        {} {verdict};", quoted(&key)?)?;
        }
        text.push_str("    }\n");
        verdicts += &name;
    }
    let by_weight = if alternative.canary_weight >= alternative.canary_weight_total { canary } else { number };
    write!(
        text,
        "    map \"{verdicts}\" $narthex_choice_{number} {{\n        ~^2 b{canary};\n        ~^1 b{number};\n        default b{by_weight};\n    }}\n"
    )?;
    Ok(text)
}
