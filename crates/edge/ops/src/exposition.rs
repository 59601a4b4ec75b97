//! Families on their way to a scraper: in Prometheus' text format, or as protobuf messages, which alone can hold native histograms.

mod negotiation;
mod protobuf;
mod text;

use std::fmt::{Arguments, Write};

use prometheus::proto::MetricFamily;

use crate::requests::Sparse;
pub use negotiation::Form;
pub(crate) use negotiation::preferred;

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
        out.values(self, values.iter().map(|(labels, value)| (labels.as_str(), *value)));
    }
}

/// A histogram of one series.
pub(crate) struct Observations<'a> {
    /// As [`labels`] has them.
    pub(crate) labels: String,
    /// One more than there are bounds; each counts what is in it and in none before.
    pub(crate) counts: &'a [u64],
    pub(crate) sum: f64,
    pub(crate) native: Option<&'a Sparse>,
}

/// The families of a scrape, in the form that the scraper asked for.
#[derive(Debug)]
pub struct Exposition {
    form: Form,
    bytes: Vec<u8>,
}

impl Exposition {
    /// Nothing yet.
    pub fn new(form: Form) -> Self {
        Self { form, bytes: Vec::new() }
    }

    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// Appends a family, each value with the labels as [`labels`] has them.
    pub(crate) fn values<'a>(&mut self, family: &Family, values: impl Iterator<Item = (&'a str, f64)>) {
        match self.form {
            Form::Text => text::values(&mut self.bytes, family, values),
            Form::Protobuf => protobuf::values(&mut self.bytes, family, values),
        }
    }

    /// Appends a family of histograms with the same bounds.
    pub(crate) fn histograms<'a>(&mut self, family: &Family, bounds: &[f64], series: impl Iterator<Item = Observations<'a>>) {
        match self.form {
            Form::Text => text::histograms(&mut self.bytes, family, bounds, series),
            Form::Protobuf => protobuf::histograms(&mut self.bytes, family, bounds, series),
        }
    }

    /// Appends what a registry has gathered.
    pub(crate) fn registered(&mut self, families: &[MetricFamily]) -> Result<(), prometheus::Error> {
        match self.form {
            Form::Text => text::registered(&mut self.bytes, families)?,
            Form::Protobuf => protobuf::registered(&mut self.bytes, families),
        }
        Ok(())
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
