//! From the annotations of one Ingress to its [`Spec`].

use std::collections::BTreeMap;

use crate::config::{CONFIG_KEYS, Config};
use crate::entries::ANNOTATIONS;
use crate::known::{self, Known};
use crate::spec::Spec;
use crate::table::{Draft, Entry, OnEmpty, OnInvalid};

/// What holds for every Ingress.
#[derive(Debug, Clone, Copy)]
pub struct Policy<'a> {
    /// What our annotations begin with, without the slash.
    pub prefix: &'a str,
    /// Whether an invalid value may refuse the whole Ingress. Types are checked either way.
    pub validation: bool,
    /// The ConfigMap.
    pub config: &'a Config,
}

/// The outcome for one Ingress.
#[derive(Debug, Clone, PartialEq)]
pub struct Parsed {
    /// What it asks for. With [`Verdict::Refused`] not to be used.
    pub spec: Spec,
    /// What is not as it should be, ordered by key.
    pub findings: Vec<Finding>,
    /// What to do with the Ingress.
    pub verdict: Verdict,
}

/// What to do with an Ingress, from mild to severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Verdict {
    /// Serve it.
    #[default]
    Accepted,
    /// Its locations answer 503: something that protects them can't be done.
    Denied,
    /// Don't take it; what was served of it before goes on.
    Refused,
}

/// Something about one annotation that its author should know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The full key.
    pub key: String,
    /// The value as written.
    pub value: String,
    /// What sort of finding.
    pub kind: FindingKind,
    /// What was expected and what happens instead: lower case, no final period, the value not repeated.
    pub detail: String,
}

/// Sorts of [`Finding`]s.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FindingKind {
    /// The value is not what the annotation takes.
    Invalid,
    /// No annotation of this name exists.
    Unknown,
    /// The annotation, or a part of its value, exists but Narthex does not support it.
    Unsupported,
    /// Its risk is above what the administrator allows.
    Risk,
    /// The administrator does not allow this value, or this kind of annotation.
    Blocked,
    /// It works, but perhaps not as its author thinks.
    Surprise,
}

/// What annotations begin with unless the administrator says otherwise.
const DEFAULT_PREFIX: &str = "nginx.ingress.kubernetes.io";

/// Reads the annotations of one Ingress.
///
/// The gates come first and hold for every name that exists, supported or not: risk, blocked words, snippets. Then each value becomes
/// a field of the [`Spec`] by its entry in [`ANNOTATIONS`], or a finding.
pub fn parse(annotations: &BTreeMap<String, String>, policy: &Policy<'_>) -> Parsed {
    let mut reader = Reader { annotations, policy, draft: Draft::default(), findings: Vec::new(), verdict: Verdict::Accepted };
    for (key, value) in annotations {
        if let Some(name) = strip(key, policy.prefix) {
            reader.annotation(key, name, value);
        } else if strip(key, DEFAULT_PREFIX).is_some() {
            let detail = format!("annotations begin with {}/ here; it is ignored", policy.prefix);
            reader.find(key, value, FindingKind::Surprise, detail);
        }
    }
    Parsed { spec: reader.draft.spec, findings: reader.findings, verdict: reader.verdict }
}

fn strip<'a>(key: &'a str, prefix: &str) -> Option<&'a str> {
    key.strip_prefix(prefix)?.strip_prefix('/')
}

struct Reader<'a> {
    annotations: &'a BTreeMap<String, String>,
    policy: &'a Policy<'a>,
    draft: Draft,
    findings: Vec<Finding>,
    verdict: Verdict,
}

impl Reader<'_> {
    fn annotation(&mut self, key: &str, name: &str, value: &str) {
        let config = self.policy.config;
        if let Some(word) = config.annotation_value_word_blocklist.iter().find(|word| value.contains(word.as_str())) {
            let detail = format!("the value contains {word:?}, which annotation-value-word-blocklist forbids; the Ingress is refused");
            self.find(key, value, FindingKind::Blocked, detail);
            self.verdict = Verdict::Refused;
        }
        let entry = ANNOTATIONS.iter().find(|entry| entry.name == name || entry.aliases.contains(&name));
        let known = match entry {
            Some(entry) if entry.name == name => Known { name: entry.name, risk: entry.risk, protects: false },
            _ => match known::annotation(name) {
                Some(known) => known,
                None => return self.find(key, value, FindingKind::Unknown, known::no_annotation(name)),
            },
        };
        if known.risk > config.annotations_risk_level {
            let detail = format!(
                "its risk is {}, annotations-risk-level allows up to {}; the Ingress is refused",
                known.risk, config.annotations_risk_level
            );
            self.find(key, value, FindingKind::Risk, detail);
            self.verdict = Verdict::Refused;
        } else if name.ends_with("-snippet") && !config.allow_snippet_annotations {
            self.find(key, value, FindingKind::Blocked, "allow-snippet-annotations is false; it is ignored".to_owned());
        } else {
            match entry {
                Some(entry) => self.supported(entry, key, name, value),
                None => self.unsupported(known, key, value),
            }
        }
    }

    fn supported(&mut self, entry: &Entry, key: &str, name: &str, value: &str) {
        let set = |name: &str| self.annotations.get(&format!("{}/{name}", self.policy.prefix)).is_some_and(|value| !value.is_empty());
        let mut names = [entry.name].into_iter().chain(entry.aliases.iter().copied());
        if value.is_empty() {
            // Only the main name speaks for emptiness, and only if no other speaks at all.
            if entry.on_empty == OnEmpty::Absent || name != entry.name || names.any(set) {
                return;
            }
        } else if let Some(first) = names.find(|name| set(name)).filter(|first| *first != name) {
            return self.find(key, value, FindingKind::Surprise, format!("{first} is set as well and wins; it is ignored"));
        }
        let outcome = (entry.parse)(value, &mut self.draft);
        for (kind, detail) in std::mem::take(&mut self.draft.notes) {
            self.find(key, value, kind, detail);
        }
        if let Err(invalid) = outcome {
            let (verdict, consequence) = self.consequence(entry);
            self.find(key, value, FindingKind::Invalid, format!("{invalid}; {consequence}"));
            self.verdict = self.verdict.max(verdict);
        }
    }

    /// What an invalid value leads to.
    fn consequence(&self, entry: &Entry) -> (Verdict, String) {
        match entry.on_invalid {
            OnInvalid::Refuse if self.policy.validation => (Verdict::Refused, "the Ingress is refused".to_owned()),
            OnInvalid::Deny => (Verdict::Denied, "its locations answer 503".to_owned()),
            OnInvalid::Refuse | OnInvalid::Ignore => {
                let global = CONFIG_KEYS.iter().find(|key| Some(key.name) == entry.config_key);
                let consequence = match global {
                    Some(key) => format!("the global setting {} is used", (key.get)(self.policy.config)),
                    None => "it is ignored".to_owned(),
                };
                (Verdict::Accepted, consequence)
            }
        }
    }

    /// An annotation that exists, but not here. One that protects something must not be passed over.
    fn unsupported(&mut self, known: Known, key: &str, value: &str) {
        let consequence = if known.protects_with(value) {
            self.verdict = self.verdict.max(Verdict::Denied);
            "because it protects the locations, they answer 503"
        } else {
            "it is ignored"
        };
        self.find(key, value, FindingKind::Unsupported, format!("Narthex does not support this annotation yet; {consequence}"));
    }

    fn find(&mut self, key: &str, value: &str, kind: FindingKind, detail: String) {
        self.findings.push(Finding { key: key.to_owned(), value: value.to_owned(), kind, detail });
    }
}

#[cfg(test)]
mod tests;
