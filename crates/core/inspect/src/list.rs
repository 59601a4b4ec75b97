//! A part of a list.

use serde::{Deserialize, Serialize};

/// Items of an answer unless another number is asked for.
const USUAL: usize = 100;
/// The most items of an answer.
const MOST: usize = 1000;

/// The items of a list that match, from an offset on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct List<T> {
    /// Number of items that match.
    pub total: usize,
    /// Number of the first of them, from 0.
    pub offset: usize,
    /// A part of them.
    pub items: Vec<T>,
}

impl<T> List<T> {
    /// The part of all items that is asked for, whatever their names.
    pub fn of(all: Vec<T>, query: &Query) -> Self {
        query.page(all, |item| item)
    }
}

/// The body of an answer whose status is an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// One sentence, for the operator.
    pub error: String,
}

/// What is asked of a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Query {
    /// A part of the name, in lower case; empty: any.
    pub part: String,
    /// Only this namespace.
    pub namespace: Option<String>,
    /// Number of matching items that are left out at the beginning.
    pub offset: usize,
    /// Number of items; absent: 100. More than 1,000 are never given.
    pub limit: Option<usize>,
}

impl Query {
    /// Whether an item with these names matches.
    pub(crate) fn has_name(&self, names: &[&str]) -> bool {
        let part = self.part.as_str();
        part.is_empty() || names.iter().any(|name| name.contains(part) || name.to_ascii_lowercase().contains(part))
    }

    /// Whether an item of these namespaces matches.
    pub(crate) fn has_namespace(&self, mut namespaces: impl Iterator<Item = impl AsRef<str>>) -> bool {
        self.namespace.as_deref().is_none_or(|wanted| namespaces.any(|namespace| namespace.as_ref() == wanted))
    }

    /// The part of what matches that is asked for. Only that is made into items.
    pub(crate) fn page<S, T>(&self, matching: Vec<S>, item: impl FnMut(S) -> T) -> List<T> {
        let total = matching.len();
        let limit = self.limit.unwrap_or(USUAL).min(MOST);
        List { total, offset: self.offset, items: matching.into_iter().skip(self.offset).take(limit).map(item).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_a_part_of_what_matches_and_never_more_than_a_thousand() {
        let page = |offset, limit| {
            let query = Query { offset, limit, ..Query::default() };
            let list = query.page((0..5000).collect(), |number| number);
            (list.total, list.items.first().copied(), list.items.len())
        };
        assert_eq!(page(0, None), (5000, Some(0), 100));
        assert_eq!(page(4990, Some(20)), (5000, Some(4990), 10));
        assert_eq!(page(9000, Some(20)), (5000, None, 0));
        assert_eq!(page(0, Some(usize::MAX)), (5000, Some(0), 1000));
    }

    #[test]
    fn names_are_found_by_a_part_whatever_their_case() {
        let query = Query { part: "shop".into(), namespace: Some("a".into()), ..Query::default() };
        assert!(query.has_name(&["x", "My-Shop.example"]) && !query.has_name(&["x"]));
        assert!(query.has_namespace(["b", "a"].into_iter()) && !query.has_namespace(["b"].into_iter()));
        assert!(Query::default().has_name(&[]) && Query::default().has_namespace(std::iter::empty::<&str>()));
    }
}
