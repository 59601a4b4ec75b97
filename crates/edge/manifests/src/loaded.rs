//! All files of a directory: the snapshot, the Problems, and where every object stands.
//!
//! Reading is incremental. What changed is found per file and per document by content; an object that is equal to the one before keeps its `Arc`;
//! the snapshot is the one before with the differences applied. So the work, and the difference that the model sees, are those of the change.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imbl::{OrdMap, OrdSet};
use model::{ObjectRef, Problem, ProblemKind, Snapshot};

use crate::document::Item;
use crate::file::{Content, FileProblem, FileState, Held, file_ref};
use crate::object::Object;

/// A directory as it was last read. A clone is cheap.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The objects, and in `problems` what is wrong with the files and the objects in them. `addresses` is empty.
    pub snapshot: Snapshot,
    files: OrdMap<Arc<str>, Arc<FileState>>,
    /// The documents that define an object: the one that is used first.
    claims: OrdMap<ObjectRef, Vec<Claim>>,
    /// Objects that are defined more than once.
    conflicts: OrdSet<ObjectRef>,
    /// The place of each of `snapshot.problems`.
    places: Arc<BTreeMap<Problem, Place>>,
    generation: u64,
}

/// The place of an object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// Path relative to the directory, with `/` between its parts.
    pub file: Arc<str>,
    /// Number of the document in its file, from 1; empty ones don't count.
    pub document: u32,
    /// Line of the file on which the object begins, from 1.
    pub line: u32,
}

/// A line of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Path relative to the directory, with `/` between its parts.
    pub file: Arc<str>,
    /// Its number, from 1.
    pub line: u32,
}

/// A file to be read.
#[derive(Debug, Clone)]
pub struct File {
    /// Path relative to the directory, with `/` between its parts.
    pub path: Arc<str>,
    /// The content of the file.
    pub content: Content,
}

/// One definition of an object.
#[derive(Debug, Clone)]
struct Claim {
    position: Position,
    item: Arc<Item>,
    /// It is a last good version; a present definition elsewhere wins over it.
    kept: bool,
}

impl Claim {
    fn new(path: &Arc<str>, held: &Held<'_>) -> Self {
        let position = Position { file: path.clone(), document: held.document, line: held.line };
        Self { position, item: held.item.clone(), kept: held.kept }
    }
}

/// Reads all files of a directory: a file that is not among them is gone. `previous` is what was read before.
///
/// Total: whatever can't be read becomes a Problem, and its last good objects stay.
pub fn read(files: impl IntoIterator<Item = File>, previous: Option<&Loaded>) -> Loaded {
    let mut loaded = previous.cloned().unwrap_or_default();
    let mut seen = BTreeSet::new();
    let mut touched = BTreeSet::new();
    for File { path, content } in files {
        let old = loaded.files.get(&path).cloned();
        let known = |reference: &ObjectRef| Object::find(reference, &loaded.snapshot);
        if let Some(new) = FileState::read(&path, &content, old.as_deref(), &known) {
            loaded.replace(&path, old.as_deref(), Some(new), &mut touched);
        }
        seen.insert(path);
    }
    let gone: Vec<_> =
        loaded.files.iter().filter(|(path, _)| !seen.contains(*path)).map(|(path, state)| (path.clone(), state.clone())).collect();
    for (path, state) in gone {
        loaded.replace(&path, Some(&state), None, &mut touched);
    }
    let changed = touched.iter().filter(|reference| loaded.settle(reference)).count();
    loaded.report(Vec::new());
    if changed > 0 || previous.is_none_or(|previous| previous.snapshot.problems != loaded.snapshot.problems) {
        loaded.generation += 1;
    }
    loaded
}

impl Default for Loaded {
    fn default() -> Self {
        Self {
            snapshot: Snapshot { ingress_classes: Some(OrdMap::new()), ..Snapshot::default() },
            files: OrdMap::new(),
            claims: OrdMap::new(),
            conflicts: OrdSet::new(),
            places: Arc::default(),
            generation: 0,
        }
    }
}

impl Loaded {
    /// The problems, in order of files and lines.
    pub fn problems(&self) -> &[Problem] {
        &self.snapshot.problems
    }

    /// The place of an object. Of one whose text is broken now and whose last good version is in the snapshot: where the broken text stands.
    pub fn position(&self, object: &ObjectRef) -> Option<&Position> {
        self.claims.get(object)?.first().map(|claim| &claim.position)
    }

    /// Every object of the snapshot with its position, in order of kind, namespace and name.
    pub fn positions(&self) -> impl Iterator<Item = (&ObjectRef, &Position)> {
        self.claims.iter().filter_map(|(object, claims)| Some((object, &claims.first()?.position)))
    }

