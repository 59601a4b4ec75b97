//! The queries of our dashboards.

use anyhow::{Context, ensure};
use e2e::helm::chart;
use serde_json::Value;

/// A dashboard of the chart.
pub(super) struct Dashboard {
    /// Each with the panel or the variable that has it.
    pub(super) queries: Vec<(String, String)>,
}

/// All of them.
pub(super) fn all() -> anyhow::Result<Vec<Dashboard>> {
    let files = std::fs::read_dir(chart().join("dashboards"))?.collect::<Result<Vec<_>, _>>()?;
    ensure!(files.len() == 3, "{files:?}");
    files.iter().map(|file| read(&serde_json::from_slice(&std::fs::read(file.path())?)?)).collect()
}

fn read(dashboard: &Value) -> anyhow::Result<Dashboard> {
    let title = dashboard["title"].as_str().context("no title")?;
    let variables = dashboard["templating"]["list"].as_array().context("no variables")?;
    let mut queries = Vec::new();
    for variable in variables.iter().filter(|variable| variable["type"] == "query") {
        let (name, query) = (&variable["name"], variable["query"].as_str().context("no query")?);
        let inner = query.strip_prefix("label_values(").and_then(|rest| rest.strip_suffix(')')).with_context(|| query.to_owned())?;
        let (selector, label) = inner.rsplit_once(", ").with_context(|| query.to_owned())?;
        queries.push((format!("{title}, ${name}"), format!("count by ({label}) ({})", filled(selector, variables))));
    }
    for panel in dashboard["panels"].as_array().context("no panels")? {
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query = target["expr"].as_str().context("no expression")?;
            queries.push((format!("{title}, {}", panel["title"]), filled(query, variables)));
        }
    }
    let left = queries.iter().find(|(_, query)| query.contains('$'));
    ensure!(left.is_none(), "an unknown variable: {left:?}");
    Ok(Dashboard { queries })
}

/// A query as Grafana sends it, where everything is chosen.
fn filled(query: &str, variables: &[Value]) -> String {
    let intervals = [("$__rate_interval", "10s"), ("$__range", "1h"), ("$__interval", "10s")];
    let query = intervals.iter().fold(query.to_owned(), |query, (name, value)| query.replace(name, value));
    // The longest names first: one may be the beginning of another.
    let mut names: Vec<&str> = variables.iter().filter_map(|variable| variable["name"].as_str()).collect();
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    names.iter().fold(query, |query, name| query.replace(&format!("${name}"), ".*"))
}
