//! A document before it is typed: values, each with the place where it stands.

use std::borrow::Cow;
use std::fmt;
use std::rc::Rc;

/// A place in a document's text. Both parts are 1-based; lines count from the first line of the document's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Mark {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

impl Mark {
    /// The first character.
    pub(crate) const START: Self = Self { line: 1, column: 1 };

    /// A mark from counts of any width; what does not fit is the largest that does.
    pub(crate) fn new(line: usize, column: usize) -> Self {
        let clamp = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        Self { line: clamp(line), column: clamp(column) }
    }
}

/// The reason why a text is not a document, and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxFault {
    pub(crate) mark: Mark,
    pub(crate) detail: String,
}

impl SyntaxFault {
    pub(crate) fn new(mark: Mark, detail: impl Into<String>) -> Self {
        Self { mark, detail: detail.into() }
    }
}

/// A value and where it begins. Collections are shared, so that an alias costs a reference.
#[derive(Debug, Clone)]
pub(crate) struct Node<'i> {
    pub(crate) mark: Mark,
    pub(crate) value: Value<'i>,
    /// Nodes in this tree with every alias expanded: what a traversal costs.
    pub(crate) weight: u32,
    /// Levels of this tree, 1 for a scalar.
    pub(crate) depth: u16,
}

/// The content of a node.
#[derive(Debug, Clone)]
pub(crate) enum Value<'i> {
    /// Text as written, quotes and escapes apart, and what it means.
    Scalar(Cow<'i, str>, Scalar),
    List(Rc<[Node<'i>]>),
    /// Entries in the order of the file; a key can be there twice.
    Map(Rc<[Entry<'i>]>),
}

/// The meaning of a scalar.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// Beyond `i64`.
    Unsigned(u64),
    Float(f64),
    /// The text itself.
    Text,
}

/// A key, where it stands, and its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry<'i> {
    pub(crate) key: Cow<'i, str>,
    pub(crate) mark: Mark,
    pub(crate) value: Node<'i>,
}

impl<'i> Node<'i> {
    pub(crate) fn scalar(mark: Mark, text: Cow<'i, str>, scalar: Scalar) -> Self {
        Self { mark, value: Value::Scalar(text, scalar), weight: 1, depth: 1 }
    }

    pub(crate) fn list(mark: Mark, nodes: Vec<Self>) -> Self {
        let (weight, depth) = measure(nodes.iter());
        Self { mark, value: Value::List(nodes.into()), weight, depth }
    }

    pub(crate) fn map(mark: Mark, entries: Vec<Entry<'i>>) -> Self {
        let (weight, depth) = measure(entries.iter().map(|entry| &entry.value));
        Self { mark, value: Value::Map(entries.into()), weight, depth }
    }

    /// The value of a key, where this is a map that has it.
    pub(crate) fn get(&self, key: &str) -> Option<&Self> {
        match &self.value {
            Value::Map(entries) => entries.iter().find(|entry| entry.key == key).map(|entry| &entry.value),
            Value::Scalar(..) | Value::List(_) => None,
        }
    }

    /// The text, where this is a string.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Scalar(text, Scalar::Text) => Some(text),
            Value::Scalar(..) | Value::List(_) | Value::Map(_) => None,
        }
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self.value, Value::Scalar(_, Scalar::Null))
    }

    /// The sort of value, without the value: for messages about secrets.
    pub(crate) fn sort(&self) -> &'static str {
        match &self.value {
            Value::Scalar(_, Scalar::Null) => "null",
            Value::Scalar(_, Scalar::Bool(_)) => "a boolean",
            Value::Scalar(_, Scalar::Int(_) | Scalar::Unsigned(_) | Scalar::Float(_)) => "a number",
            Value::Scalar(_, Scalar::Text) => "a string",
            Value::List(_) => "a list",
            Value::Map(_) => "a mapping",
        }
    }
}

/// The value as a message quotes it: `"on" (a boolean)`, `a list`.
impl fmt::Display for Node<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.value {
            Value::Scalar(text, scalar) if *scalar != Scalar::Null => {
                let shown: String = text.chars().take(80).collect();
                let more = if shown.len() < text.len() { "..." } else { "" };
                write!(f, "{:?} ({})", format!("{shown}{more}"), self.sort())
            }
            Value::Scalar(..) | Value::List(_) | Value::Map(_) => f.write_str(self.sort()),
        }
    }
}

/// A key that is there twice, at its second place.
pub(crate) fn repeated<'n, 'i>(entries: &'n [Entry<'i>]) -> Option<&'n Entry<'i>> {
    if entries.len() <= 8 {
        return entries
            .iter()
            .enumerate()
            .find(|(at, entry)| entries[..*at].iter().any(|other| other.key == entry.key))
            .map(|(_, entry)| entry);
    }
    let mut order: Vec<&Entry<'_>> = entries.iter().collect();
    order.sort_by(|a, b| a.key.cmp(&b.key));
    order.windows(2).find(|pair| pair[0].key == pair[1].key).map(|pair| pair[1])
}

fn measure<'n, 'i: 'n>(nodes: impl Iterator<Item = &'n Node<'i>>) -> (u32, u16) {
    let (weight, depth) = nodes.fold((1u32, 0u16), |(weight, depth), node| (weight.saturating_add(node.weight), depth.max(node.depth)));
    (weight, depth.saturating_add(1))
}
