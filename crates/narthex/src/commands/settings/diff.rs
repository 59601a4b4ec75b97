//! Two ConfigMaps.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, bail};
use k8s_openapi::api::core::v1::ConfigMap;
use manifests::{Content, File};
use model::plan::plan;
use model::{BuildOptions, Builder, Built, Snapshot};
use serde_json::{Value, json};

use super::problems;
use crate::args::Format;
use crate::commands::plan::{Both, as_json, as_text};
use crate::output;

/// Prints which keys change, and what that does in a world.
pub(super) fn print(world: &Snapshot, options: &BuildOptions, files: (&Path, &Path), format: Format) -> anyhow::Result<ExitCode> {
    let key = options.configmap.clone().context("the ConfigMap has a name")?;
    let build = |file: &Path| {
        let mut world = world.clone();
        world.config_maps.insert(key.clone(), read(file)?);
        anyhow::Ok(Builder::new(options.clone()).build(&world))
    };
    let (old, new) = (build(files.0)?, build(files.1)?);
    let (plan, both) = (plan(&old.model, &new.model), Both { old: &old, new: &new });
    let wrong: Vec<(String, String)> = problems(options, &new).collect();
    match format {
        Format::Json => {
            let wrong: Vec<Value> = wrong.iter().map(|(key, detail)| json!({"key": key, "detail": detail})).collect();
            let report = json!({"changes": changes(&old, &new), "problems": wrong, "plan": as_json(&plan, &both)});
            output::line(serde_json::to_string_pretty(&report)?)?;
        }
        Format::Text => {
            for change in changes(&old, &new) {
                let text = |field: &str| super::shortened(change[field].as_str().unwrap_or_default());
                output::line(format_args!(
                    "{}: {} -> {} ({})",
                    text("key"),
                    text("old"),
                    text("new"),
                    change["change"].as_str().unwrap_or_default()
                ))?;
            }
            for (key, detail) in &wrong {
                output::line(format_args!("{key}: {detail}"))?;
            }
            output::text(as_text(&plan, &both))?;
        }
    }
    Ok(if wrong.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(crate::FAILED) })
}

/// The keys whose effective value changes.
fn changes(old: &Built, new: &Built) -> Vec<Value> {
    let (old, new) = (&old.model.fixed.globals.config, &new.model.fixed.globals.config);
    let row = |entry: &settings::ConfigEntry| json!({"key": entry.name, "old": (entry.get)(old), "new": (entry.get)(new), "change": entry.applies()});
    old.changed_keys(new).into_iter().map(row).collect()
}

/// The ConfigMap of a file, which has one.
fn read(path: &Path) -> anyhow::Result<Arc<ConfigMap>> {
    let bytes = std::fs::read(path).with_context(|| format!("{} can't be read", path.display()))?;
    let name: Arc<str> = path.to_string_lossy().into();
    let loaded = manifests::read([File { path: name, content: Content::Bytes(bytes) }], None);
    if let Some(problem) = loaded.problems().first() {
        bail!("{}: {problem}", path.display());
    }
    let mut maps = loaded.snapshot.config_maps.values();
    match (maps.next(), maps.next()) {
        (Some(map), None) => Ok(map.clone()),
        (None, _) => bail!("{} holds no ConfigMap", path.display()),
        (Some(_), Some(_)) => bail!("{} holds several ConfigMaps; one was expected", path.display()),
    }
}
