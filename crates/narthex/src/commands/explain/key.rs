//! Keys of the ConfigMap.

use std::fmt::Write;

use serde::Serialize;
use settings::{ANNOTATIONS, CONFIG_KEYS, Config, ConfigEntry, did_you_mean};

use super::{plain, wrapped};

/// The description of a key.
#[derive(Debug, Serialize)]
pub(super) struct Key {
    name: &'static str,
    value: &'static str,
    doc: &'static str,
    default: String,
    example: &'static str,
    /// The way in which a change takes effect.
    applies: String,
    /// The annotation by which an Ingress decides otherwise.
    annotation: Option<&'static str>,
}

/// Every key, in the order of the reference.
pub(super) fn all() -> Vec<Key> {
    CONFIG_KEYS.iter().map(|entry| Key::new(entry)).collect()
}

/// The names and defaults of all.
pub(super) fn list() -> String {
    all().iter().fold("Keys of the ConfigMap:\n".to_owned(), |mut text, key| {
        let default = if key.default.is_empty() { "empty" } else { &key.default };
        let _ = writeln!(text, "  {:<42}{}", key.name, default.lines().next().unwrap_or_default());
        text
    })
}

impl Key {
    fn new(entry: &ConfigEntry) -> Self {
        let annotation = ANNOTATIONS.iter().find(|annotation| annotation.config_key == Some(entry.name));
        Self {
            name: entry.name,
            value: entry.value,
            doc: entry.doc,
            default: (entry.get)(&Config::default()),
            example: entry.example,
            applies: entry.applies(),
            annotation: annotation.map(|annotation| annotation.name),
        }
    }

    /// The key of this name; the error says which may be meant.
    pub(super) fn find(name: &str) -> Result<Self, String> {
        let entry = CONFIG_KEYS.iter().find(|entry| entry.name == name);
        let hint = || did_you_mean(name, CONFIG_KEYS.iter().map(|entry| entry.name));
        entry.map(|entry| Self::new(entry)).ok_or_else(|| format!("no such key of the ConfigMap{}", hint()))
    }

    /// As `narthex explain` prints it.
    pub(super) fn text(&self) -> String {
        let mut text = format!("{} (key of the ConfigMap)\n\n{}\n\n", self.name, wrapped(self.doc));
        let mut row = |name: &str, value: &str| {
            let _ = writeln!(text, "{name:<12}{value}");
        };
        row("Value", &plain(self.value));
        row("Default", if self.default.is_empty() { "empty" } else { &self.default });
        row("Scope", "everything");
        row("A change is", &self.applies);
        if let Some(annotation) = self.annotation {
            row("Per Ingress", &format!("the annotation {annotation}"));
        }
        let _ = write!(text, "\nExample:\n  data:\n    {}: {:?}\n", self.name, self.example);
        text
    }
}
