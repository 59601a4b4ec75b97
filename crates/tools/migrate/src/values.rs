//! A values file of ingress-nginx's chart, held against this project's chart: what the schema refuses, what has no meaning, which defaults
//! are others, and the shorter file that means the same.

mod defaults;
mod prune;
mod report;
pub mod schema;
mod yaml;

use serde_json::Value;

pub use defaults::drift;
pub use prune::{at, leaves};
pub use report::shown;
pub use yaml::yaml;

/// Keys from the outermost map on.
pub type Path = Vec<String>;

/// The files of the chart, read.
#[derive(Debug, Clone)]
pub struct Chart {
    /// `values.schema.json`.
    pub schema: Value,
    /// `values.yaml`.
    pub values: Value,
    /// `values.idle.yaml`: `idle`, a list of `path`, `default` and `reason`.
    pub idle: Value,
    /// Values of ingress-nginx's chart with another default: `defaults`, a list of `path`, `there` and `reason`.
    pub defaults: Value,
}

/// A value that the chart refuses, or ignores.
#[derive(Debug, Clone, PartialEq)]
pub struct Refused {
    /// Its place.
    pub path: Path,
    /// The value.
    pub value: Value,
    /// The expectation, `expected` and a noun phrase, or the fault of the name.
    pub expected: String,
    /// The consequence: Helm refuses the whole file, or the value has no effect.
    pub consequence: Consequence,
}

/// The end of a value that is not expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Consequence {
    /// Helm refuses the file.
    Refused,
    /// The value has no effect, or the API server refuses the object.
    Ineffective,
}

/// A value without a meaning here.
#[derive(Debug, Clone, PartialEq)]
pub struct Idle {
    /// Its place.
    pub path: Path,
    /// The value.
    pub value: Value,
    /// The reason.
    pub reason: String,
}

/// A default that the file relies on and that is another one here.
#[derive(Debug, Clone, PartialEq)]
pub struct Differing {
    /// Its place.
    pub path: Path,
    /// The default here; `null` where there is none.
    pub here: Value,
    /// That of ingress-nginx's chart.
    pub there: Value,
    /// The reason.
    pub reason: String,
}

/// All that is to be said of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct Review {
    /// In the order of paths.
    pub refused: Vec<Refused>,
    /// In the order of paths.
    pub idle: Vec<Idle>,
    /// In the order of the list.
    pub differing: Vec<Differing>,
    /// Values that are set.
    pub count: usize,
    /// Values of those that are the default here.
    pub usual: usize,
    /// The values that make a difference here.
    pub values: Value,
}

/// Reviews the values of a file. `null` is an empty file.
pub fn review(chart: &Chart, values: &Value) -> Review {
    let mut refused = schema::check(&chart.schema, values);
    if !(values.is_object() || values.is_null()) {
        refused = vec![Refused {
            path: Path::new(),
            value: values.clone(),
            expected: "a map of values".into(),
            consequence: Consequence::Refused,
        }];
    }
    let (idle, without) = prune::without_idle(chart, values);
    let pruned = if without.is_null() { None } else { prune::prune(&without, &chart.values) };
    let count = leaves(values).len();
    let left = pruned.as_ref().map_or(0, |values| leaves(values).len());
    Review {
        differing: defaults::differing(chart, values),
        usual: count.saturating_sub(left + idle.len()),
        count,
        refused,
        idle,
        values: pruned.unwrap_or_else(|| Value::Object(serde_json::Map::new())),
    }
}

impl Review {
    /// `true` if Helm takes the file and every name in it means something to the chart.
    pub fn is_good(&self) -> bool {
        self.refused.is_empty()
    }

    /// Adds findings from below open maps.
    pub fn add(&mut self, more: Vec<Refused>) {
        for one in more {
            if !self.refused.iter().any(|known| known.path == one.path) {
                self.refused.push(one);
            }
        }
        self.refused.sort_by(|a, b| a.path.cmp(&b.path));
    }
}

#[cfg(test)]
mod tests;
