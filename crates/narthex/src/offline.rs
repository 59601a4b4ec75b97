//! A model without a running controller: of a directory, or of a cluster as it is now.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use manifests::Loaded;
use model::options::LocalEndpoints;
use model::{BuildOptions, Builder, Built, Module, Problem, ProblemKind, Snapshot};

use crate::output;

/// The result of a directory.
pub(crate) struct Directory {
    /// As it was read.
    pub(crate) loaded: Loaded,
    /// As it was built.
    pub(crate) built: Built,
}

/// A finding, with file and line where it has one.
pub(crate) type Placed = (Option<(String, u64)>, Problem);

impl Directory {
    /// Reads and builds a directory.
    pub(crate) fn build(dir: &Path, settings: BuildOptions) -> anyhow::Result<Self> {
        Ok(Self::of(manifests::load(dir)?, settings))
    }

    /// The same with the objects that are refused: one fault is not to hide the next.
    pub(crate) fn build_all(dir: &Path, settings: BuildOptions) -> anyhow::Result<Self> {
        Ok(Self::of(manifests::load(dir)?.with_refused(), settings))
    }

    fn of(loaded: Loaded, settings: BuildOptions) -> Self {
        let built = Builder::new(settings.clone()).build(&here(&loaded.snapshot, &settings));
        Self { loaded, built }
    }

    /// All findings, in the order of files and lines.
    pub(crate) fn problems(&self) -> Vec<Placed> {
        let read = self.loaded.problems();
        // What is refused already may be found again, in other words.
        let is_new = |problem: &Problem| !read.iter().any(|refused| is_same_place(refused, problem));
        self.placed(read.iter().cloned().chain(self.built.problems().into_iter().filter(is_new)))
    }

    /// Unreadable files, about which nothing is known.
    pub(crate) fn unread(&self) -> Vec<Placed> {
        self.placed(self.loaded.problems().iter().filter(|problem| problem.kind == ProblemKind::Unreadable).cloned())
    }

    fn placed(&self, problems: impl Iterator<Item = Problem>) -> Vec<Placed> {
        let place = |problem: &Problem| self.loaded.locate(problem).map(|place| (place.file.to_string(), u64::from(place.line)));
        let mut placed: Vec<_> = problems.map(|problem| (place(&problem), problem)).collect();
        placed.sort();
        placed.dedup();
        placed
    }
}

/// Whether a field of an object that was refused is at fault again, or a part of it.
fn is_same_place(refused: &Problem, found: &Problem) -> bool {
    refused.kind == ProblemKind::Unreadable
        && refused.object == found.object
        && !found.field.is_empty()
        && (found.field.starts_with(&*refused.field) || refused.field.starts_with(&*found.field))
}

/// Settings for offline use: a generated certificate stands for the one that a controller would keep.
pub(crate) fn settings(model: &crate::args::ModelArgs) -> anyhow::Result<BuildOptions> {
    Ok(of_directory(model.settings(crate::fallback::generate()?, None)?))
}

/// Settings for manifests: their author is the administrator, who may lead requests anywhere.
pub(crate) fn of_directory(settings: BuildOptions) -> BuildOptions {
    BuildOptions { implied_class: true, local: LocalEndpoints { allowed: true, ..LocalEndpoints::default() }, ..settings }
}

/// The capabilities of the NGINX on this machine, or of Debian's if there is none: rendering needs its version and modules.
pub(crate) async fn capabilities(binary: Option<&Path>) -> render::Capabilities {
    nginx::detect(binary).await.unwrap_or_else(|error| {
        output::remark(format_args!("narthex: note: {error}; assuming NGINX as Debian distributes it"));
        render::Capabilities::assumed()
    })
}

/// The missing capabilities of the NGINX on this machine; where there is none, nothing is taken to be missing. Says which of both.
///
/// # Errors
/// A binary was named that can't be used.
pub(crate) fn missing(binary: Option<&Path>) -> anyhow::Result<BTreeSet<Module>> {
    let detected = crate::commands::run::runtime()?.block_on(nginx::detect(binary));
    match detected {
        Ok(capabilities) => {
            output::remark(format_args!(
                "narthex: note: checked for the NGINX of this machine and the modules in {}",
                capabilities.modules_dir.display()
            ));
            Ok(capabilities.missing())
        }
        Err(error) if binary.is_some() => Err(error.into()),
        Err(error) => {
            output::remark(format_args!("narthex: note: {error}; assuming an NGINX with every module that can be asked for"));
            Ok(BTreeSet::new())
        }
    }
}

/// Builds what the cluster holds now, of which it gives the objects as well.
pub(crate) async fn cluster(args: &crate::args::SourceArgs, settings: BuildOptions) -> anyhow::Result<(Snapshot, Built)> {
    let settings = BuildOptions { implied_class: false, ..settings };
    let snapshot = snapshot(&args.api, &settings).await?;
    let snapshot = here(&snapshot, &settings);
    let built = Builder::new(settings).build(&snapshot);
    Ok((snapshot, built))
}

/// As of now, with the databases of this machine.
pub(crate) fn here(snapshot: &Snapshot, settings: &BuildOptions) -> Snapshot {
    let time = Some(jiff::Timestamp::now().as_second());
    Snapshot { time, databases: geoip::present(&settings.geoip), ..snapshot.clone() }
}

/// What the cluster holds now.
pub(crate) async fn snapshot(api: &crate::args::ApiArgs, settings: &BuildOptions) -> anyhow::Result<Snapshot> {
    let options = api.connect_options();
    let client = cluster::connect(&options).await?;
    let mut tasks = tokio::task::JoinSet::new();
    let source = cluster::ClusterSource::spawn(client, cluster::SourceOptions::new(Arc::new(settings.clone())), &mut tasks);
    let mut snapshots = source.snapshots.clone();
    let snapshot = snapshots.wait_for(Option::is_some).await.context("the source ended")?.clone();
    Ok((*snapshot.expect("waited for it")).clone())
}
