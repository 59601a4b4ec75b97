//! The two sides of a plan, and what is to be said of the objects that differ.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use manifests::{Content, File, MAX_FILE_BYTES};
use model::snapshot::Objects;
use model::{BuildOptions, Builder, Built, Ingress, ObjectKey, Problem, Review, Snapshot};

use crate::args::{Base, LogArgs, PlanArgs};
use crate::commands::run::runtime;
use crate::offline;

/// A change, built on both sides.
pub(super) struct Change {
    pub(super) old: Built,
    pub(super) new: Built,
    /// What the admission webhook says of each Ingress that is added or changed.
    reviews: Vec<(ObjectKey, Review)>,
    /// Annotations of a high risk that are added or changed: Ingress, name, risk.
    pub(super) risky: Vec<(ObjectKey, String, String)>,
}

impl Change {
    pub(super) fn new(old: Built, new: Built, before: &Snapshot, after: &Snapshot) -> Self {
        Self { old, new, reviews: Vec::new(), risky: risky(&before.ingresses, &after.ingresses) }
    }

    /// Findings that keep an object out.
    pub(super) fn refused(&self) -> impl Iterator<Item = &Problem> {
        self.reviews.iter().flat_map(|(_, review)| &review.refusals)
    }

    /// Findings that only one side has.
    pub(super) fn findings(&self) -> (Vec<Problem>, Vec<Problem>) {
        let (old, new) = (self.old.problems(), self.new.problems());
        let added = new.iter().filter(|problem| !old.contains(problem) && self.refused().all(|refused| refused != *problem));
        let ended = old.iter().filter(|problem| !new.contains(problem));
        (added.cloned().collect(), ended.cloned().collect())
    }
}

/// Objects applied to what is there.
pub(super) fn applied(args: &PlanArgs, base: &Base, settings: BuildOptions, log: &LogArgs) -> anyhow::Result<Change> {
    let over = read(&args.files)?;
    let (before, settings) = match base {
        Base::Directory(dir) => (offline::Directory::build(dir, settings.clone())?.loaded.snapshot, settings),
        Base::Cluster => {
            crate::logging::init(log)?;
            let settings = BuildOptions { implied_class: false, ..settings };
            (runtime()?.block_on(offline::snapshot(&args.api, &settings))?, settings)
        }
    };
    let before = offline::here(&before, &settings);
    let after = merged(&before, over);
    // As a running controller: it has built what is there, and what becomes unusable keeps its last version.
    let mut builder = Builder::new(settings);
    let old = builder.build(&before);
    builder.confirmed(&old);
    let reviews = changed(&before.ingresses, &after.ingresses)
        .filter_map(|(key, ingress)| Some((key.clone(), builder.review(key, (**ingress).clone())?)))
        .collect();
    let new = builder.build(&after);
    Ok(Change { reviews, ..Change::new(old, new, &before, &after) })
}

/// What the files hold.
fn read(paths: &[PathBuf]) -> anyhow::Result<Snapshot> {
    let mut all = Snapshot::default();
    for path in paths {
        let loaded = if path.is_dir() { manifests::load(path)? } else { manifests::read([file(path)?], None) };
        if let Some(problem) = loaded.problems().first() {
            let line = loaded.locate(problem).map(|place| format!(":{}", place.line)).unwrap_or_default();
            bail!("what can't be read may change anything, so there is no plan:\n{}{line}: {problem}", path.display());
        }
        all = merged(&all, loaded.snapshot);
    }
    Ok(all)
}

fn file(path: &Path) -> anyhow::Result<File> {
    let mut bytes = Vec::new();
    let limit = MAX_FILE_BYTES + 1;
    if path == Path::new("-") {
        std::io::stdin().take(limit).read_to_end(&mut bytes).context("standard input can't be read")?;
    } else {
        let file = std::fs::File::open(path).with_context(|| format!("{} can't be read", path.display()))?;
        file.take(limit).read_to_end(&mut bytes).with_context(|| format!("{} can't be read", path.display()))?;
    }
    let name = path.file_name().map_or_else(|| "standard input".into(), |name| name.to_string_lossy().as_ref().into());
    Ok(File { path: name, content: Content::Bytes(bytes) })
}

/// The objects of both, those of `over` where both have one.
fn merged(base: &Snapshot, over: Snapshot) -> Snapshot {
    let mut ingresses = over.ingresses;
    for (key, ingress) in &base.ingresses {
        match ingresses.get(key).cloned() {
            // A changed object keeps its age.
            Some(new) => ingresses.insert(key.clone(), Arc::new(Ingress { created_seconds: ingress.created_seconds, ..(*new).clone() })),
            None => ingresses.insert(key.clone(), ingress.clone()),
        };
    }
    let classes = match (over.ingress_classes, base.ingress_classes.clone()) {
        (Some(over), Some(base)) => Some(over.union(base)),
        (over, base) => base.or(over),
    };
    Snapshot {
        ingresses,
        ingress_classes: classes,
        services: over.services.union(base.services.clone()),
        endpoint_slices: over.endpoint_slices.union(base.endpoint_slices.clone()),
        secrets: over.secrets.union(base.secrets.clone()),
        config_maps: over.config_maps.union(base.config_maps.clone()),
        namespaces: over.namespaces.union(base.namespaces.clone()),
        ..base.clone()
    }
}

/// Ingresses that are added or changed.
fn changed<'a>(before: &'a Objects<Ingress>, after: &'a Objects<Ingress>) -> impl Iterator<Item = (&'a ObjectKey, &'a Arc<Ingress>)> {
    after.iter().filter(|(key, ingress)| before.get(*key) != Some(*ingress))
}

fn risky(before: &Objects<Ingress>, after: &Objects<Ingress>) -> Vec<(ObjectKey, String, String)> {
    let mut risky = Vec::new();
    for (key, ingress) in changed(before, after) {
        let known = |name: &str| before.get(key).and_then(|old| old.annotations.get(name));
        for (name, _) in ingress.annotations.iter().filter(|(name, value)| known(name) != Some(value)) {
            let described = settings::describe(name.rsplit('/').next().unwrap_or(name)).ok();
            if let Some(row) = described.filter(|row| ["High", "Critical"].contains(&row.risk.as_str())) {
                risky.push((key.clone(), row.name.to_owned(), row.risk));
            }
        }
    }
    risky
}
