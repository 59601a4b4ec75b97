//! From the annotations of one Ingress to its [`Spec`].

use std::collections::BTreeMap;

use ngx_value::Invalid;

use crate::config::{CONFIG_KEYS, Config};
use crate::groups::{self, ClientCa, GROUPS};
use crate::known;
use crate::spec::Spec;
use crate::table::{Draft, Entry, Fault, Group, OnEmpty, OnInvalid, Scope};

/// What applies to every Ingress.
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
    /// What it asks for. With [`ParseVerdict::Refused`] only what closes its paths is to be used.
    pub spec: Spec,
    /// What is not as it should be, ordered by key.
    pub findings: Vec<Finding>,
    /// What to do with the Ingress.
    pub verdict: ParseVerdict,
}

/// What to do with an Ingress, from mild to severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum ParseVerdict {
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
/// The gates come first and hold for every name that exists: risk, blocked words, snippets. Then each value becomes
/// a field of the [`Spec`] by its entry in [`crate::ANNOTATIONS`], or a finding; at last each group looks at combinations.
pub fn parse(annotations: &BTreeMap<String, String>, policy: &Policy<'_>) -> Parsed {
    let mut reader = Reader::new(annotations, policy);
    let mut dependent = Vec::new();
    for (key, value) in annotations {
        if let Some(name) = strip(key, policy.prefix) {
            match reader.admit(key, name, value) {
                Some(found) if found.0.needs.is_some() => dependent.push((found, key, name, value)),
                Some(found) => reader.read(found, key, name, value),
                None => {}
            }
        } else if strip(key, DEFAULT_PREFIX).is_some() {
            let detail = format!("annotations begin with {}/ here; it is ignored", policy.prefix);
            reader.find(key, value, FindingKind::Surprise, detail);
        }
    }
    for (found, key, name, value) in dependent {
        reader.read(found, key, name, value);
    }
    reader.finish()
}

fn strip<'a>(key: &'a str, prefix: &str) -> Option<&'a str> {
    key.strip_prefix(prefix)?.strip_prefix('/')
}

/// An entry of the table with its group.
type Found = (&'static Entry, &'static Group);

struct Reader<'a> {
    annotations: &'a BTreeMap<String, String>,
    policy: &'a Policy<'a>,
    draft: Draft,
    findings: Vec<Finding>,
    verdict: ParseVerdict,
    /// Groups that count as not set.
    dropped: Vec<&'static Group>,
    /// Empty values that drop their groups: worth a word only where something else is set.
    emptied: Vec<(Found, String, Invalid)>,
    /// What protects the whole host was not read.
    closes_host: bool,
}

impl<'a> Reader<'a> {
    fn new(annotations: &'a BTreeMap<String, String>, policy: &'a Policy<'a>) -> Self {
        Self {
            annotations,
            policy,
            draft: Draft::default(),
            findings: Vec::new(),
            verdict: ParseVerdict::Accepted,
            dropped: Vec::new(),
            emptied: Vec::new(),
            closes_host: false,
        }
    }

    /// The gates. What passes them and exists is returned.
    fn admit(&mut self, key: &str, name: &str, value: &str) -> Option<Found> {
        let config = self.policy.config;
        if let Some(word) = config.annotation_value_word_blocklist.iter().find(|word| value.contains(word.as_str())) {
            let detail = format!("the value contains {word:?}, which annotation-value-word-blocklist forbids; the Ingress is refused");
            self.find(key, value, FindingKind::Blocked, detail);
            self.verdict = ParseVerdict::Refused;
            self.shut_out(name, value);
            return None;
        }
        let Some((entry, group)) = groups::annotation(name) else {
            self.find(key, value, FindingKind::Unknown, known::no_annotation(name));
            return None;
        };
        if entry.risk > config.annotations_risk_level {
            let detail = format!(
                "its risk is {}, annotations-risk-level allows up to {}; the Ingress is refused",
                entry.risk, config.annotations_risk_level
            );
            self.find(key, value, FindingKind::Risk, detail);
            self.verdict = ParseVerdict::Refused;
            self.shut_out(name, value);
            return None;
        }
        if name.ends_with("-snippet") && !config.allow_snippet_annotations {
            self.find(key, value, FindingKind::Blocked, "allow-snippet-annotations is false; it is ignored".to_owned());
            return None;
        }
        Some((entry, group))
    }

    /// Notes that a value is not read: where it protects a whole host, other Ingresses of that count on it.
    fn shut_out(&mut self, name: &str, value: &str) {
        let protects = groups::annotation(name).is_some_and(|(entry, _)| entry.scope == Scope::Host && entry.protects_with(value));
        self.closes_host |= protects;
    }

