//! Complaints about the annotations of ConfigMaps and Secrets: once, and only where this process acts.

use std::collections::BTreeMap;

use crate::kind::ContentId;

/// By namespace and object, with whether it was said.
#[derive(Debug, Default)]
pub(crate) struct Notices(BTreeMap<(String, ContentId), (Vec<String>, bool)>);

impl Notices {
    /// These are the complaints about an object now.
    pub(crate) fn take(&mut self, namespace: &str, id: &ContentId, complaints: Vec<String>) {
        let key = (namespace.to_owned(), id.clone());
        if complaints.is_empty() {
            self.0.remove(&key);
        } else if self.0.get(&key).is_none_or(|(known, _)| *known != complaints) {
            self.0.insert(key, (complaints, false));
        }
    }

    /// The complaints of the namespaces that count which were not reported before: kind and name of the object, and the complaint.
    pub(crate) fn unsaid(&mut self, counts: impl Fn(&str) -> bool) -> Vec<(String, String)> {
        let mut unsaid = Vec::new();
        for ((namespace, id), (complaints, said)) in &mut self.0 {
            if !*said && counts(namespace) {
                *said = true;
                let object = format!("{} {namespace}/{}", id.source.name(), id.name);
                unsaid.extend(complaints.iter().map(|complaint| (object.clone(), complaint.clone())));
            }
        }
        unsaid
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::ContentKind;

    #[test]
    fn a_complaint_is_said_once_and_again_when_it_is_another() {
        let (mut notices, id) = (Notices::default(), ContentId::new(ContentKind::Secret, "a".to_owned()));
        let take = |notices: &mut Notices, text: &str| notices.take("n", &id, vec![text.to_owned()]);
        take(&mut notices, "one");
        assert!(notices.unsaid(|_| false).is_empty());
        assert_eq!(notices.unsaid(|_| true), [("Secret n/a".to_owned(), "one".to_owned())]);
        take(&mut notices, "one");
        assert!(notices.unsaid(|_| true).is_empty());
        take(&mut notices, "two");
        assert_eq!(notices.unsaid(|_| true).len(), 1);
        notices.take("n", &id, Vec::new());
        take(&mut notices, "two");
        assert_eq!(notices.unsaid(|_| true).len(), 1, "it was repaired in between");
    }
}
