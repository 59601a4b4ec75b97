//! One YAML document to a [`Node`] tree.
//!
//! Limits: a document's collections nest at most [`MAX_DEPTH`] deep, and its aliases may stand for at most [`MAX_ALIASED`] nodes,
//! so that neither a deep document nor a few lines of aliases to aliases can take the stack or the memory.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use granit_parser::{Event, Parser, ScalarStyle, Span, Tag};

use super::node::{Entry, Mark, Node, Scalar, SyntaxFault, Value};
use super::scalar;

/// Deepest nesting.
pub(crate) const MAX_DEPTH: u16 = 128;
/// Most nodes that all aliases of a document stand for.
pub(crate) const MAX_ALIASED: u32 = 100_000;

/// Reads a text that holds one document. `None`: it holds nothing but comments.
pub(crate) fn parse(text: &str) -> Result<Option<Node<'_>>, SyntaxFault> {
    let mut options = granit_parser::options! {
        flow_nesting_limit: usize::from(MAX_DEPTH),
        block_nesting_limit: usize::from(MAX_DEPTH),
    };
    options.set_emit_comments(false);
    let mut builder = Builder::default();
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| SyntaxFault::new(mark_of(error.marker()), error.kind().to_string()))?;
        builder.take(event, span)?;
    }
    Ok(builder.root.filter(|root| !root.is_null()))
}

/// A collection that is not closed yet.
enum Open<'i> {
    List { mark: Mark, anchor: usize, nodes: Vec<Node<'i>> },
    Map { mark: Mark, anchor: usize, entries: Vec<Entry<'i>>, key: Option<Key<'i>>, merged: Vec<Node<'i>> },
}

/// A key that waits for its value.
enum Key<'i> {
    Text(Cow<'i, str>, Mark),
    /// `<<`: the value's entries become entries of this map.
    Merge,
}

#[derive(Default)]
struct Builder<'i> {
    open: Vec<Open<'i>>,
    anchors: BTreeMap<usize, Node<'i>>,
    aliased: u32,
    root: Option<Node<'i>>,
}

impl<'i> Builder<'i> {
    fn take(&mut self, event: Event<'i>, span: Span) -> Result<(), SyntaxFault> {
        let mark = mark_of(&span.start);
        match event {
            Event::Scalar(text, style, anchor, tag) => {
                if style == ScalarStyle::Plain && text == "<<" && self.expects_key() {
                    self.set_key(Key::Merge);
                    return Ok(());
                }
                let scalar = meaning(&text, style, tag.as_deref()).map_err(|detail| SyntaxFault::new(mark, detail))?;
                self.place(Node::scalar(mark, text, scalar), anchor)
            }
            Event::SequenceStart(_, anchor, _) => {
                self.open.push(Open::List { mark, anchor, nodes: Vec::new() });
                Ok(())
            }
            Event::MappingStart(_, anchor, _) => {
                self.open.push(Open::Map { mark, anchor, entries: Vec::new(), key: None, merged: Vec::new() });
                Ok(())
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Alias(anchor) => {
                let mut node = self
                    .anchors
                    .get(&anchor)
                    .cloned()
                    .ok_or_else(|| SyntaxFault::new(mark, "an alias stands inside of what it stands for"))?;
                self.aliased = self.aliased.saturating_add(node.weight);
                if self.aliased > MAX_ALIASED {
                    return Err(SyntaxFault::new(mark, format!("the aliases of this document stand for more than {MAX_ALIASED} values")));
                }
                node.mark = mark;
                self.place(node, 0)
            }
            Event::DocumentStart(..) if self.root.is_some() => {
                Err(SyntaxFault::new(mark, "a second document begins here without a line \"---\" before it"))
            }
            _ => Ok(()),
        }
    }

    /// `true` if the next node is a key.
    fn expects_key(&self) -> bool {
        matches!(self.open.last(), Some(Open::Map { key: None, .. }))
    }

    fn set_key(&mut self, new: Key<'i>) {
        if let Some(Open::Map { key, .. }) = self.open.last_mut() {
            *key = Some(new);
        }
    }

    /// Ends the innermost collection.
    fn close(&mut self) -> Result<(), SyntaxFault> {
        match self.open.pop() {
            Some(Open::List { mark, anchor, nodes }) => self.place(Node::list(mark, nodes), anchor),
            Some(Open::Map { mark, anchor, mut entries, merged, .. }) => {
                merge(&mut entries, &merged)?;
                self.place(Node::map(mark, entries), anchor)
            }
            None => Ok(()),
        }
    }

    /// Puts a finished node where it belongs.
    fn place(&mut self, node: Node<'i>, anchor: usize) -> Result<(), SyntaxFault> {
        if node.depth > MAX_DEPTH {
            return Err(SyntaxFault::new(node.mark, format!("nested more than {MAX_DEPTH} levels deep")));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open::List { nodes, .. }) => nodes.push(node),
            Some(Open::Map { entries, key, merged, .. }) => match key.take() {
                None => *key = Some(Key::Text(key_text(&node)?, node.mark)),
                Some(Key::Text(key, mark)) => entries.push(Entry { key, mark, value: node }),
                Some(Key::Merge) => merged.push(node),
            },
        }
        Ok(())
    }
}

