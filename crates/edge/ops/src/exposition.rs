//! Families on their way to a scraper: in Prometheus' text format, in that of OpenMetrics, which has exemplars, or as protobuf messages, which have
//! exemplars and native histograms.

mod negotiation;
mod protobuf;
mod text;

use std::collections::HashSet;
use std::fmt::{Arguments, Write};

use prometheus::proto::{MetricFamily, MetricType};

use crate::requests::Sparse;
pub use negotiation::Form;
pub(crate) use negotiation::preferred;
use text::Text;

/// Prefix of the predecessor's families.
pub(crate) const PREFIX: &str = "nginx_ingress_controller_";

/// A family of metrics.
#[derive(Debug, Clone, Copy)]
pub struct Family {
    prefix: &'static str,
    pub(crate) name: &'static str,
    help: &'static str,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Counter,
    Gauge,
    Histogram,
}

impl Kind {
    /// That of a registered family: the others are registered by none of us.
    const fn of(kind: MetricType) -> Self {
        match kind {
            MetricType::COUNTER => Self::Counter,
            MetricType::HISTOGRAM => Self::Histogram,
            _ => Self::Gauge,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram => "histogram",
        }
    }
}

impl Family {
    /// A value that only grows; its name without the prefix `nginx_ingress_controller_`.
    pub const fn counter(name: &'static str, help: &'static str) -> Self {
        Self { prefix: PREFIX, name, help, kind: Kind::Counter }
    }

    /// A value that goes up and down, likewise.
    pub const fn gauge(name: &'static str, help: &'static str) -> Self {
        Self { prefix: PREFIX, name, help, kind: Kind::Gauge }
    }

    pub(crate) const fn histogram(name: &'static str, help: &'static str) -> Self {
        Self { prefix: PREFIX, name, help, kind: Kind::Histogram }
    }

    /// The same without the prefix.
    #[must_use]
    pub const fn without_prefix(self) -> Self {
        Self { prefix: "", ..self }
    }

    /// Appends the family with a value for each text of [`labels`].
    pub fn write(&self, values: &[(String, f64)], out: &mut Exposition) {
        out.values(self, "", values.iter().map(|(labels, value)| (labels.as_str(), *value)));
    }
}

/// A request that a bucket counted, by its trace.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Exemplar {
    pub(crate) trace: u128,
    pub(crate) span: u64,
    /// In the unit that is shown.
    pub(crate) value: f64,
    /// Its end, in seconds since 1970.
    pub(crate) time: f64,
}

/// A histogram of one series.
pub(crate) struct Observations<'a> {
    /// As [`labels`] has them.
    pub(crate) labels: &'a str,
    /// One more than there are bounds; each counts what is in it and in none before.
    pub(crate) counts: &'a [u64],
    pub(crate) sum: f64,
    pub(crate) native: Option<&'a Sparse>,
    /// One for each of `counts`, or none at all.
    pub(crate) exemplars: &'a [Option<Exemplar>],
}

/// A dialect of the text format.
#[derive(Debug)]
enum Dialect {
    Prometheus,
    /// With the names of the families so far, which are unique there.
    OpenMetrics(HashSet<String>),
}

impl Dialect {
    const fn is_openmetrics(&self) -> bool {
        matches!(self, Self::OpenMetrics(_))
    }

    /// Name and type of a family in OpenMetrics. A counter's is its name without `_total`; where it can't be, the type is not said.
    fn family<'a>(&mut self, name: &'a str, kind: Kind) -> (&'a str, &'static str) {
        let Self::OpenMetrics(names) = self else { return (name, kind.name()) };
        let (family, kind) = match (kind, name.strip_suffix("_total")) {
            (Kind::Counter, Some(stem)) if !names.contains(stem) => (stem, Kind::Counter.name()),
            (Kind::Counter, _) => (name, "unknown"),
            (kind, _) => (name, kind.name()),
        };
        names.insert(family.to_owned());
        (family, kind)
    }
}

/// The families of a scrape, in the form that the scraper asked for.
#[derive(Debug)]
pub struct Exposition {
    /// `None`: protobuf.
    dialect: Option<Dialect>,
    bytes: Vec<u8>,
}

impl Exposition {
    /// Nothing yet.
    pub fn new(form: Form) -> Self {
        let dialect = match form {
            Form::Text => Some(Dialect::Prometheus),
            Form::OpenMetrics => Some(Dialect::OpenMetrics(HashSet::new())),
            Form::Protobuf => None,
        };
        Self { dialect, bytes: Vec::new() }
    }

