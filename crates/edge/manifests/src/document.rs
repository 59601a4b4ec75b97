//! One document of a file: its objects and its faults, both with lines relative to the document.
//!
//! Known by the digest of its text, so that a document that did not change is not read again wherever it moved in its file.

use std::sync::Arc;

use model::ObjectRef;
use sha2::{Digest as _, Sha256};

use crate::object::lines::Lines;
use crate::object::{self, Class, Kind, Object, classify, identify};
use crate::parse::node::{Mark, Node, Value};
use crate::parse::split::Chunk;

/// Content address of a text.
pub(crate) type Digest = [u8; 32];

/// The content address of a text.
pub(crate) fn digest(bytes: &[u8]) -> Digest {
    Sha256::digest(bytes).into()
}

/// The content of a document.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) digest: Digest,
    /// Usable objects, in order.
    pub(crate) items: Vec<Arc<Item>>,
    /// Objects that can be read and are refused.
    pub(crate) refused: Vec<Arc<Item>>,
    pub(crate) faults: Vec<Fault>,
}

/// A usable object.
#[derive(Debug)]
pub(crate) struct Item {
    pub(crate) reference: ObjectRef,
    pub(crate) object: Object,
    /// Line of the document, from 1.
    pub(crate) line: u32,
    pub(crate) lines: Lines,
}

/// Something that is wrong.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) about: About,
    /// Field path within the object; empty for the whole.
    pub(crate) field: String,
    /// Line and column of the document.
    pub(crate) mark: Mark,
    pub(crate) detail: String,
}

/// The subject of a fault, which decides what it costs.
#[derive(Debug)]
pub(crate) enum About {
    /// Text whose objects are unknown: it may be any object that the file defined before.
    Document,
    /// An object that can't be used.
    Object(ObjectRef),
    /// A field that is ignored.
    Field(ObjectRef),
}

impl Document {
    /// Reads a document. An object that equals the one that `known` gives for its name is that one.
    pub(crate) fn read(chunk: &Chunk<'_>, digest: Digest, known: &dyn Fn(&ObjectRef) -> Option<Object>) -> Self {
        let mut reader = Reader { known, document: Self { digest, items: Vec::new(), refused: Vec::new(), faults: Vec::new() } };
        match chunk.parse() {
            Ok(Some(root)) => reader.take(&root, None),
            Ok(None) => {}
            Err(fault) => reader.fault(About::Document, String::new(), fault.mark, fault.detail),
        }
        reader.document
    }
}

struct Reader<'k> {
    known: &'k dyn Fn(&ObjectRef) -> Option<Object>,
    document: Document,
}

impl Reader<'_> {
    fn fault(&mut self, about: About, field: String, mark: Mark, detail: String) {
        self.document.faults.push(Fault { about, field, mark, detail });
    }

    /// Takes an object or a list of objects; `of` is the kind of the list it stands in, for items that leave theirs out.
    fn take(&mut self, node: &Node<'_>, of: Option<Kind>) {
        let Value::Map(_) = node.value else {
            return self.fault(About::Document, String::new(), node.mark, format!("expected a Kubernetes object, found {node}"));
        };
        let text = |field: &str| node.get(field).filter(|value| !value.is_null());
        let (api_version, kind) = match (text("apiVersion"), text("kind"), of) {
            (None, None, Some(of)) => (Some(of.api_version()), of.name()),
            (api_version, Some(kind), _) => match (api_version.map(|value| value.text().ok_or(value)).transpose(), kind.text().ok_or(kind))
            {
                (Ok(api_version), Ok(kind)) => (api_version, kind),
                (Err(value), _) | (_, Err(value)) => {
                    return self.fault(
                        About::Document,
                        String::new(),
                        value.mark,
                        format!("expected apiVersion and kind to be strings, found {value}"),
                    );
                }
            },
            (_, None, _) => {
                return self.fault(
                    About::Document,
                    String::new(),
                    node.mark,
                    "expected a Kubernetes object, found a mapping without \"kind\"".to_owned(),
                );
            }
        };
        match classify(api_version, kind) {
            Class::Other => {}
            Class::Known(kind) => self.object(kind, node),
            Class::WrongVersion(kind) => {
                let detail = format!(
                    "{kind} is read from apiVersion {:?}, found {:?}",
                    kind.api_version(),
                    api_version.unwrap_or_default(),
                    kind = kind.name()
                );
                let about = identify(kind, node).map_or(About::Document, About::Object);
                let mark = text("apiVersion").map_or(node.mark, |value| value.mark);
                self.fault(about, "apiVersion".to_owned(), mark, detail);
            }
            Class::List(of) => match text("items").map(|items| (&items.value, items)) {
                None => {}
                Some((Value::List(items), _)) => items.iter().for_each(|item| self.take(item, of)),
                Some((_, items)) => {
                    self.fault(About::Document, String::new(), items.mark, format!("expected items to be a list, found {}", items.sort()))
                }
            },
        }
    }

    fn object(&mut self, kind: Kind, node: &Node<'_>) {
        let reference = match identify(kind, node) {
            Ok(reference) => reference,
            Err(finding) => return self.fault(About::Document, finding.field, Mark { line: finding.line, column: 1 }, finding.detail),
        };
        let outcome = object::read(kind, &reference, node);
        for finding in outcome.unknown {
            self.fault(About::Field(reference.clone()), finding.field, Mark { line: finding.line, column: 1 }, finding.detail);
        }
        let is_good = outcome.refused.is_empty();
        for finding in outcome.refused {
            self.fault(About::Object(reference.clone()), finding.field, Mark { line: finding.line, column: 1 }, finding.detail);
        }
        let Some(object) = outcome.object else { return };
        let object = (self.known)(&reference).filter(|known| known.same(&object)).unwrap_or(object);
        let item = Arc::new(Item { reference, object, line: node.mark.line, lines: outcome.lines });
        if is_good {
            self.document.items.push(item);
        } else {
            self.document.refused.push(item);
        }
    }
}
