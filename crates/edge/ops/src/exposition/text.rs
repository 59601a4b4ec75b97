//! Prometheus' text format, and that of OpenMetrics, which is nearly the same. Written by hand: with ten thousand Ingresses a tree of objects for it
//! would be larger than the counters.
//!
//! Both give a Prometheus the same series. OpenMetrics allows values of counters under names with `_total` alone: those of the predecessor that have
//! other names are of its type `unknown`. Bounds are written as before, without the `.0` that it recommends.

use std::io::Write;

use prometheus::proto::{self, MetricFamily, MetricType};

use super::{Dialect, Exemplar, Family, Kind, Observations, push_labels};

/// Units that are part of names.
const UNITS: [&str; 2] = ["seconds", "bytes"];

macro_rules! push {
    ($out:expr, $($text:tt)*) => {
        write!($out, $($text)*).expect("writing to a Vec can't fail")
    };
}

/// Whole numbers up to here are the same as integers.
const WHOLE: f64 = 1e15;

/// A text that is being written.
pub(super) struct Text<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) dialect: &'a mut Dialect,
}

/// The labels of a sample: those of the family, then its own.
type Labels<'a> = (&'a str, &'a str);

impl Text<'_> {
    pub(super) fn values<'a>(&mut self, family: &Family, constant: &str, values: impl Iterator<Item = (&'a str, f64)>) {
        let name = [family.prefix, family.name].concat();
        self.head(&name, family.help, family.kind);
        for (labels, value) in values {
            self.sample(&name, "", (constant, labels), value);
        }
    }

    pub(super) fn histograms<'a>(
        &mut self,
        family: &Family,
        constant: &str,
        bounds: &[f64],
        series: impl Iterator<Item = Observations<'a>>,
    ) {
        let name = [family.prefix, family.name].concat();
        self.head(&name, family.help, family.kind);
        let bounds: Vec<String> = bounds.iter().map(|bound| number(*bound)).chain(["+Inf".to_owned()]).collect();
        for Observations { labels, counts, sum, exemplars, .. } in series {
            let labels = (constant, labels);
            let mut total = 0;
            for (index, (bound, count)) in bounds.iter().zip(counts).enumerate() {
                total += count;
                self.bucket(&name, labels, bound, total);
                if let Some(exemplar) = exemplars.get(index).and_then(Option::as_ref).filter(|_| self.dialect.is_openmetrics()) {
                    self.exemplar(exemplar);
                }
                self.out.push(b'\n');
            }
            self.sample(&name, "_sum", labels, sum);
            self.sample(&name, "_count", labels, total as f64);
        }
    }

    pub(super) fn registered(&mut self, families: &[MetricFamily]) {
        let mut labels = String::new();
        for family in families {
            let kind = Kind::of(family.get_field_type());
            self.head(family.name(), family.help(), kind);
            for metric in family.get_metric() {
                labels.clear();
                push_labels(&mut labels, metric.get_label().iter().map(|pair| (pair.name(), pair.value())));
                match family.get_field_type() {
                    MetricType::HISTOGRAM => self.observed(family.name(), &labels, metric.get_histogram()),
                    MetricType::COUNTER => self.sample(family.name(), "", ("", &labels), metric.get_counter().get_value()),
                    _ => self.sample(family.name(), "", ("", &labels), metric.get_gauge().get_value()),
                }
            }
        }
    }

    fn observed(&mut self, name: &str, labels: &str, histogram: &proto::Histogram) {
        let labels = ("", labels);
        let mut bound = String::new();
        for bucket in histogram.get_bucket() {
            bound.clear();
            bound.push_str(&number(bucket.upper_bound()));
            self.bucket(name, labels, &bound, bucket.cumulative_count());
            self.out.push(b'\n');
        }
        if bound != "+Inf" {
            self.bucket(name, labels, "+Inf", histogram.get_sample_count());
            self.out.push(b'\n');
        }
        self.sample(name, "_sum", labels, histogram.get_sample_sum());
        self.sample(name, "_count", labels, histogram.get_sample_count() as f64);
    }

    fn head(&mut self, name: &str, help: &str, kind: Kind) {
        let (family, kind) = self.dialect.family(name, kind);
        let is_openmetrics = self.dialect.is_openmetrics();
        let mut escaped = help.replace('\\', "\\\\").replace('\n', "\\n");
        if is_openmetrics {
            escaped = escaped.replace('"', "\\\"");
        }
        push!(self.out, "# HELP {family} {escaped}\n# TYPE {family} {kind}\n");
        let is_in = |unit: &str| family.strip_suffix(unit).is_some_and(|rest| rest.ends_with('_'));
        if let Some(unit) = UNITS.into_iter().find(|unit| is_openmetrics && is_in(unit)) {
            push!(self.out, "# UNIT {family} {unit}\n");
        }
    }

    fn sample(&mut self, name: &str, suffix: &str, labels: Labels<'_>, value: f64) {
        self.named(name, suffix, labels);
        match labels {
            ("", "") => self.out.push(b' '),
            _ => self.out.extend_from_slice(b"} "),
        }
        self.value(value);
        self.out.push(b'\n');
    }

    /// A bucket, without the end of its line.
    fn bucket(&mut self, name: &str, labels: Labels<'_>, bound: &str, total: u64) {
        self.named(name, "_bucket", labels);
        self.out.extend_from_slice(if labels == ("", "") { b"{le=\"" } else { b",le=\"" });
        self.out.extend_from_slice(bound.as_bytes());
        self.out.extend_from_slice(b"\"} ");
        self.integer(total);
    }

    /// A name with its labels, without the brace that ends them.
    fn named(&mut self, name: &str, suffix: &str, (constant, own): Labels<'_>) {
        for part in [name, suffix] {
            self.out.extend_from_slice(part.as_bytes());
        }
        if !(constant.is_empty() && own.is_empty()) {
            self.out.push(b'{');
        }
        let comma = if constant.is_empty() || own.is_empty() { "" } else { "," };
        for part in [constant, comma, own] {
            self.out.extend_from_slice(part.as_bytes());
        }
    }

    fn exemplar(&mut self, exemplar: &Exemplar) {
        let Exemplar { trace, span, value, time } = exemplar;
        push!(self.out, " # {{trace_id=\"{trace:032x}\",span_id=\"{span:016x}\"}} {value} {time:.3}");
    }

    fn value(&mut self, value: f64) {
        match value {
            _ if (0.0..=WHOLE).contains(&value) && value.fract() == 0.0 => self.integer(value as u64),
            _ if value.is_infinite() => self.out.extend_from_slice(if value > 0.0 { b"+Inf" } else { b"-Inf" }),
            _ => push!(self.out, "{value}"),
        }
    }

    /// Without the machinery of `write!`, which takes several times as long.
    fn integer(&mut self, mut value: u64) {
        let (mut digits, mut at) = ([0; 20], 20);
        loop {
            at -= 1;
            digits[at] = b'0' + (value % 10) as u8;
            value /= 10;
            if value == 0 {
                break;
            }
        }
        self.out.extend_from_slice(&digits[at..]);
    }
}

/// A bound as Go prints it: what was stored by the predecessor has these labels.
fn number(bound: f64) -> String {
    if bound == f64::INFINITY {
        return "+Inf".to_owned();
    }
    if bound == 0.0 || (1e-4..1e6).contains(&bound) {
        return bound.to_string();
    }
    let text = format!("{bound:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => match exponent.strip_prefix('-') {
            Some(exponent) => format!("{digits}e-{exponent:0>2}"),
            None => format!("{digits}e+{exponent:0>2}"),
        },
        None => text,
    }
}

#[cfg(test)]
mod tests;