    /// The whole answer.
    pub fn into_bytes(mut self) -> Vec<u8> {
        if self.dialect.as_ref().is_some_and(Dialect::is_openmetrics) {
            self.bytes.extend_from_slice(b"# EOF\n");
        }
        self.bytes
    }

    /// Appends a family, each value with the labels `constant` and its own, as [`labels`] has them.
    pub(crate) fn values<'a>(&mut self, family: &Family, constant: &str, values: impl Iterator<Item = (&'a str, f64)>) {
        match &mut self.dialect {
            Some(dialect) => Text { out: &mut self.bytes, dialect }.values(family, constant, values),
            None => protobuf::values(&mut self.bytes, family, constant, values),
        }
    }

    /// Appends a family of histograms with the same bounds.
    pub(crate) fn histograms<'a>(
        &mut self,
        family: &Family,
        constant: &str,
        bounds: &[f64],
        series: impl Iterator<Item = Observations<'a>>,
    ) {
        match &mut self.dialect {
            Some(dialect) => Text { out: &mut self.bytes, dialect }.histograms(family, constant, bounds, series),
            None => protobuf::histograms(&mut self.bytes, family, constant, bounds, series),
        }
    }

    /// Appends what a registry has gathered.
    pub(crate) fn registered(&mut self, families: &[MetricFamily]) {
        match &mut self.dialect {
            Some(dialect) => Text { out: &mut self.bytes, dialect }.registered(families),
            None => protobuf::registered(&mut self.bytes, families),
        }
    }
}

/// Names with their values, as they stand between braces.
pub fn labels(pairs: &[(&str, &str)]) -> String {
    let mut text = String::new();
    push_labels(&mut text, pairs.iter().copied());
    text
}

pub(crate) fn push_labels<'a>(text: &mut String, pairs: impl Iterator<Item = (&'a str, &'a str)>) {
    for (name, value) in pairs {
        let comma = if text.is_empty() { "" } else { "," };
        push(text, format_args!("{comma}{name}=\""));
        escape(text, value);
        text.push('"');
    }
}

fn escape(text: &mut String, value: &str) {
    for c in value.chars() {
        match c {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            c => text.push(c),
        }
    }
}

/// The names and values of a text of [`labels`]: its inverse.
fn pairs(text: &str) -> impl Iterator<Item = (&str, String)> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let (name, quoted) = rest.trim_start_matches(',').split_once("=\"")?;
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        loop {
            match characters.next()? {
                (at, '"') => {
                    rest = &quoted[at + 1..];
                    return Some((name, value));
                }
                (_, '\\') => value.push(match characters.next()?.1 {
                    'n' => '\n',
                    c => c,
                }),
                (_, c) => value.push(c),
            }
        }
    })
}

fn push(text: &mut String, arguments: Arguments<'_>) {
    text.write_fmt(arguments).expect("writing to a String can't fail");
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// What is written, in the text format.
    pub(crate) fn text_of(write: impl FnOnce(&mut Exposition)) -> String {
        let mut out = Exposition::new(Form::Text);
        write(&mut out);
        String::from_utf8(out.into_bytes()).expect("the text format is UTF-8")
    }

    #[test]
    fn values_are_escaped_and_read_back() {
        let given = [("a", "x"), ("b", "\"\\\n,c=\""), ("c", "")];
        let text = labels(&given);
        assert_eq!(text, "a=\"x\",b=\"\\\"\\\\\\n,c=\\\"\",c=\"\"");
        assert_eq!(pairs(&text).collect::<Vec<_>>(), given.map(|(name, value)| (name, value.to_owned())));
        assert_eq!(pairs("").count(), 0);
    }

    #[test]
    fn a_family_has_its_head_and_its_values() {
        let values = [(labels(&[("a", "b")]), 0.5)];
        let text = text_of(|out| Family::gauge("x", "Help.").write(&values, out));
        let name = "nginx_ingress_controller_x";
        assert_eq!(text, format!("# HELP {name} Help.\n# TYPE {name} gauge\n{name}{{a=\"b\"}} 0.5\n"));
        let text = text_of(|out| Family::counter("x", "Help.").without_prefix().write(&[(String::new(), 1.0)], out));
        assert_eq!(text, "# HELP x Help.\n# TYPE x counter\nx 1\n");
    }
}
