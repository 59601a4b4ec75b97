//! The lines of an object's fields: what makes `FILE:LINE` of a finding.
//!
//! An object of a hundred fields keeps a hundred pairs of (hash of the path, line) and no text.

use crate::parse::node::{Node, Value};

/// Lines of an object's fields, relative to the object's first line.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lines(Box<[(u64, u32)]>);

impl Lines {
    /// Indexes an object.
    pub(crate) fn of(object: &Node<'_>) -> Self {
        let mut found = Vec::new();
        collect(object, ROOT, object.mark.line, &mut found);
        // Of a key that is there twice, and of paths whose hashes collide, the first is kept.
        found.sort_by_key(|(hash, line)| (*hash, *line));
        found.dedup_by_key(|(hash, _)| *hash);
        Self(found.into_boxed_slice())
    }

    /// Lines below the object's first line on which a field stands; of a field that is not there, its nearest ancestor.
    /// 0 when nothing of the path is known.
    pub(crate) fn find(&self, field: &str) -> u32 {
        let (mut hash, mut line) = (ROOT, 0);
        for step in steps(field) {
            hash = step.hash(hash);
            match self.0.binary_search_by_key(&hash, |(hash, _)| *hash) {
                Ok(at) => line = self.0[at].1,
                Err(_) => break,
            }
        }
        line
    }
}

/// One step of a path.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step<'f> {
    Key(&'f str),
    Index(usize),
}

/// The hash of the empty path: the offset basis of 64-bit FNV-1a.
const ROOT: u64 = 0xcbf2_9ce4_8422_2325;

impl Step<'_> {
    /// Continues a parent's hash.
    fn hash(&self, parent: u64) -> u64 {
        let more = |hash: u64, bytes: &[u8]| bytes.iter().fold(hash, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
        match self {
            Self::Key(key) => more(more(parent, &[0xff]), key.as_bytes()),
            Self::Index(index) => more(more(parent, &[0xfe]), &index.to_le_bytes()),
        }
    }
}

fn collect(node: &Node<'_>, hash: u64, first: u32, found: &mut Vec<(u64, u32)>) {
    let mut child = |step: Step<'_>, line: u32, node: &Node<'_>| {
        let hash = step.hash(hash);
        // What an alias stands for is elsewhere, perhaps above: those lines are not this object's.
        if let Some(line) = line.checked_sub(first) {
            found.push((hash, line));
        }
        collect(node, hash, first, found);
    };
    match &node.value {
        Value::Scalar(..) => {}
        Value::List(nodes) => nodes.iter().enumerate().for_each(|(index, node)| child(Step::Index(index), node.mark.line, node)),
        Value::Map(entries) => {
            for entry in entries.iter().filter(|entry| entry.key != "status" && entry.key != "managedFields") {
                child(Step::Key(&entry.key), entry.mark.line, &entry.value);
            }
        }
    }
}

/// Takes a field path apart: `spec.rules[0].host`, `metadata.annotations["example.com/a.b"]`. Ends early where it is not one.
fn steps(field: &str) -> impl Iterator<Item = Step<'_>> {
    let mut rest = field;
    std::iter::from_fn(move || {
        let (step, after) = if let Some(quoted) = rest.strip_prefix("[\"") {
            let (key, after) = quoted.split_once("\"]")?;
            (Step::Key(key), after)
        } else if let Some(indexed) = rest.strip_prefix('[') {
            let (index, after) = indexed.split_once(']')?;
            (Step::Index(index.parse().ok()?), after)
        } else {
            let plain = rest.strip_prefix('.').unwrap_or(rest);
            let end = plain.find(['.', '[']).unwrap_or(plain.len());
            (Step::Key(plain.get(..end).filter(|key| !key.is_empty())?), &plain[end..])
        };
        rest = after;
        Some(step)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse::split::{Format, split};

    #[test]
    fn paths_are_taken_apart() {
        let of = |field| steps(field).collect::<Vec<_>>();
        assert_eq!(of("spec.rules[12].host"), [Step::Key("spec"), Step::Key("rules"), Step::Index(12), Step::Key("host")]);
        assert_eq!(of("data[\"a.b[0]\"].x"), [Step::Key("data"), Step::Key("a.b[0]"), Step::Key("x")]);
        assert_eq!(of(""), []);
        assert_eq!(of("a[b].c"), [Step::Key("a")]);
    }

    #[test]
    fn a_field_is_found_or_else_its_nearest_ancestor() {
        let text = "# c\nkind: X\nmetadata:\n  annotations:\n    e.com/a: b\nspec:\n  rules:\n  - host: a\n    http: {paths: [{path: /}]}\n  - host: b\n";
        let node = split(text, Format::Yaml).0[0].parse().unwrap().unwrap();
        let lines = Lines::of(&node);
        for (field, line) in [
            ("", 0),
            ("kind", 0),
            ("metadata.annotations[\"e.com/a\"]", 3),
            ("metadata.annotations[\"e.com/b\"]", 2),
            ("spec.rules[1].host", 8),
            ("spec.rules[0].http.paths[0].pathType", 7),
            ("spec.rules[7].host", 5),
            ("nothing.here", 0),
        ] {
            assert_eq!(lines.find(field), line, "{field}");
        }
    }
}
