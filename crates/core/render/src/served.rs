//! What serves one host, as it runs: its server block with the locations of the profiles that its routes use, and its record with the row of each
//! value.

mod meant;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write};
use std::sync::Arc;

use model::live::wire::Record;
use model::{Fixed, HostRecord, Live, Model, Part, ProfileId};
use serde::Serialize;
use serde_json::Value;

use crate::files::FileSet;
use crate::render::CATCH_ALL;
use crate::{Capabilities, Paths, RenderError, render};

/// Key of the record that lists the names which are patterns.
const PATTERNS: &str = "~";

/// What serves one host (`narthex conf HOST [PATH]`). As JSON, or by `Display` as text.
#[derive(Debug, Serialize)]
pub struct Served {
    /// Key of its record: a name, a wildcard, or `_`.
    pub name: Arc<str>,
    /// The host whose server block it is; absent: that of all hosts without text of their own.
    pub server_of: Option<Arc<str>>,
    /// A reload is pending: the text is that which NGINX still runs.
    pub reload_pending: bool,
    /// Lines of `nginx.conf`.
    pub text: String,
    /// Where TLS connections go undecrypted (`ssl-passthrough`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub passthrough: Option<String>,
    /// The record; with a path, the routes that it means.
    pub record: HostRecord,
    /// Where the values of the record come from, by the names of its fields.
    pub rows: BTreeMap<&'static str, Row>,
}

/// Where a value comes from.
#[derive(Debug, Serialize)]
pub struct Row {
    /// The annotation of this name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annotation: Option<&'static str>,
    /// The key of the ConfigMap that applies to Ingresses without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_key: Option<&'static str>,
    /// What the field is.
    pub doc: &'static str,
}

impl Served {
    /// What serves `host`, and of it `path`. `running` is the text of NGINX's workers, `model` what they are brought to.
    ///
    /// # Errors
    /// Those of [`crate::render`], [`RenderError::UnknownHost`] and [`RenderError::UnknownPath`].
    pub fn new(
        running: &Fixed,
        model: &Model,
        caps: &Capabilities,
        paths: &Paths,
        host: &str,
        path: Option<&str>,
    ) -> Result<Self, RenderError> {
        let known = key(&model.live, &host.to_ascii_lowercase()).or_else(|| (host == CATCH_ALL).then(|| CATCH_ALL.into()));
        let name = known.ok_or_else(|| RenderError::UnknownHost(host.to_owned()))?;
        // Without rules for unknown hosts there is no record of them.
        let whole = model.live.hosts.get(&name).map_or_else(HostRecord::default, |record| (**record).clone());
        let record = match path {
            None => whole,
            Some(path) => meant::narrowed(&whole, path).ok_or_else(|| unknown_path(&whole, host, path))?,
        };
        // An alias shares the server of its host.
        let server_of = Some(record.name.clone().unwrap_or_else(|| name.clone())).filter(|host| running.host_servers.contains_key(host));
        let profiles = record.routes.iter().map(|route| route.profile.clone()).chain([ProfileId::default()]).collect();
        Ok(Self {
            text: text(&render(running, caps, paths)?, server_of.as_ref(), &profiles),
            reload_pending: *running != model.fixed,
            passthrough: model.live.passthrough_map.get(&name).map(|text| endpoints(text)),
            rows: rows(&record),
            name,
            server_of,
            record,
        })
    }
}

/// The endpoints of the stream map, for people.
fn endpoints(text: &str) -> String {
    model::live::stream::decode(text).map(|endpoint| endpoint.to_string()).collect::<Vec<_>>().join(",")
}

