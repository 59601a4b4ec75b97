//! `narthex render`.

use std::process::ExitCode;

use anyhow::Context;
use model::plan::plan;
use model::{BuildOptions, Built, Model, Op, Plan};
use serde_json::json;

use crate::args::{Format, LogArgs, RenderArgs};
use crate::offline::{self, Directory};
use crate::output;

/// Prints nginx.conf and the records that would be posted.
pub(crate) fn render(args: &RenderArgs, log: &LogArgs) -> anyhow::Result<ExitCode> {
    let capabilities = crate::commands::run::runtime()?.block_on(offline::capabilities(args.nginx.nginx_binary.as_deref()));
    let settings = BuildOptions { missing: capabilities.missing(), ..offline::settings(&args.model)? };
    let built: Built = match &args.source.manifests {
        Some(dir) => Directory::build(dir, settings)?.built,
        None => {
            crate::logging::init(log)?;
            crate::commands::run::runtime()?.block_on(offline::cluster(&args.source, settings))?.1
        }
    };
    let paths = render::Paths { work_dir: args.nginx.work_dir()? };
    let files = render::render(&built.model.fixed, &capabilities, &paths)?;
    let conf = files.files.iter().find(|file| file.path.as_os_str() == "nginx.conf").context("the rendered files have no nginx.conf")?;
    let conf = String::from_utf8_lossy(&conf.bytes);
    let records = match plan(&Model::default(), &built.model) {
        Plan::Nothing => Vec::new(),
        Plan::Live(live) | Plan::Reload { live, .. } => live,
    };
    match args.format {
        Format::Text => {
            output::text(&conf)?;
            output::line(format_args!("\n# Live state: {} records", records.len()))?;
            for op in &records {
                output::line(format_args!("# {}", shown(op)))?;
            }
        }
        Format::Json => {
            let live: Vec<_> = records.iter().map(|op| json!({ "kind": op.table.label(), "key": op.key, "value": value(op) })).collect();
            output::line(serde_json::to_string_pretty(&json!({ "nginx.conf": conf, "revision": files.revision, "live": live }))?)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A record without private keys.
fn value(op: &Op) -> serde_json::Value {
    let text = op.value.as_deref().unwrap_or_default();
    let row = op.table.row();
    if row.is_secret {
        return json!(format!("({})", row.noun));
    }
    row.declaration.and_then(|_| serde_json::from_str(text).ok()).unwrap_or_else(|| json!(text))
}

fn shown(op: &Op) -> String {
    format!("{} {} {}", op.table.label(), op.key, value(op))
}