/// Adds the entries of merged maps whose keys are not there yet; of several the first wins.
fn merge<'i>(entries: &mut Vec<Entry<'i>>, merged: &[Node<'i>]) -> Result<(), SyntaxFault> {
    let mut taken: BTreeSet<Cow<'i, str>> =
        if merged.is_empty() { BTreeSet::new() } else { entries.iter().map(|entry| entry.key.clone()).collect() };
    for node in merged {
        let refused = || SyntaxFault::new(node.mark, "\"<<\" needs a mapping or a list of mappings");
        let maps = match &node.value {
            Value::Map(_) => std::slice::from_ref(node),
            Value::List(nodes) => nodes,
            Value::Scalar(..) => return Err(refused()),
        };
        for map in maps {
            let Value::Map(others) = &map.value else { return Err(refused()) };
            entries.extend(others.iter().filter(|other| taken.insert(other.key.clone())).cloned());
        }
    }
    Ok(())
}

/// A key as JSON has it.
fn key_text<'i>(node: &Node<'i>) -> Result<Cow<'i, str>, SyntaxFault> {
    match &node.value {
        Value::Scalar(text, Scalar::Text | Scalar::Float(_)) => Ok(text.clone()),
        Value::Scalar(_, Scalar::Bool(value)) => Ok(Cow::Borrowed(if *value { "true" } else { "false" })),
        Value::Scalar(_, Scalar::Int(value)) => Ok(Cow::Owned(value.to_string())),
        Value::Scalar(_, Scalar::Unsigned(value)) => Ok(Cow::Owned(value.to_string())),
        Value::Scalar(_, Scalar::Null) | Value::List(_) | Value::Map(_) => {
            Err(SyntaxFault::new(node.mark, format!("a key must be text, found {}", node.sort())))
        }
    }
}

