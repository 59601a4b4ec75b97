//! Defaults that are others than those of ingress-nginx's chart.

use serde_json::Value;

use super::prune::{at, is_idle, is_image, leaves};
use super::report::name;
use super::{Chart, Differing, Path};

/// The rows of a list: path and the row.
pub(super) fn rows<'a>(list: &'a Value, key: &str) -> Vec<(Path, &'a Value)> {
    let rows = list[key].as_array().into_iter().flatten();
    rows.map(|row| (row["path"].as_str().unwrap_or_default().split('.').map(str::to_owned).collect(), row)).collect()
}

/// Those that a file relies on.
pub(super) fn differing(chart: &Chart, values: &Value) -> Vec<Differing> {
    let rows = rows(&chart.defaults, "defaults").into_iter();
    rows.filter_map(|(path, row)| {
        let here = at(&chart.values, &path).cloned().unwrap_or_default();
        let there = row["there"].clone();
        let counts = at(values, &path).is_none() && here != there;
        counts.then(|| Differing { here, there, reason: row["reason"].as_str().unwrap_or_default().to_owned(), path })
    })
    .collect()
}

/// Stale rows of the list of defaults, and rows that it lacks. `predecessor`: every value of ingress-nginx's chart with its default there.
pub fn drift(chart: &Chart, predecessor: &Value) -> Vec<String> {
    let listed = rows(&chart.defaults, "defaults");
    let mut complaints = Vec::new();
    for (path, there) in leaves(predecessor) {
        let here = at(&chart.values, &path);
        let is_same = here == Some(there) || (here.is_none_or(Value::is_null) && super::prune::is_nothing(there));
        let row = listed.iter().find(|(listed, _)| *listed == path);
        match (is_same || is_idle(chart, &path) || is_image(&path), row) {
            (true, Some(_)) => complaints
                .push(format!("{}: the default is that of ingress-nginx's chart, or has no meaning; the row is stale", name(&path))),
            (false, None) => complaints.push(format!(
                "{}: the default is {} and {there} in ingress-nginx's chart, which no row says",
                name(&path),
                here.unwrap_or(&Value::Null)
            )),
            (false, Some((_, row))) if row["there"] != *there => {
                complaints.push(format!("{}: the default of ingress-nginx's chart is {there}, the row says {}", name(&path), row["there"]));
            }
            _ => {}
        }
    }
    complaints
}
