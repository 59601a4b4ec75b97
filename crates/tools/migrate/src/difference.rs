//! Differences of two answers.

use std::fmt;

use serde::Serialize;

use crate::answer::{Answer, RequestOutcome, Shown};

/// An aspect that can differ. Ordered by weight.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Aspect {
    /// One of them gives no answer, or fails in another way.
    Failure,
    /// Status code.
    Status,
    /// Target of a redirect.
    Redirect,
    /// Certificate.
    Certificate,
    /// The backend that answered.
    Backend,
    /// The target that the backend saw.
    Rewrite,
    /// A header, by its name in lower case.
    Header(String),
    /// Hash of the body.
    Body,
}

impl Aspect {
    /// Its kind: one word, as rules of `--ignore` and JSON have it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Failure => "failure",
            Self::Status => "status",
            Self::Redirect => "redirect",
            Self::Certificate => "certificate",
            Self::Backend => "backend",
            Self::Rewrite => "rewrite",
            Self::Header(_) => "header",
            Self::Body => "body",
        }
    }

    /// The header's name, for headers.
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Header(name) => Some(name),
            _ => None,
        }
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Header(name) => write!(f, "header {name}"),
            other => f.write_str(other.kind()),
        }
    }
}

/// One thing that differs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Change {
    /// The aspect.
    pub aspect: Aspect,
    /// The value of the old controller; `-` for what is not there.
    pub old: String,
    /// The value of the new one.
    pub new: String,
}

/// Serialised as an object with `kind`, `name`, `old` and `new`.
impl Serialize for Change {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        use serde::ser::SerializeStruct;
        let mut fields = serializer.serialize_struct("Change", 4)?;
        fields.serialize_field("kind", self.aspect.kind())?;
        fields.serialize_field("name", &self.aspect.name())?;
        fields.serialize_field("old", &self.old)?;
        fields.serialize_field("new", &self.new)?;
        fields.end()
    }
}

/// Everything that differs, in order of weight. Of answers with different statuses, headers and bodies are not looked at: they follow from the status.
pub fn differences(old: &RequestOutcome, new: &RequestOutcome) -> Vec<Change> {
    let change = |aspect: Aspect, old: String, new: String| Change { aspect, old, new };
    let (old, new) = match (old, new) {
        (Ok(old), Ok(new)) => (old, new),
        (Err(old), Err(new)) if old.kind == new.kind => return Vec::new(),
        (old, new) => return vec![change(Aspect::Failure, summary(old), summary(new))],
    };
    let mut found = Vec::new();
    let mut note = |aspect: Aspect, old: Option<String>, new: Option<String>| {
        if old != new {
            found.push(change(aspect, old.unwrap_or_else(|| "-".into()), new.unwrap_or_else(|| "-".into())));
        }
    };
    if fingerprint(old) != fingerprint(new) {
        note(Aspect::Certificate, old.certificate.as_ref().map(certificate), new.certificate.as_ref().map(certificate));
    }
    if old.status != new.status {
        note(Aspect::Status, Some(old.status.to_string()), Some(new.status.to_string()));
    } else {
        note(Aspect::Redirect, old.location.clone(), new.location.clone());
        note(Aspect::Backend, old.backend.clone(), new.backend.clone());
        note(Aspect::Rewrite, old.target.clone(), new.target.clone());
        let names: std::collections::BTreeSet<&String> = old.headers.keys().chain(new.headers.keys()).collect();
        for name in names {
            let text = |answer: &Answer| answer.headers.get(name).map(|values| values.join(" | "));
            note(Aspect::Header(name.clone()), text(old), text(new));
        }
        // Another backend has another body, and an unknown hash is equal to any.
        if let (Some(one), Some(other)) = (&old.body, &new.body)
            && old.backend == new.backend
        {
            note(Aspect::Body, Some(one.clone()), Some(other.clone()));
        }
    }
    found.sort();
    found
}

fn fingerprint(answer: &Answer) -> Option<&str> {
    answer.certificate.as_ref().map(|shown| shown.fingerprint.as_str())
}

fn certificate(shown: &Shown) -> String {
    format!("{} (sha256 {})", shown.names, shown.fingerprint.get(..16).unwrap_or(&shown.fingerprint))
}

/// An outcome in a word or two.
pub fn summary(outcome: &RequestOutcome) -> String {
    match outcome {
        Ok(answer) => answer.status.to_string(),
        Err(failure) => failure.kind.to_string(),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::answer::{Failure, FailureKind};

    pub(crate) fn answer(status: u16, headers: &[(&str, &str)]) -> Answer {
        Answer { status, headers: crate::answer::headers(headers.iter().copied(), &Default::default()), ..Answer::default() }
    }

    fn kinds(old: Answer, new: Answer) -> Vec<String> {
        differences(&Ok(old), &Ok(new)).iter().map(|change| change.aspect.to_string()).collect()
    }

    #[test]
    fn another_status_hides_what_follows_from_it() {
        assert_eq!(kinds(answer(200, &[("x-a", "1")]), answer(404, &[])), ["status"]);
        assert_eq!(kinds(answer(200, &[("x-a", "1"), ("x-b", "1")]), answer(200, &[("x-b", "2")])), ["header x-a", "header x-b"]);
    }

    #[test]
    fn everything_that_is_seen_is_compared() {
        let one = Answer {
            location: Some("/a".into()),
            backend: Some("a".into()),
            target: Some("/".into()),
            body: Some("1".into()),
            ..answer(302, &[])
        };
        let other =
            Answer { location: None, backend: Some("b".into()), target: Some("/x".into()), body: Some("2".into()), ..answer(302, &[]) };
        assert_eq!(kinds(one.clone(), other), ["redirect", "backend", "rewrite"]);
        assert_eq!(kinds(one.clone(), Answer { body: Some("2".into()), ..one.clone() }), ["body"]);
        assert!(kinds(one.clone(), Answer { body: None, ..one }).is_empty());
    }

    #[test]
    fn failures_are_compared_by_kind() {
        let failed = |kind, detail: &str| RequestOutcome::Err(Failure { kind, detail: detail.into() });
        let refused = failed(FailureKind::Connect, "refused");
        assert!(differences(&refused, &failed(FailureKind::Connect, "reset")).is_empty());
        let found = differences(&Ok(answer(200, &[])), &refused);
        assert_eq!(found, [Change { aspect: Aspect::Failure, old: "200".into(), new: "no connection".into() }]);
    }
}
