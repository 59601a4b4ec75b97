//! The values of the main ConfigMap with the content of what they name: `ssl-dh-param` is a name, and what NGINX refuses is in the Secret.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The data of a ConfigMap.
pub type Data = BTreeMap<String, String>;

/// The values of the main ConfigMap.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConfigValues {
    /// The data, keys as written.
    pub data: Data,
    /// The content of what keys name, by the documented name of the key. Nothing for one whose object has none that is usable.
    pub named: Data,
}

/// The value of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyValue {
    /// The value as written.
    pub text: String,
    /// The content of what it names.
    pub named: Option<String>,
}

impl ConfigValues {
    /// The value of a key as written.
    pub fn get(&self, key: &str) -> Option<KeyValue> {
        let text = self.data.get(key)?.clone();
        Some(KeyValue { text, named: self.named.get(&name(key)).cloned() })
    }

    /// Gives a key a value.
    pub fn set(&mut self, key: &str, value: &KeyValue) {
        self.data.insert(key.to_owned(), value.text.clone());
        match &value.named {
            Some(content) => self.named.insert(name(key), content.clone()),
            None => self.named.remove(&name(key)),
        };
    }

    /// Leaves a key out.
    pub fn remove(&mut self, key: &str) {
        self.data.remove(key);
        self.named.remove(&name(key));
    }

    /// Each key with its value, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, KeyValue)> {
        self.data.keys().filter_map(|key| Some((key.as_str(), self.get(key)?)))
    }
}

impl From<Data> for ConfigValues {
    /// Values that name nothing.
    fn from(data: Data) -> Self {
        Self { data, named: Data::new() }
    }
}

/// The documented name of a key.
fn name(key: &str) -> String {
    key.to_ascii_lowercase()
}
