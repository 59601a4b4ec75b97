//! JSON text to [`Node`] trees with lines: each value is taken as a slice of the text, so that its offset is known.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use super::node::{Entry, Mark, Node, Scalar, SyntaxFault};
use super::yaml::MAX_DEPTH;

/// Cuts a text into its JSON values, one after the other, each with the line it begins on. After a fault nothing more is found.
pub(crate) fn split(text: &str) -> (Vec<(u32, &str)>, Option<SyntaxFault>) {
    let lines = Lines::of(text);
    let mut found = Vec::new();
    for value in serde_json::Deserializer::from_str(text).into_iter::<&RawValue>() {
        match value {
            Ok(raw) => found.push((lines.mark(text, raw.get()).line, raw.get())),
            Err(error) => return (found, Some(fault(&error))),
        }
    }
    (found, None)
}

/// Reads one JSON value.
pub(crate) fn parse(text: &str) -> Result<Node<'_>, SyntaxFault> {
    let raw: &RawValue = serde_json::from_str(text).map_err(|error| fault(&error))?;
    node(raw, &JsonText { text, lines: Lines::of(text) }, 1)
}

struct JsonText<'i> {
    text: &'i str,
    lines: Lines,
}

fn node<'i>(raw: &'i RawValue, source: &JsonText<'i>, level: u16) -> Result<Node<'i>, SyntaxFault> {
    let text = raw.get();
    let mark = source.lines.mark(source.text, text);
    if level > MAX_DEPTH {
        return Err(SyntaxFault::new(mark, format!("nested more than {MAX_DEPTH} levels deep")));
    }
    // The text has been through the parser already: what follows can only fail in escapes of strings.
    let bad = |error: serde_json::Error| SyntaxFault::new(mark, describe(&error));
    match text.as_bytes().first() {
        Some(b'{') => {
            let Members(members) = serde_json::from_str(text).map_err(bad)?;
            let entry = |(key, value): (Text<'i>, &'i RawValue)| {
                let value = node(value, source, level + 1)?;
                Ok(Entry { key: key.0, mark: value.mark, value })
            };
            Ok(Node::map(mark, members.into_iter().map(entry).collect::<Result<_, SyntaxFault>>()?))
        }
        Some(b'[') => {
            let items: Vec<&RawValue> = serde_json::from_str(text).map_err(bad)?;
            Ok(Node::list(mark, items.into_iter().map(|item| node(item, source, level + 1)).collect::<Result<_, _>>()?))
        }
        Some(b'"') => {
            let Text(value) = serde_json::from_str(text).map_err(bad)?;
            Ok(Node::scalar(mark, value, Scalar::Text))
        }
        _ => Ok(Node::scalar(mark, Cow::Borrowed(text), meaning(text))),
    }
}

fn meaning(text: &str) -> Scalar {
    match text {
        "null" => Scalar::Null,
        "true" => Scalar::Bool(true),
        "false" => Scalar::Bool(false),
        _ => text
            .parse()
            .map(Scalar::Int)
            .or_else(|_| text.parse().map(Scalar::Unsigned))
            .or_else(|_| text.parse().map(Scalar::Float))
            .unwrap_or(Scalar::Text),
    }
}

fn fault(error: &serde_json::Error) -> SyntaxFault {
    SyntaxFault::new(Mark::new(error.line().max(1), error.column().max(1)), describe(error))
}

/// The message without its "at line ...": the mark says where.
fn describe(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

/// The places where lines begin.
struct Lines(Vec<usize>);

impl Lines {
    fn of(text: &str) -> Self {
        Self(std::iter::once(0).chain(text.bytes().enumerate().filter(|(_, byte)| *byte == b'\n').map(|(at, _)| at + 1)).collect())
    }

    /// The place of `part`, which is a slice of `text`.
    fn mark(&self, text: &str, part: &str) -> Mark {
        let offset = (part.as_ptr() as usize).wrapping_sub(text.as_ptr() as usize);
        let line = self.0.partition_point(|begin| *begin <= offset).max(1);
        Mark::new(line, offset.saturating_sub(self.0[line - 1]) + 1)
    }
}

/// The members of an object in their order, repeated keys included.
struct Members<'i>(Vec<(Text<'i>, &'i RawValue)>);

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct MembersVisitor;
        impl<'de> Visitor<'de> for MembersVisitor {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Members(members))
            }
        }
        deserializer.deserialize_map(MembersVisitor)
    }
}

/// A string, borrowed where it has no escapes.
struct Text<'i>(Cow<'i, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a string")
            }

            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }

            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::super::node::Value;
    use super::*;

    #[test]
    fn values_follow_each_other_and_know_their_lines() {
        let text = "{\"a\": 1}\n\n{\n  \"b\": [\n    \"\\ud83d\\ude00\\/\", -2.5, null]}";
        let (found, fault) = split(text);
        assert!(fault.is_none());
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [1, 3]);
        let node = parse(found[1].1).unwrap();
        let Value::List(items) = &node.get("b").unwrap().value else { panic!("{node:?}") };
        assert_eq!(items[0].text(), Some("\u{1f600}/"));
        assert_eq!(items[0].mark, Mark { line: 3, column: 5 });
        assert!(matches!(items[1].value, Value::Scalar(_, Scalar::Float(-2.5))) && items[2].is_null());
    }

    #[test]
    fn faults_name_line_and_column() {
        let (found, fault) = split("{\"a\": 1}\n{\"b\": }\n{\"c\": 2}");
        assert_eq!(found.len(), 1);
        assert_eq!(fault.unwrap(), SyntaxFault::new(Mark { line: 2, column: 7 }, "expected value"));
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        assert!(parse(&deep).unwrap_err().detail.contains("levels deep"));
    }
}
