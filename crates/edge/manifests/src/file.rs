//! One file: its documents, and what stays of earlier versions where the present one can't be read.
//!
//! What stays is decided per object where the broken text says which object it is. Where it does not (a syntax error, no name), it may be any object that the file
//! defined before and that none of its readable documents defines now: all of these stay until the file can be read again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use model::{ObjectRef, Problem, ProblemKind};

use crate::document::{About, Digest, Document, Fault, Item, digest};
use crate::object::Object;
use crate::parse::node::Mark;
use crate::parse::split::{Format, split};

/// The largest file that is read, in bytes.
pub const MAX_FILE_BYTES: u64 = 16 << 20;

/// The content of a file.
#[derive(Debug, Clone)]
pub enum Content {
    /// All of it.
    Bytes(Vec<u8>),
    /// The content of the last reading.
    Unchanged,
    /// The reason why it can't be read: a phrase such as `permission denied`.
    Unreadable(String),
}

/// A file after reading.
#[derive(Debug, Default)]
pub(crate) struct FileState {
    /// Digest of the content, when it was readable.
    digest: Option<Digest>,
    documents: Vec<Placed>,
    /// Last good objects of earlier versions that stay.
    kept: Vec<Kept>,
    pub(crate) reports: Vec<FileProblem>,
}

#[derive(Debug)]
struct Placed {
    document: Arc<Document>,
    /// Line of the file on which the document begins.
    line: u32,
}

#[derive(Debug)]
struct Kept {
    item: Arc<Item>,
    /// The place of the text that should have been its new version.
    document: u32,
    line: u32,
}

/// A Problem and the line of the file it is about.
#[derive(Debug, Clone)]
pub(crate) struct FileProblem {
    pub(crate) problem: Problem,
    pub(crate) line: u32,
}

/// An object of a file, as its documents or its past have it.
pub(crate) struct Held<'f> {
    pub(crate) item: &'f Arc<Item>,
    /// Number of its document, from 1.
    pub(crate) document: u32,
    /// Line of the file on which it begins.
    pub(crate) line: u32,
    /// It is a last good version.
    pub(crate) kept: bool,
}