/// The key of the record that a host has: its name, else the longest suffix, else its wildcard.
fn key(live: &Live, host: &str) -> Option<Arc<str>> {
    let hosts = || live.hosts.iter().map(|(name, _)| name).filter(|name| &***name != PATTERNS);
    let named = |wanted: &str| hosts().find(|name| ***name == *wanted).cloned();
    let suffix = || {
        let patterns = live.hosts.get(PATTERNS)?.patterns.as_ref()?;
        let fitting = patterns.suffixes.iter().filter(|(suffix, _)| host.len() > suffix.len() && host.ends_with(&***suffix));
        fitting.max_by_key(|(suffix, _)| suffix.len()).map(|(_, host)| host.clone())
    };
    named(host).or_else(suffix).or_else(|| named(&format!("*.{}", host.split_once('.')?.1)))
}

fn unknown_path(record: &HostRecord, host: &str, path: &str) -> RenderError {
    let known: BTreeSet<String> = record.routes.iter().map(|route| route.path.to_string()).collect();
    RenderError::UnknownPath { host: host.to_owned(), path: path.to_owned(), known: known.into_iter().collect() }
}

/// The lines of the server blocks, without the locations of other profiles.
fn text(set: &FileSet, server_of: Option<&Arc<str>>, profiles: &BTreeSet<ProfileId>) -> String {
    let conf = String::from_utf8_lossy(set.conf());
    let lines: Vec<&str> = conf.lines().collect();
    let server = server_of.map_or(Part::Globals, |host| Part::Server(host.clone()));
    let mut text = String::new();
    for block in set.origins.iter().filter(|origin| origin.part == server) {
        for number in block.first_line..=block.last_line {
            if matches!(set.origin(number), Part::Profile(id) if !profiles.contains(id)) {
                continue;
            }
            text.push_str(lines.get(number as usize - 1).copied().unwrap_or_default());
            text.push('\n');
        }
    }
    text
}

/// The rows of all fields of a record that have a value.
fn rows(record: &HostRecord) -> BTreeMap<&'static str, Row> {
    let mut names = BTreeSet::new();
    fields(&serde_json::to_value(record).unwrap_or_default(), &mut names);
    let all = HostRecord::DECLARATION.with_inner().into_iter().flat_map(model::live::wire::Declaration::sent);
    let row = |field: &'static model::live::wire::Field| {
        let described = settings::describe(&field.name.replace('_', "-")).ok();
        let config_key = described.as_ref().and_then(|row| row.config_key);
        Row { annotation: described.map(|row| row.name), config_key, doc: field.doc.trim() }
    };
    all.filter(|field| names.contains(field.name)).map(|field| (field.name, row(field))).collect()
}

/// The names of fields of all objects in a value.
fn fields(value: &Value, names: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (name, inner) in object {
                names.insert(name.clone());
                fields(inner, names);
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| fields(inner, names)),
        _ => {}
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.annotation, self.config_key) {
            (Some(annotation), Some(key)) => write!(f, "annotation {annotation}, else {key} of the ConfigMap"),
            (Some(annotation), None) => write!(f, "annotation {annotation}"),
            (None, _) => f.write_str(self.doc.split_inclusive(". ").next().unwrap_or_default().trim_end()),
        }
    }
}

impl fmt::Display for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.reload_pending {
            writeln!(f, "# A reload is pending: NGINX still runs this.")?;
        }
        f.write_str(&self.text)?;
        if let Some(endpoints) = &self.passthrough {
            writeln!(f, "\n# TLS connections to {} go undecrypted to: {endpoints}", self.name)?;
        }
        writeln!(f, "\n# The record of {}, behind each value what it comes from", self.name)?;
        let json = serde_json::to_string_pretty(&self.record).map_err(|_| fmt::Error)?;
        for line in json.lines() {
            let name = line.trim_start().strip_prefix('"').and_then(|rest| rest.split_once("\": ")).map(|(name, _)| name);
            f.write_str(line)?;
            if let Some(row) = name.and_then(|name| self.rows.get(name)) {
                write!(f, "  # {row}")?;
            }
            f.write_char('\n')?;
        }
        Ok(())
    }
}