    /// Puts a value into the draft. `name` may be an older name of the entry.
    fn read(&mut self, (entry, group): Found, key: &str, name: &str, value: &str) {
        let set = |name: &str| self.annotations.get(&self.key(name)).is_some_and(|value| !value.is_empty());
        let mut names = [entry.name].into_iter().chain(entry.aliases.iter().copied());
        if value.is_empty() {
            // Only the main name speaks for emptiness, and only if no other speaks at all.
            if entry.on_empty == OnEmpty::Absent || name != entry.name || names.any(set) {
                return;
            }
        } else if let Some(first) = names.find(|name| set(name)).filter(|first| *first != name) {
            return self.find(key, value, FindingKind::Surprise, format!("{first} is set as well and wins; it is ignored"));
        }
        if let Some(winner) = entry.yields_to.filter(|winner| set(winner)) {
            return self.find(key, value, FindingKind::Surprise, format!("{winner} is set as well and wins; it is ignored"));
        }
        if let Some(needs) = entry.needs.filter(|needs| !(needs.met)(&self.draft.spec)) {
            return self.find(key, value, FindingKind::Surprise, format!("it has no effect without {}; it is ignored", needs.what));
        }
        self.draft.present.push(entry.name);
        let outcome = (entry.parse)(value, &mut self.draft);
        for (kind, detail) in std::mem::take(&mut self.draft.notes) {
            self.find(key, value, kind, detail);
        }
        let on_invalid = self.draft.consequence.take().unwrap_or(entry.on_invalid);
        if let Err(invalid) = outcome {
            self.draft.failed.push(entry.name);
            if value.is_empty() && on_invalid == OnInvalid::DropGroup {
                self.emptied.push(((entry, group), key.to_owned(), invalid));
                return;
            }
            let consequence = self.consequence((entry, group), on_invalid);
            self.find(key, value, FindingKind::Invalid, format!("{invalid}; {consequence}"));
        }
    }

    /// Lets every group look at combinations.
    fn finish(mut self) -> Parsed {
        self.drop_groups();
        for group in GROUPS {
            (group.finish)(&mut self.draft);
            (group.settle)(&mut self.draft, self.policy.config);
            for fault in std::mem::take(&mut self.draft.faults) {
                self.fault(group, fault);
            }
        }
        self.drop_groups();
        if self.closes_host {
            self.draft.spec.client_tls.auth_tls_secret = Some(ClientCa::Unusable);
        }
        self.findings.sort_by(|one, other| one.key.cmp(&other.key));
        Parsed { spec: self.draft.spec, findings: self.findings, verdict: self.verdict }
    }

    fn drop_groups(&mut self) {
        for (found, key, invalid) in std::mem::take(&mut self.emptied) {
            let mut without = self.draft.spec.clone();
            (found.1.clear)(&mut without);
            if without != self.draft.spec {
                let consequence = self.consequence(found, OnInvalid::DropGroup);
                self.find(&key, "", FindingKind::Invalid, format!("{invalid}; {consequence}"));
            }
        }
        for group in std::mem::take(&mut self.dropped) {
            (group.clear)(&mut self.draft.spec);
        }
    }

    fn fault(&mut self, group: &'static Group, fault: Fault) {
        let key = self.key(fault.name);
        let value = self.annotations.get(&key).cloned().unwrap_or_default();
        let entry = group.entries.iter().find(|entry| entry.name == fault.name);
        let detail = match (fault.consequence, entry) {
            (Some(on_invalid), Some(entry)) => format!("{}; {}", fault.detail, self.consequence((entry, group), on_invalid)),
            _ => fault.detail,
        };
        self.find(&key, &value, fault.kind, detail);
    }

    /// Draws the consequence of an invalid value, and says what it is.
    fn consequence(&mut self, (entry, group): Found, on_invalid: OnInvalid) -> String {
        let (verdict, text) = match on_invalid {
            _ if entry.protects() => (ParseVerdict::Denied, protecting(entry)),
            OnInvalid::Refuse if self.policy.validation => (ParseVerdict::Refused, "the Ingress is refused".to_owned()),
            OnInvalid::Deny => (ParseVerdict::Denied, "its locations answer 503".to_owned()),
            OnInvalid::DropGroup => {
                self.dropped.push(group);
                (ParseVerdict::Accepted, format!("all annotations of the group {:?} are ignored", group.title))
            }
            OnInvalid::Refuse | OnInvalid::Ignore => (ParseVerdict::Accepted, self.instead(entry)),
        };
        self.verdict = self.verdict.max(verdict);
        text
    }

    /// What holds when an annotation counts as not set.
    fn instead(&self, entry: &Entry) -> String {
        match CONFIG_KEYS.iter().find(|key| Some(key.name) == entry.config_key) {
            Some(key) if !(key.get)(self.policy.config).is_empty() => {
                format!("the global setting {} is used", (key.get)(self.policy.config))
            }
            _ => "it is ignored".to_owned(),
        }
    }

    /// An annotation that exists, but has no effect here. One that protects something must not be passed over.
    fn key(&self, name: &str) -> String {
        format!("{}/{name}", self.policy.prefix)
    }

    fn find(&mut self, key: &str, value: &str, kind: FindingKind, detail: String) {
        self.findings.push(Finding { key: key.to_owned(), value: value.to_owned(), kind, detail });
    }
}

/// What a value leads to that protects and can't be used.
fn protecting(entry: &Entry) -> String {
    match entry.scope {
        Scope::Host => "because it protects the whole host, its locations answer 403, and so does the host if it is of its namespace",
        _ => "because it protects the locations, they answer 503",
    }
    .to_owned()
}

#[cfg(test)]
mod tests;