    /// The file and line that a Problem is about: one of [`Self::problems`], or one that the model found in the snapshot.
    ///
    /// The line is that of the field; where the field is not written, that of the nearest thing around it; and at the least that of the object.
    pub fn locate(&self, problem: &Problem) -> Option<Place> {
        if let Some(place) = self.places.get(problem) {
            return Some(place.clone());
        }
        let Claim { position, item, kept } = self.claims.get(&problem.object)?.first()?;
        let below = match item.lines.find(&problem.field) {
            // What is known of the lines is of another version of the text.
            _ if *kept => 0,
            // A Secret's data may be written as `stringData`.
            0 if problem.field.starts_with("data") && problem.object.kind == "Secret" => {
                item.lines.find(&problem.field.replacen("data", "stringData", 1))
            }
            below => below,
        };
        Some(Place { file: position.file.clone(), line: position.line + below })
    }

    /// With the objects that are refused, as far as nothing else goes by their names: for a look at all that is wrong, not to be served.
    #[must_use]
    pub fn with_refused(mut self) -> Self {
        for (path, state) in self.files.clone() {
            for held in state.refused() {
                let reference = &held.item.reference;
                if !self.claims.contains_key(reference) {
                    held.item.object.insert(reference, &mut self.snapshot);
                    self.claims.insert(reference.clone(), vec![Claim::new(&path, &held)]);
                }
            }
        }
        self
    }

    /// Grows when the objects or the Problems change: equal numbers of two successive readings mean equal snapshots.
    pub(crate) fn generation(&self) -> u64 {
        self.generation
    }

    /// Paths of all files.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Arc<str>> {
        self.files.keys()
    }

    /// `true` if no file was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// The same objects, and a Problem that says why they are not up to date.
    pub(crate) fn unavailable(&self, directory: &str, reason: &str) -> Self {
        let mut loaded = self.clone();
        let detail = format!("the directory can't be read ({reason}); everything that was read from it before stays");
        let problem = Problem { object: file_ref(directory), field: String::new(), kind: ProblemKind::Unreadable, detail };
        loaded.report(vec![problem]);
        if loaded.snapshot.problems != self.snapshot.problems {
            loaded.generation += 1;
        }
        loaded
    }

    /// Takes a file's old claims out and puts its new ones in.
    fn replace(&mut self, path: &Arc<str>, old: Option<&FileState>, new: Option<FileState>, touched: &mut BTreeSet<ObjectRef>) {
        for held in old.iter().flat_map(|old| old.held()) {
            if let Some(claims) = self.claims.get_mut(&held.item.reference) {
                claims.retain(|claim| claim.position.file != *path);
            }
            touched.insert(held.item.reference.clone());
        }
        let Some(new) = new else {
            self.files.remove(path);
            return;
        };
        for held in new.held() {
            let claim = Claim::new(path, &held);
            let claims = self.claims.entry(held.item.reference.clone()).or_default();
            let at = claims.partition_point(|other| (other.kept, &other.position.file) <= (claim.kept, &claim.position.file));
            claims.insert(at, claim);
            touched.insert(held.item.reference.clone());
        }
        self.files.insert(path.clone(), Arc::new(new));
    }

    /// Updates the snapshot to the claims on one object. `true` if that changed it.
    fn settle(&mut self, reference: &ObjectRef) -> bool {
        let claims = self.claims.get(reference).map(Vec::as_slice).unwrap_or_default();
        if claims.iter().filter(|claim| !claim.kept).count() > 1 {
            self.conflicts.insert(reference.clone());
        } else {
            self.conflicts.remove(reference);
        }
        let held = Object::find(reference, &self.snapshot);
        match (claims.first(), held) {
            (Some(claim), Some(held)) if claim.item.object.same(&held) => false,
            (Some(claim), _) => {
                claim.item.object.insert(reference, &mut self.snapshot);
                true
            }
            (None, held) => {
                self.claims.remove(reference);
                Object::remove(reference, &mut self.snapshot);
                held.is_some()
            }
        }
    }

    /// Gathers the Problems: those of the whole, those of the files, and the definitions that lose.
    fn report(&mut self, whole: Vec<Problem>) {
        let place = |file: &Arc<str>, line| Place { file: file.clone(), line };
        let mut found: Vec<(Problem, Place)> =
            whole.into_iter().map(|problem| (place(&problem.object.name, 1), problem)).map(|(place, problem)| (problem, place)).collect();
        for (path, state) in &self.files {
            found.extend(state.reports.iter().map(|FileProblem { problem, line }| (problem.clone(), place(path, *line))));
        }
        for reference in &self.conflicts {
            let Some((winner, losers)) = self.claims.get(reference).and_then(|claims| claims.split_first()) else { continue };
            for loser in losers.iter().filter(|claim| !claim.kept) {
                let detail = format!("defined at {} and again at {}; the first is used", winner.position, loser.position);
                let problem = Problem { object: reference.clone(), field: String::new(), kind: ProblemKind::Conflict, detail };
                found.push((problem, place(&loser.position.file, loser.position.line)));
            }
        }
        let problems: Vec<Problem> = found.iter().map(|(problem, _)| problem.clone()).collect();
        if *self.snapshot.problems != problems {
            self.snapshot.problems = Arc::new(problems);
        }
        self.places = Arc::new(found.into_iter().collect());
    }
}

/// `shop.yaml, document 2, line 14`.
impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}, document {}, line {}", self.file, self.document, self.line)
    }
}

/// `shop.yaml:14`.
impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}
