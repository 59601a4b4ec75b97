//! Cuts a file into documents, so that a broken one doesn't take the others with it.
//!
//! A line that begins with `---` or `...` and a space is a marker wherever it stands: YAML forbids it at the first column of any scalar, block scalars included.

use super::node::SyntaxFault;
use super::{json, node::Node, yaml};

/// The format of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Yaml,
    Json,
}

/// The text of one document, markers included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk<'i> {
    pub(crate) text: &'i str,
    /// Line of the file on which the text begins, from 1.
    pub(crate) line: u32,
    pub(crate) format: Format,
}

impl<'i> Chunk<'i> {
    /// Reads the text. `None`: there is nothing in it.
    pub(crate) fn parse(&self) -> Result<Option<Node<'i>>, SyntaxFault> {
        match self.format {
            Format::Yaml => yaml::parse(self.text),
            Format::Json => json::parse(self.text).map(Some),
        }
    }
}

/// The documents of a file that are not empty, in order, and why nothing after them could be read.
/// The fault's lines are lines of the file.
pub(crate) fn split(text: &str, format: Format) -> (Vec<Chunk<'_>>, Option<SyntaxFault>) {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if format == Format::Yaml && !text.trim_start().starts_with('{') {
        return (split_yaml(text), None);
    }
    let (values, fault) = json::split(text);
    // JSON in a YAML file is JSON if it can be: an object per document, as kubectl reads it; else it is YAML's flow style.
    if format == Format::Yaml && fault.is_some() {
        return (split_yaml(text), None);
    }
    (values.into_iter().map(|(line, text)| Chunk { text, line, format: Format::Json }).collect(), fault)
}

fn split_yaml(text: &str) -> Vec<Chunk<'_>> {
    let mut cuts = Cuts { text, chunks: Vec::new(), begin: 0, begin_line: 1, marked: false, filled: false };
    let (mut offset, mut number) = (0, 1);
    for line in text.split_inclusive('\n') {
        let next = offset + line.len();
        if let Some(rest) = after_marker(line, "---") {
            // What stands before the first marker, directives and comments, belongs to the document it opens.
            if cuts.marked || cuts.filled {
                cuts.cut(offset, number);
            }
            cuts.marked = true;
            cuts.filled = has_content(rest);
        } else if after_marker(line, "...").is_some() {
            cuts.cut(next, number + 1);
        } else if !cuts.filled && has_content(line) && (cuts.marked || !line.starts_with('%')) {
            cuts.filled = true;
        }
        offset = next;
        number += 1;
    }
    cuts.cut(offset, number);
    cuts.chunks
}

/// State of the cutting: where the present document begins, whether it has its marker, whether there is anything in it.
struct Cuts<'i> {
    text: &'i str,
    chunks: Vec<Chunk<'i>>,
    begin: usize,
    begin_line: u32,
    marked: bool,
    filled: bool,
}

impl Cuts<'_> {
    fn cut(&mut self, at: usize, line: u32) {
        if self.filled {
            self.chunks.push(Chunk { text: &self.text[self.begin..at], line: self.begin_line, format: Format::Yaml });
        }
        (self.begin, self.begin_line, self.marked, self.filled) = (at, line, false, false);
    }
}

fn after_marker<'l>(line: &'l str, marker: &str) -> Option<&'l str> {
    line.strip_prefix(marker).filter(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn has_content(line: &str) -> bool {
    let line = line.trim();
    !line.is_empty() && !line.starts_with('#')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[(u32, &str)]) {
        let (chunks, fault) = split(text, Format::Yaml);
        assert_eq!(fault, None);
        assert_eq!(chunks.iter().map(|chunk| (chunk.line, chunk.text)).collect::<Vec<_>>(), expected, "{text:?}");
    }

    #[test]
    fn documents_are_cut_at_markers_only() {
        check("", &[]);
        check("# c\n---\n# d\n---\n", &[]);
        check("a: 1", &[(1, "a: 1")]);
        check("\u{feff}a: 1\n", &[(1, "a: 1\n")]);
        check("---\na: 1\n---\nb: 2\n", &[(1, "---\na: 1\n"), (3, "---\nb: 2\n")]);
        check("a: 1\n--- # two\r\nb: 2\n---\n\n---\nc: 3", &[(1, "a: 1\n"), (2, "--- # two\r\nb: 2\n"), (6, "---\nc: 3")]);
        check("%YAML 1.1\n# x\n---\na: 1\n...\nb: 2\n", &[(1, "%YAML 1.1\n# x\n---\na: 1\n...\n"), (6, "b: 2\n")]);
        check("--- {a: 1}\n--- |\n ---\n----\n", &[(1, "--- {a: 1}\n"), (2, "--- |\n ---\n----\n")]);
        check("a: |\n  ---\n  x\n", &[(1, "a: |\n  ---\n  x\n")]);
    }

    #[test]
    fn json_in_a_yaml_file_is_json_or_flow_style() {
        let (chunks, _) = split("{\"a\": 1}\n{\"b\": 2}\n", Format::Yaml);
        assert_eq!(chunks.iter().map(|chunk| (chunk.line, chunk.format)).collect::<Vec<_>>(), [(1, Format::Json), (2, Format::Json)]);
        check("{a: 1}\n---\n{b: 2}\n", &[(1, "{a: 1}\n"), (2, "---\n{b: 2}\n")]);
    }
}
