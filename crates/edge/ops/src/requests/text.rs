//! Prometheus' text format. Written by hand: with ten thousand Ingresses a tree of objects for it would be larger than the counters.

use super::RequestOptions;
use super::line::Line;
use super::series::{Buckets, HISTOGRAMS, Histogram, Series};
use crate::exposition::{self, Family, PREFIX, push};

const REQUESTS: Family = Family::counter("requests", "Requests that have ended.");

/// The labels of a series but the constant ones.
pub(super) fn labels(options: &RequestOptions, line: &Line, host: &str) -> String {
    let status = match options.status_classes {
        true => format!("{}xx", line.status / 100),
        false => format!("{:03}", line.status),
    };
    let mut text = String::new();
    let pairs = [
        ("canary", &*line.canary),
        ("host", host),
        ("ingress", &line.labels.ingress),
        ("method", &line.method),
        ("namespace", &line.labels.namespace),
        ("path", &line.path),
        ("service", &line.service),
        ("status", &status),
    ];
    exposition::push_labels(&mut text, pairs.into_iter().filter(|(name, _)| options.per_host || *name != "host"));
    text
}

/// All families that are not excluded and have a series.
pub(super) fn write<'a>(options: &RequestOptions, series: impl Iterator<Item = (&'a str, &'a Series)> + Clone, out: &mut String) {
    let excluded = |name: &str| options.excluded.iter().any(|excluded| excluded.strip_prefix(PREFIX).unwrap_or(excluded) == name);
    let constant = &options.constant_labels;
    if !excluded(REQUESTS.name) && series.clone().next().is_some() {
        REQUESTS.head(out);
        for (labels, series) in series.clone() {
            push(out, format_args!("{PREFIX}{}{{{constant},{labels}}} {}\n", REQUESTS.name, series.requests));
        }
    }
    for (index, histogram) in HISTOGRAMS.iter().enumerate().filter(|(_, histogram)| !excluded(histogram.name)) {
        let bounds: Vec<String> = options.bounds(histogram.kind).iter().map(|bound| number(*bound)).collect();
        let mut observed = series.clone().filter(|(_, series)| series.histograms[index].total() > 0).peekable();
        if observed.peek().is_some() {
            Family::histogram(histogram.name, histogram.help).head(out);
        }
        for (labels, series) in observed {
            write_histogram(out, histogram, &format!("{constant},{labels}"), &bounds, &series.histograms[index]);
        }
    }
}

fn write_histogram(out: &mut String, histogram: &Histogram, labels: &str, bounds: &[String], buckets: &Buckets) {
    let name = histogram.name;
    let mut total = 0;
    for (bound, count) in bounds.iter().map(String::as_str).chain(["+Inf"]).zip(&buckets.counts) {
        total += count;
        push(out, format_args!("{PREFIX}{name}_bucket{{{labels},le=\"{bound}\"}} {total}\n"));
    }
    push(out, format_args!("{PREFIX}{name}_sum{{{labels}}} {}\n", histogram.kind.shown(buckets.sum)));
    push(out, format_args!("{PREFIX}{name}_count{{{labels}}} {total}\n"));
}

/// A bound as Go prints it: what was stored by the predecessor has these labels.
fn number(bound: f64) -> String {
    if (1e-4..1e6).contains(&bound) {
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
mod tests {
    use super::*;

    #[test]
    fn bounds_are_printed_as_go_does() {
        let printed = [0.005, 0.0001, 0.00001, 1.0, 2.5, 100_000.0, 1e6, 1.5e7, 1e10].map(number);
        assert_eq!(printed, ["0.005", "0.0001", "1e-05", "1", "2.5", "100000", "1e+06", "1.5e+07", "1e+10"]);
    }
}