/// The meaning of a scalar, by its style and tag.
fn meaning(text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Result<Scalar, String> {
    let Some(tag) = tag else {
        return Ok(if style == ScalarStyle::Plain { scalar::plain(text) } else { Scalar::Text });
    };
    let meant = scalar::plain(text);
    match (tag.core_suffix(), meant) {
        (Some("str"), _) => Ok(Scalar::Text),
        (Some("null"), Scalar::Null) | (Some("bool"), Scalar::Bool(_)) | (Some("int"), Scalar::Int(_) | Scalar::Unsigned(_)) => Ok(meant),
        (Some("float"), Scalar::Int(_) | Scalar::Unsigned(_) | Scalar::Float(_)) => Ok(meant),
        (Some(core @ ("null" | "bool" | "int" | "float")), _) => Err(format!("{text:?} is no !!{core}")),
        _ if tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() == Some("binary") => {
            Err("!!binary can't be used in a manifest: give the base64 text without the tag".to_owned())
        }
        _ => Ok(Scalar::Text),
    }
}

/// The parser counts lines from 1 and columns from 0.
fn mark_of(marker: &granit_parser::Marker) -> Mark {
    Mark::new(marker.line(), marker.col().saturating_add(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root(text: &str) -> Node<'_> {
        parse(text).unwrap().unwrap()
    }

    #[track_caller]
    fn check_fault(text: &str, line: u32, part: &str) {
        let fault = parse(text).unwrap_err();
        assert_eq!(fault.mark.line, line, "{fault:?}");
        assert!(fault.detail.contains(part), "{fault:?}");
    }

    #[test]
    fn values_know_where_they_stand() {
        let node = root("---\n# a comment\na:\n  - x: 1\n    \"y\": two\n");
        assert_eq!(node.mark.line, 3);
        let Value::List(items) = &node.get("a").unwrap().value else { panic!("{node:?}") };
        assert_eq!(items[0].mark, Mark { line: 4, column: 5 });
        assert_eq!(items[0].get("y").unwrap().mark, Mark { line: 5, column: 10 });
        assert_eq!(items[0].get("y").unwrap().text(), Some("two"));
    }

    #[test]
    fn quotes_and_tags_decide_what_is_text() {
        let node = root("a: on\nb: \"on\"\nc: !!str on\nd: |\n  on\ne: 'x'\nf: !!int \"80\"\n");
        assert!(matches!(node.get("a").unwrap().value, Value::Scalar(_, Scalar::Bool(true))));
        for key in ["b", "c", "d", "e"] {
            assert!(node.get(key).unwrap().text().is_some(), "{key}");
        }
        assert!(matches!(node.get("f").unwrap().value, Value::Scalar(_, Scalar::Int(80))));
    }

    #[test]
    fn aliases_and_merges_are_expanded() {
        let node = root("base: &b {x: 1, z: 2}\nmore:\n  <<: *b\n  z: 3\nsame: *b\nlist:\n  <<: [{x: 5}, *b]\n");
        let number = |path: [&str; 2]| match node.get(path[0]).unwrap().get(path[1]).unwrap().value {
            Value::Scalar(_, Scalar::Int(value)) => value,
            ref other => panic!("{other:?}"),
        };
        assert_eq!(
            [number(["more", "x"]), number(["more", "z"]), number(["same", "z"]), number(["list", "x"]), number(["list", "z"])],
            [1, 3, 2, 5, 2]
        );
        assert_eq!(node.get("same").unwrap().mark.line, 5);
    }

    #[test]
    fn keys_are_text_as_in_json() {
        let node = root("on: 1\n0x10: 2\n1.5: 3\n");
        assert!(node.get("true").is_some() && node.get("16").is_some() && node.get("1.5").is_some());
        check_fault("~: 1\n", 1, "a key must be text");
        check_fault("a: 1\n[b]: 1\n", 2, "a key must be text");
    }

    #[test]
    fn bombs_are_refused() {
        let mut laughs = String::from("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n");
        for level in 1..10 {
            let item = format!("*a{}", level - 1);
            laughs += &format!("a{level}: &a{level} [{}]\n", [item.as_str(); 10].join(", "));
        }
        check_fault(&laughs, 5, "100000 values");
        check_fault(&format!("{}{}", "[".repeat(500), "]".repeat(500)), 1, "");
        let mut deep = String::from("a0: &a0 [x]\n");
        for level in 1..200 {
            deep += &format!("a{level}: &a{level} [*a{}]\n", level - 1);
        }
        check_fault(&deep, 128, "levels deep");
        check_fault("a: &a [*a]\n", 1, "");
    }

    #[test]
    fn syntax_faults_name_the_line() {
        check_fault("a: 1\nb: [1\nc: 2\n", 3, "");
        check_fault("a: 1\n\tb: 2\n", 1, "tab");
        check_fault("a: *nowhere\n", 1, "anchor");
        check_fault("a: !!binary aGk=\n", 1, "base64");
        assert!(parse("# nothing\n---\n").unwrap().is_none());
    }
}
