//! The table in words: for the reference, its schema and `narthex explain`.

use serde::Serialize;

use crate::config::{CONFIG_KEYS, Config};
use crate::groups::{self, ANNOTATIONS};
use crate::known;
use crate::table::{Entry, Group, Guard, OnEmpty, OnInvalid, Since};

/// Everything that there is to say about one annotation. Words only; nothing here decides anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Description {
    /// Its name without the prefix.
    pub name: &'static str,
    /// Older names.
    pub aliases: &'static [&'static str],
    /// The group's title.
    pub group: &'static str,
    /// Whether ingress-nginx has it as well.
    pub inherited: bool,
    /// Why its example changes neither what is built nor the text. `None`: it does.
    pub inert: Option<&'static str>,
    /// What it takes: a noun phrase.
    pub value: &'static str,
    /// What it does: sentences in Markdown.
    pub doc: &'static str,
    /// The key of the ConfigMap that holds where it is not set.
    pub config_key: Option<&'static str>,
    /// The default of that key. `None`: there is no key, or it is empty.
    pub default: Option<String>,
    /// The annotation without which it has no effect.
    pub needs: Option<&'static str>,
    /// Its scope.
    pub scope: String,
    /// Its risk.
    pub risk: String,
    /// How a change reaches NGINX.
    pub applies: String,
    /// Whether that needs no reload, whatever stands beside it.
    pub live: bool,
    /// Whether it is part of access control.
    pub protects: Option<String>,
    /// What a value that it does not take leads to.
    pub on_invalid: String,
    /// Whether an empty value is such a value, instead of none.
    pub empty_is_a_value: bool,
    /// Names and values that stand together, the annotation itself last.
    pub example: Vec<(&'static str, &'static str)>,
}

impl Description {
    fn new(entry: &Entry, group: &Group) -> Self {
        let key = CONFIG_KEYS.iter().find(|key| Some(key.name) == entry.config_key);
        Self {
            name: entry.name,
            aliases: entry.aliases,
            group: group.title,
            inherited: entry.since == Since::IngressNginx,
            inert: entry.inert,
            value: entry.value,
            doc: entry.doc,
            config_key: entry.config_key,
            default: key.map(|key| (key.get)(&Config::default())).filter(|text| !text.is_empty()),
            needs: entry.needs.map(|needs| needs.what),
            scope: entry.scope.to_string(),
            risk: entry.risk.to_string(),
            applies: entry.applies.to_string(),
            live: entry.applies.is_live(),
            protects: (entry.guard != Guard::Nothing).then(|| entry.guard.to_string()),
            on_invalid: on_invalid(entry),
            empty_is_a_value: entry.on_empty == OnEmpty::Value,
            example: entry.companions.iter().copied().chain([(entry.name, entry.example)]).collect(),
        }
    }
}

fn on_invalid(entry: &Entry) -> String {
    if entry.protects() { OnInvalid::Deny.to_string() } else { entry.on_invalid.to_string() }
}

/// The annotation of this name, older names included.
///
/// # Errors
/// There is none; the text says so, and which name may be meant.
pub fn describe(name: &str) -> Result<Description, String> {
    match groups::annotation(name) {
        Some((entry, group)) => Ok(Description::new(entry, group)),
        None => Err(known::no_annotation_at_all(name)),
    }
}

/// Every annotation, ordered by name.
pub fn descriptions() -> Vec<Description> {
    ANNOTATIONS.iter().filter_map(|entry| describe(entry.name).ok()).collect()
}

/// The annotations of one group of [`crate::GROUPS`], ordered by name.
pub fn descriptions_of(group: &Group) -> Vec<Description> {
    group.entries.iter().map(|entry| Description::new(entry, group)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::GROUPS;

    #[test]
    fn every_annotation_belongs_to_one_group_that_says_what_it_is() {
        let all: usize = GROUPS.iter().map(|group| descriptions_of(group).len()).sum();
        assert_eq!(all, descriptions().len());
        assert!(GROUPS.iter().all(|group| !group.title.is_empty() && (group.doc.is_empty() || group.doc.ends_with('.'))));
    }

    #[test]
    fn an_annotation_is_described_under_any_of_its_names() {
        let size = describe("proxy-body-size").unwrap();
        assert_eq!((size.config_key, size.default.as_deref(), size.live), (Some("proxy-body-size"), Some("1m"), false));
        assert_eq!(size.example, [("proxy-body-size", "8m")]);
        assert_eq!(describe("whitelist-source-range").unwrap().name, "allowlist-source-range");
        assert_eq!(describe("canary-weight").unwrap().needs, Some("canary: true"));
    }

    #[test]
    fn a_name_that_does_not_exist_leads_to_one_that_does() {
        assert_eq!(describe("rewrite-targt"), Err("no such annotation, did you mean rewrite-target?".to_owned()));
        assert_eq!(describe("grpc-backend"), Err("no such annotation any more: backend-protocol took its place".to_owned()));
    }
}
