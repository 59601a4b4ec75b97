//! The label `namespace` of counters, bounded: tenants make namespaces, and a series stays for as long as the process.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;

/// Namespaces that have a label of their own: the first ones that are counted.
const MOST: usize = 200;
/// The label of the others. No namespace can have this name, nor the next.
const OTHER: &str = "_other";
/// The label of what several namespaces have a part in.
const SEVERAL: &str = "_several";

/// The namespaces that have a label of their own. Clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct Namespaces(Arc<Mutex<BTreeSet<Arc<str>>>>);

impl Namespaces {
    /// Calls with the label of what these namespaces have a part in. It is empty where there are none.
    pub(super) fn with(&self, namespaces: &BTreeSet<Arc<str>>, count: impl FnOnce(&str)) {
        let mut of_namespaces = namespaces.iter();
        match (of_namespaces.next(), of_namespaces.next()) {
            (None, _) => count(""),
            (Some(namespace), None) => count(if self.has_label(namespace) { namespace } else { OTHER }),
            (Some(_), Some(_)) => count(SEVERAL),
        }
    }

    fn has_label(&self, namespace: &Arc<str>) -> bool {
        let mut known = self.0.lock();
        known.contains(namespace) || (known.len() < MOST && known.insert(namespace.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(namespaces: &Namespaces, of: &[&str]) -> String {
        let mut label = String::new();
        namespaces.with(&of.iter().map(|name| Arc::from(*name)).collect(), |found| label = found.to_owned());
        label
    }

    #[test]
    fn the_first_namespaces_have_labels_of_their_own() {
        let namespaces = Namespaces::default();
        for number in 0..MOST {
            assert_eq!(label(&namespaces, &[&format!("n{number}")]), format!("n{number}"));
        }
        assert_eq!((label(&namespaces, &["late"]), label(&namespaces, &["n7"])), (OTHER.to_owned(), "n7".to_owned()));
        assert_eq!((label(&namespaces, &[]), label(&namespaces, &["n1", "n2"])), (String::new(), SEVERAL.to_owned()));
    }
}
