//! `narthex migrate values` is built from files of the chart: its list of other defaults must be that of both charts, and its reader of
//! schemas must know every keyword.

use std::path::Path;

use anyhow::{Result, anyhow};
use manifests::Plain;
use migrate::values::{Chart, drift, schema};
use serde_json::Value;

/// Every value of ingress-nginx's chart with its default there.
const PREDECESSOR: &str = "tests/e2e/tests/chart/values/ingress-nginx.yaml";
const DEFAULTS: &str = "crates/narthex/src/commands/migrate/defaults.yaml";
const CHART: &str = "charts/narthex";

/// Disagreements.
pub(crate) fn check(root: &Path) -> Result<Vec<String>> {
    let read = |path: &str| -> Result<Value> {
        let text = std::fs::read_to_string(root.join(path)).map_err(|error| anyhow!("read {path}: {error}"))?;
        Ok(Plain::read(&text).map_err(|error| anyhow!("{path}: {error}"))?.value)
    };
    let chart = Chart {
        schema: read(&format!("{CHART}/values.schema.json"))?,
        values: read(&format!("{CHART}/values.yaml"))?,
        idle: read(&format!("{CHART}/values.idle.yaml"))?,
        defaults: read(DEFAULTS)?,
    };
    let stale = drift(&chart, &read(PREDECESSOR)?).into_iter().map(|complaint| format!("{DEFAULTS}: {complaint}"));
    let unknown = schema::unknown_keywords(&chart.schema).into_iter();
    let unknown =
        unknown.map(|keyword| format!("{CHART}/values.schema.json: {keyword}: `narthex migrate values` does not know this keyword"));
    Ok(stale.chain(unknown).collect())
}
