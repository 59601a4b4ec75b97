//! Prometheus' text format. Written by hand: with ten thousand Ingresses a tree of objects for it would be larger than the counters.

use std::io::Write;

use prometheus::proto::MetricFamily;
use prometheus::{Encoder, TextEncoder};

use super::{Family, Observations};

macro_rules! push {
    ($out:expr, $($text:tt)*) => {
        write!($out, $($text)*).expect("writing to a Vec can't fail")
    };
}

pub(super) fn values<'a>(out: &mut Vec<u8>, family: &Family, values: impl Iterator<Item = (&'a str, f64)>) {
    head(out, family);
    let Family { prefix, name, .. } = family;
    for (labels, value) in values {
        match labels {
            "" => push!(out, "{prefix}{name} {value}\n"),
            labels => push!(out, "{prefix}{name}{{{labels}}} {value}\n"),
        }
    }
}

pub(super) fn histograms<'a>(out: &mut Vec<u8>, family: &Family, bounds: &[f64], series: impl Iterator<Item = Observations<'a>>) {
    head(out, family);
    let Family { prefix, name, .. } = family;
    let bounds: Vec<String> = bounds.iter().map(|bound| number(*bound)).collect();
    for Observations { labels, counts, sum, .. } in series {
        let mut total = 0;
        for (bound, count) in bounds.iter().map(String::as_str).chain(["+Inf"]).zip(counts) {
            total += count;
            push!(out, "{prefix}{name}_bucket{{{labels},le=\"{bound}\"}} {total}\n");
        }
        push!(out, "{prefix}{name}_sum{{{labels}}} {sum}\n{prefix}{name}_count{{{labels}}} {total}\n");
    }
}

pub(super) fn registered(out: &mut Vec<u8>, families: &[MetricFamily]) -> Result<(), prometheus::Error> {
    TextEncoder::new().encode(families, out)
}

fn head(out: &mut Vec<u8>, family: &Family) {
    let Family { prefix, name, help, kind } = family;
    push!(out, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {}\n", kind.name());
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
