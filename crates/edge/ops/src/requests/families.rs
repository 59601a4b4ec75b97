//! Series as families that a scraper reads.

use super::RequestOptions;
use super::line::Line;
use super::series::{HISTOGRAMS, Series};
use crate::exposition::{self, Exposition, Family, Observations, PREFIX};

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
pub(super) fn write<'a>(options: &RequestOptions, series: impl Iterator<Item = (&'a str, &'a Series)> + Clone, out: &mut Exposition) {
    let excluded = |name: &str| options.excluded.iter().any(|excluded| excluded.strip_prefix(PREFIX).unwrap_or(excluded) == name);
    let constant = &options.constant_labels;
    if !excluded(REQUESTS.name) && series.clone().next().is_some() {
        out.values(&REQUESTS, constant, series.clone().map(|(labels, series)| (labels, series.requests as f64)));
    }
    for (index, histogram) in HISTOGRAMS.iter().enumerate().filter(|(_, histogram)| !excluded(histogram.family.name)) {
        let mut observed = series.clone().filter(|(_, series)| series.histograms[index].total() > 0).peekable();
        if observed.peek().is_none() {
            continue;
        }
        let observed = observed.map(|(labels, series)| {
            let buckets = &series.histograms[index];
            let native = series.native.as_ref().and_then(|native| native.get(index));
            let exemplars = if index == 0 { &*series.exemplars } else { &[] };
            Observations { labels, counts: &buckets.counts, sum: histogram.kind.shown(buckets.sum), native, exemplars }
        });
        out.histograms(&histogram.family, constant, options.bounds(histogram.kind), observed);
    }
}
