//! The reload policy of a workload for one kind of source, from its annotations.

use std::collections::BTreeMap;

use regex::bytes::{Regex, RegexBuilder};

use crate::kind::ContentKind;
use crate::rules::Names;

type Annotations = BTreeMap<String, String>;

/// The objects that its annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ReloadPolicy {
    /// Everything that is referred to.
    pub(crate) auto: bool,
    /// Nothing is said about `auto`, so `--auto-reload-all` decides.
    pub(crate) unsaid: bool,
    /// Objects that are referred to and marked count.
    pub(crate) search: bool,
    /// By name, referred to or not.
    named: Vec<Pattern>,
    /// Never, by exact name.
    excluded: Vec<String>,
}

impl ReloadPolicy {
    /// Reads the annotations of the workload; those of its Pod template count where it has none of its own. The lists of
    /// what is excluded are only looked for on the workload.
    pub(crate) fn read(source: ContentKind, own: &Annotations, pod: &Annotations, names: &Names, complaints: &mut Vec<String>) -> Self {
        let typed = &names.typed_auto[source as usize];
        let reload = &names.reload[source as usize];
        let here = [reload, &names.auto, typed, &names.search].into_iter().any(|name| own.contains_key(name));
        let from = if here { own } else { pod };
        let value = |name: &str| from.get(name).map(String::as_str).unwrap_or_default();
        let named = list(value(reload)).map(|text| Pattern::read(text, reload, complaints)).collect();
        Self {
            auto: parse_bool(value(&names.auto)) || parse_bool(value(typed)),
            unsaid: value(&names.auto).is_empty() && value(typed).is_empty(),
            search: value(&names.search) == "true",
            named,
            excluded: list(own.get(&names.exclude[source as usize]).map(String::as_str).unwrap_or_default()).map(str::to_owned).collect(),
        }
    }

    /// `true` if everything that is referred to counts.
    pub(crate) fn is_auto(&self, all: bool) -> bool {
        self.auto || (self.unsaid && all)
    }

    /// `true` if an object is asked for by its name.
    pub(crate) fn names(&self, name: &str) -> bool {
        self.named.iter().any(|pattern| pattern.matches(name))
    }

    /// `true` if an object never counts.
    pub(crate) fn excludes(&self, name: &str) -> bool {
        self.excluded.iter().any(|excluded| excluded == name)
    }

    /// Names that are asked for as they stand.
    pub(crate) fn exact(&self) -> impl Iterator<Item = &str> {
        self.named.iter().filter_map(|pattern| match pattern {
            Pattern::Exact(name) => Some(name.as_str()),
            Pattern::Regex(_) => None,
        })
    }

    /// Names and patterns that match none of these names.
    pub(crate) fn missing(&self, known: &[&str]) -> impl Iterator<Item = &str> {
        self.named.iter().filter(|pattern| !known.iter().any(|name| pattern.matches(name))).map(Pattern::text)
    }

    /// `true` if names are asked for that only a look at all objects shows.
    pub(crate) fn has_patterns(&self) -> bool {
        self.named.iter().any(|pattern| matches!(pattern, Pattern::Regex(_)))
    }
}

/// A name or a pattern of names.
#[derive(Debug, Clone)]
enum Pattern {
    Exact(String),
    Regex(Regex),
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Exact(one), Self::Exact(other)) => one == other,
            (Self::Regex(one), Self::Regex(other)) => one.as_str() == other.as_str(),
            _ => false,
        }
    }
}

impl Pattern {
    fn read(text: &str, annotation: &str, complaints: &mut Vec<String>) -> Self {
        if text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-') {
            return Self::Exact(text.to_owned());
        }
        // Bytes, because Go's classes are those of ASCII.
        match RegexBuilder::new(&format!("^(?:{text})$")).unicode(false).size_limit(1 << 20).build() {
            Ok(regex) => Self::Regex(regex),
            Err(_) => {
                complaints.push(format!("annotation {annotation}: {text:?} is not a regular expression: taken as a name"));
                Self::Exact(text.to_owned())
            }
        }
    }

    /// The text as it was written.
    fn text(&self) -> &str {
        match self {
            Self::Exact(name) => name,
            Self::Regex(regex) => regex.as_str().trim_start_matches("^(?:").trim_end_matches(")$"),
        }
    }

    fn matches(&self, name: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == name,
            Self::Regex(regex) => regex.is_match(name.as_bytes()),
        }
    }
}

fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|part| !part.is_empty())
}

/// The value by Go's `strconv.ParseBool`; anything else is false.
fn parse_bool(text: &str) -> bool {
    matches!(text, "1" | "t" | "T" | "TRUE" | "true" | "True")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn annotations(pairs: &[(&str, &str)]) -> Annotations {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn policy(source: ContentKind, own: &[(&str, &str)], pod: &[(&str, &str)]) -> ReloadPolicy {
        ReloadPolicy::read(source, &annotations(own), &annotations(pod), &Names::default(), &mut Vec::new())
    }

    #[test]
    fn auto_and_its_typed_forms_are_alternatives() {
        let own = [("reloader.stakater.com/auto", "false"), ("secret.reloader.stakater.com/auto", "true")];
        assert!(policy(ContentKind::Secret, &own, &[]).is_auto(false));
        assert!(!policy(ContentKind::ConfigMap, &own, &[]).is_auto(true), "an explicit false holds against --auto-reload-all");
        assert!(policy(ContentKind::ConfigMap, &[], &[]).is_auto(true));
        assert!(!policy(ContentKind::ConfigMap, &[("reloader.stakater.com/auto", "yes")], &[]).is_auto(true), "anything else is false");
    }

    #[test]
    fn the_template_s_annotations_count_where_the_workload_has_none() {
        let pod = [("reloader.stakater.com/auto", "true"), ("configmaps.exclude.reloader.stakater.com/reload", "a")];
        let from_pod = policy(ContentKind::ConfigMap, &[], &pod);
        assert!(from_pod.auto && !from_pod.excludes("a"));
        assert!(!policy(ContentKind::ConfigMap, &[("reloader.stakater.com/search", "true")], &pod).auto);
    }

    #[test]
    fn names_may_be_patterns_for_the_whole_name() {
        let one = policy(ContentKind::ConfigMap, &[("configmap.reloader.stakater.com/reload", "app, db-.*,a|b\\d")], &[]);
        for (name, named) in [("app", true), ("app-1", false), ("db-1", true), ("my-db-1", false), ("a", true), ("ab", false), ("b7", true)]
        {
            assert_eq!(one.names(name), named, "{name}");
        }
        assert_eq!(one.exact().collect::<Vec<_>>(), ["app"]);
        assert!(one.has_patterns() && !one.names(""));
        assert!(!policy(ContentKind::Secret, &[("configmap.reloader.stakater.com/reload", "app")], &[]).names("app"));
    }

    #[test]
    fn a_broken_pattern_is_a_name_and_a_complaint() {
        let mut complaints = Vec::new();
        let own = annotations(&[("secret.reloader.stakater.com/reload", "a(")]);
        let policy = ReloadPolicy::read(ContentKind::Secret, &own, &Annotations::new(), &Names::default(), &mut complaints);
        assert!(policy.names("a(") && !policy.names("a"));
        assert!(complaints[0].contains("secret.reloader.stakater.com/reload") && complaints[0].contains("\"a(\""), "{complaints:?}");
    }
}
