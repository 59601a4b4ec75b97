//! A model without a running controller: of a directory, or of a cluster as it is now.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use manifests::Loaded;
use model::{Builder, Built, Module, Problem, Settings};

/// What a directory comes to.
pub(crate) struct Directory {
    /// As it was read.
    pub(crate) loaded: Loaded,
    /// As it was built.
    pub(crate) built: Built,
}

impl Directory {
    /// Reads and builds a directory.
    pub(crate) fn build(dir: &Path, settings: Settings) -> anyhow::Result<Self> {
        let loaded = manifests::load(dir)?;
        let built = Builder::new(settings).build(&loaded.snapshot);
        Ok(Self { loaded, built })
    }

    /// All findings with file and line, in the order of files and lines.
    pub(crate) fn problems(&self) -> Vec<(Option<(String, u64)>, Problem)> {
        let all = self.loaded.problems().iter().cloned().chain(self.built.problems());
        let mut placed: Vec<_> = all
            .map(|problem| {
                let place = self.loaded.locate(&problem).map(|place| (place.file.to_string(), u64::from(place.line)));
                (place, problem)
            })
            .collect();
        placed.sort();
        placed.dedup();
        placed
    }
}

/// Settings for offline use: a generated certificate stands for the one that a controller would keep.
pub(crate) fn settings(model: &crate::args::ModelArgs) -> anyhow::Result<Settings> {
    Ok(Settings { implied_class: true, ..model.settings(crate::fallback::generate()?, None)? })
}

/// What can be said of the NGINX on this machine, or of Debian's if there is none: rendering needs its version and modules.
pub(crate) async fn capabilities(binary: Option<&Path>) -> render::Capabilities {
    nginx::detect(binary).await.unwrap_or_else(|error| {
        eprintln!("narthex: note: {error}; assuming NGINX as Debian distributes it");
        render::Capabilities::assumed()
    })
}

/// What the NGINX on this machine can't do; where there is none, nothing is taken to be missing. Says which of both.
///
/// # Errors
/// A binary was named that can't be used.
pub(crate) fn missing(binary: Option<&Path>) -> anyhow::Result<BTreeSet<Module>> {
    let detected = crate::commands::run::runtime()?.block_on(nginx::detect(binary));
    match detected {
        Ok(capabilities) => {
            eprintln!("narthex: note: checked for the NGINX of this machine and the modules in {}", capabilities.modules_dir.display());
            Ok(capabilities.missing())
        }
        Err(error) if binary.is_some() => Err(error.into()),
        Err(error) => {
            eprintln!("narthex: note: {error}; assuming an NGINX with every module that can be asked for");
            Ok(BTreeSet::new())
        }
    }
}

/// Builds what the cluster holds now.
pub(crate) async fn cluster(args: &crate::args::SourceArgs, settings: Settings) -> anyhow::Result<Built> {
    let settings = Settings { implied_class: false, ..settings };
    let options = args.api.connect_options();
    let client = cluster::connect(&options).await?;
    let mut tasks = tokio::task::JoinSet::new();
    let source = cluster::Source::spawn(client, cluster::SourceOptions::new(Arc::new(settings.clone())), &mut tasks);
    let mut snapshots = source.snapshots.clone();
    let snapshot = snapshots.wait_for(Option::is_some).await.context("the source ended")?.clone();
    Ok(Builder::new(settings).build(&snapshot.expect("waited for it")))
}
