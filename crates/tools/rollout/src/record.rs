//! The content that a workload's Pods have, kept on the workload itself: the next leader compares with it, so nothing is lost or reported twice.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::content::Digest;
use crate::kind::{ContentId, ContentKind};

/// The value of the annotation [`crate::rules::APPLIED`].
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// Rollouts so far.
    pub(crate) rollouts: u64,
    /// Start of the last rollout.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) at: Option<Timestamp>,
    /// The content by `kind/name`; empty for an object that does not exist.
    pub(crate) objects: BTreeMap<String, Digest>,
}

/// Content of an object, or that there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// The object exists.
    Present(Digest),
    /// There is no such object.
    Absent,
}

impl Content {
    /// The digest that stands for it.
    pub(crate) fn digest(&self) -> Digest {
        match self {
            Self::Present(digest) => digest.clone(),
            Self::Absent => Digest::of_nothing(),
        }
    }
}

impl Record {
    /// Reads the annotation's value; anything else than a record is none.
    pub(crate) fn read(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The annotation's value.
    pub(crate) fn write(&self) -> String {
        serde_json::to_string(self).expect("maps of text are JSON")
    }

    /// The recorded content of an object.
    pub(crate) fn get(&self, id: &ContentId) -> Option<Content> {
        self.objects.get(&key(id)).map(|digest| match digest.as_str() {
            "" => Content::Absent,
            _ => Content::Present(digest.clone()),
        })
    }

    /// Sets what it says about an object.
    pub(crate) fn set(&mut self, id: &ContentId, content: &Content) {
        let digest = match content {
            Content::Present(digest) => digest.clone(),
            Content::Absent => Digest::stored(""),
        };
        self.objects.insert(key(id), digest);
    }

    /// The objects that it says something about.
    pub(crate) fn ids(&self) -> impl Iterator<Item = ContentId> {
        self.objects.keys().filter_map(|key| {
            let (kind, name) = key.split_once('/')?;
            let source = ContentKind::ALL.into_iter().find(|source| source.name() == kind)?;
            Some(ContentId::new(source, name))
        })
    }
}

fn key(id: &ContentId) -> String {
    format!("{}/{}", id.source.name(), id.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut record = Record { rollouts: 3, at: Some(Timestamp::UNIX_EPOCH), ..Record::default() };
        let (there, gone) = (ContentId::new(ContentKind::ConfigMap, "a"), ContentId::new(ContentKind::Secret, "b"));
        record.set(&there, &Content::Present(Digest::stored("12")));
        record.set(&gone, &Content::Absent);
        let read = Record::read(&record.write()).unwrap();
        assert_eq!(read, record);
        assert_eq!((read.get(&there), read.get(&gone)), (Some(Content::Present(Digest::stored("12"))), Some(Content::Absent)));
        assert_eq!(read.ids().collect::<Vec<_>>(), [there, gone]);
        assert_eq!(Record::read("{}"), None);
    }
}