impl FileState {
    /// Every object of the file: what its documents define, in order, then what stays of the past.
    pub(crate) fn held(&self) -> impl Iterator<Item = Held<'_>> {
        self.placed(|document| &document.items).chain(self.kept.iter().map(|kept| Held {
            item: &kept.item,
            document: kept.document,
            line: kept.line,
            kept: true,
        }))
    }

    /// Every object of the file that can be read and is refused.
    pub(crate) fn refused(&self) -> impl Iterator<Item = Held<'_>> {
        self.placed(|document| &document.refused)
    }

    fn placed(&self, items: fn(&Document) -> &[Arc<Item>]) -> impl Iterator<Item = Held<'_>> {
        self.documents.iter().zip(1..).flat_map(move |(placed, number)| {
            items(&placed.document).iter().map(move |item| Held {
                item,
                document: number,
                line: absolute(placed.line, item.line),
                kept: false,
            })
        })
    }

    /// Reads a file's new content; `previous` is its last state. `None`: nothing changed.
    pub(crate) fn read(
        path: &str,
        content: &Content,
        previous: Option<&Self>,
        known: &dyn Fn(&ObjectRef) -> Option<Object>,
    ) -> Option<Self> {
        let (bytes, new_digest) = match content {
            Content::Unchanged if previous.is_some() => return None,
            Content::Unchanged => return Some(Self::unreadable(path, "its content is not known", None, previous)),
            Content::Unreadable(reason) => return Some(Self::unreadable(path, reason, None, previous)),
            Content::Bytes(bytes) => (bytes, digest(bytes)),
        };
        if previous.is_some_and(|previous| previous.digest == Some(new_digest)) {
            return None;
        }
        if bytes.len() as u64 > MAX_FILE_BYTES {
            return Some(Self::unreadable(
                path,
                &format!("it has {} bytes, more than {MAX_FILE_BYTES}", bytes.len()),
                Some(new_digest),
                previous,
            ));
        }
        let text = match std::str::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) => {
                let line = bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count() + 1;
                return Some(Self::unreadable(path, &format!("line {line} is not UTF-8 text"), Some(new_digest), previous));
            }
        };
        let format = if Path::new(path).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")) {
            Format::Json
        } else {
            Format::Yaml
        };
        let (chunks, fault) = split(text, format);
        let cached: BTreeMap<&Digest, &Arc<Document>> =
            previous.iter().flat_map(|previous| &previous.documents).map(|placed| (&placed.document.digest, &placed.document)).collect();
        let documents: Vec<Placed> = chunks
            .iter()
            .map(|chunk| {
                let chunk_digest = digest(chunk.text.as_bytes());
                let document = cached.get(&chunk_digest).map(|document| Arc::clone(document));
                Placed { document: document.unwrap_or_else(|| Arc::new(Document::read(chunk, chunk_digest, known))), line: chunk.line }
            })
            .collect();
        let mut state = Self { digest: Some(new_digest), documents, kept: Vec::new(), reports: Vec::new() };
        let rest = fault.map(|fault| Fault { about: About::Document, field: String::new(), mark: fault.mark, detail: fault.detail });
        state.keep(previous, rest.as_ref());
        state.report(path, rest.as_ref());
        Some(state)
    }

    /// A file of which nothing can be said: everything stays.
    fn unreadable(path: &str, reason: &str, digest: Option<Digest>, previous: Option<&Self>) -> Self {
        let kept: Vec<Kept> = previous
            .iter()
            .flat_map(|previous| previous.held())
            .map(|held| Kept { item: held.item.clone(), document: held.document, line: 1 })
            .collect();
        let problem = Problem {
            object: file_ref(path),
            field: String::new(),
            kind: ProblemKind::Unreadable,
            detail: format!("can't be read ({reason}); {}", all_that_stays(kept.len())),
        };
        Self { digest, documents: Vec::new(), kept, reports: vec![FileProblem { problem, line: 1 }] }
    }

    /// Finds what stays: see the head of the module. `rest` is why the end of the file could not be cut into documents.
    fn keep(&mut self, previous: Option<&Self>, rest: Option<&Fault>) {
        let Some(previous) = previous else { return };
        let mut past: BTreeMap<&ObjectRef, &Arc<Item>> = BTreeMap::new();
        for held in previous.held() {
            past.entry(&held.item.reference).or_insert(held.item);
        }
        for item in self.documents.iter().flat_map(|placed| &placed.document.items) {
            past.remove(&item.reference);
        }
        let mut opaque = rest.map(|fault| (number(self.documents.len() + 1), fault.mark.line));
        for (placed, document) in self.documents.iter().zip(1..) {
            for fault in &placed.document.faults {
                let line = absolute(placed.line, fault.mark.line);
                match &fault.about {
                    About::Object(reference) => {
                        if let Some(item) = past.remove(reference) {
                            self.kept.push(Kept { item: item.clone(), document, line });
                        }
                    }
                    About::Document => opaque = opaque.or(Some((document, line))),
                    About::Field(_) => {}
                }
            }
        }
        if let Some((document, line)) = opaque {
            self.kept.extend(past.into_values().map(|item| Kept { item: item.clone(), document, line }));
        }
    }

    /// Writes the Problems.
    fn report(&mut self, path: &str, rest: Option<&Fault>) {
        let kept: BTreeSet<&ObjectRef> = self.kept.iter().map(|kept| &kept.item.reference).collect();
        let named: BTreeSet<&ObjectRef> = self
            .documents
            .iter()
            .flat_map(|placed| &placed.document.faults)
            .filter_map(|fault| if let About::Object(reference) = &fault.about { Some(reference) } else { None })
            .collect();
        let unnamed = kept.iter().filter(|reference| !named.contains(**reference)).count();
        let faults = self
            .documents
            .iter()
            .zip(1..)
            .flat_map(|(placed, document)| placed.document.faults.iter().map(move |fault| (fault, document, placed.line)));
        let rest = rest.map(|fault| (fault, number(self.documents.len() + 1), 1));
        self.reports = faults
            .chain(rest)
            .map(|(fault, document, first)| {
                let line = absolute(first, fault.mark.line);
                let place = format!("{path}, document {document}, line {line}");
                let detail = &fault.detail;
                let (object, field, kind, detail) = match &fault.about {
                    About::Document => {
                        let column =
                            if fault.field.is_empty() { format!(", column {}", fault.mark.column) } else { format!(", {}", fault.field) };
                        let field = format!("document {document}, line {line}{column}");
                        (file_ref(path), field, ProblemKind::Unreadable, format!("{detail}; {}", all_that_stays(unnamed)))
                    }
                    About::Object(reference) => {
                        let instead = if kept.contains(reference) { "its last good version stays" } else { "the object is skipped" };
                        (reference.clone(), fault.field.clone(), ProblemKind::Unreadable, format!("{detail}; {instead} ({place})"))
                    }
                    About::Field(reference) => {
                        (reference.clone(), fault.field.clone(), ProblemKind::InvalidValue, format!("{detail}; it is ignored ({place})"))
                    }
                };
                FileProblem { problem: Problem { object, field, kind, detail }, line }
            })
            .collect();
    }
}

/// A file as the object of a Problem.
pub(crate) fn file_ref(path: &str) -> ObjectRef {
    ObjectRef { kind: "File", namespace: None, name: path.into() }
}

fn all_that_stays(count: usize) -> String {
    match count {
        0 => "nothing new is taken from it".to_owned(),
        1 => "the last good version of 1 object stays".to_owned(),
        _ => format!("the last good versions of {count} objects stay"),
    }
}

/// The line of the file of a line of a document that begins on line `first`; both count from 1.
fn absolute(first: u32, line: u32) -> u32 {
    first.saturating_add(line).saturating_sub(Mark::START.line)
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
