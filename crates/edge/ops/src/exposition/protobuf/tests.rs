//! What is written, read by a decoder that is not ours.

use prometheus::{HistogramOpts, HistogramVec, IntCounter, Registry};
use prost::Message as _;

use super::super::{Exposition, Form, labels};
use super::*;

#[derive(Clone, PartialEq, prost::Message)]
struct DecodedFamily {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    help: String,
    #[prost(int32, tag = "3")]
    kind: i32,
    #[prost(message, repeated, tag = "4")]
    metrics: Vec<DecodedMetric>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DecodedMetric {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<DecodedPair>,
    #[prost(message, optional, tag = "2")]
    gauge: Option<DecodedValue>,
    #[prost(message, optional, tag = "3")]
    counter: Option<DecodedValue>,
    #[prost(message, optional, tag = "7")]
    histogram: Option<DecodedHistogram>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DecodedPair {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "2")]
    value: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DecodedValue {
    #[prost(double, tag = "1")]
    value: f64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DecodedHistogram {
    #[prost(uint64, tag = "1")]
    count: u64,
    #[prost(double, tag = "2")]
    sum: f64,
    #[prost(message, repeated, tag = "3")]
    buckets: Vec<DecodedBucket>,
    #[prost(sint32, optional, tag = "5")]
    schema: Option<i32>,
    #[prost(double, tag = "6")]
    zero_threshold: f64,
    #[prost(uint64, tag = "7")]
    zeros: u64,
    #[prost(message, repeated, tag = "12")]
    spans: Vec<DecodedSpan>,
    #[prost(sint64, repeated, packed = "false", tag = "13")]
    deltas: Vec<i64>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DecodedBucket {
    #[prost(uint64, tag = "1")]
    cumulative_count: u64,
    #[prost(double, tag = "2")]
    upper_bound: f64,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DecodedSpan {
    #[prost(sint32, tag = "1")]
    offset: i32,
    #[prost(uint32, tag = "2")]
    length: u32,
}

impl DecodedHistogram {
    /// Indices and counts of the native buckets.
    fn native(&self) -> Vec<(i32, i64)> {
        let (mut at, mut count, mut deltas) = (0, 0, self.deltas.iter());
        let mut buckets = Vec::new();
        for span in &self.spans {
            at += span.offset;
            for _ in 0..span.length {
                count += deltas.next().expect("a delta for each bucket");
                buckets.push((at, count));
                at += 1;
            }
        }
        assert_eq!(deltas.next(), None);
        buckets
    }
}

fn decoded(write: impl FnOnce(&mut Exposition)) -> Vec<DecodedFamily> {
    let mut out = Exposition::new(Form::Protobuf);
    write(&mut out);
    let bytes = out.into_bytes();
    let mut rest = bytes.as_slice();
    let mut families = Vec::new();
    while !rest.is_empty() {
        families.push(DecodedFamily::decode_length_delimited(&mut rest).expect("a message"));
    }
    families
}

fn pairs_of(metric: &DecodedMetric) -> Vec<(&str, &str)> {
    metric.labels.iter().map(|pair| (pair.name.as_str(), pair.value.as_str())).collect()
}

#[test]
fn counters_and_gauges_have_their_labels() {
    let values = [(labels(&[("path", "/a\"b\\c\n"), ("x", "")]), 300.0), (String::new(), -0.5)];
    let families = decoded(|out| {
        Family::counter("requests", "Requests.").write(&values[..1], out);
        Family::gauge("open", "Open.").without_prefix().write(&values[1..], out);
    });
    let [requests, open] = &families[..] else { panic!("{families:?}") };
    assert_eq!((requests.name.as_str(), requests.help.as_str(), requests.kind), ("nginx_ingress_controller_requests", "Requests.", 0));
    assert_eq!(pairs_of(&requests.metrics[0]), [("path", "/a\"b\\c\n"), ("x", "")]);
    assert_eq!(requests.metrics[0].counter.as_ref().map(|counter| counter.value), Some(300.0));
    assert_eq!((open.name.as_str(), open.kind), ("open", 1));
    assert_eq!(open.metrics[0].gauge.as_ref().map(|gauge| gauge.value), Some(-0.5));
}

#[test]
fn a_histogram_has_both_kinds_of_buckets() {
    let mut native = Sparse::new(3, 100);
    native.add(&[2, -5, 1, -4, 7, 0, 300, 1, 4]);
    let observations = |native| Observations { labels: labels(&[("a", "b")]), counts: &[3, 0, 311], sum: 12.5, native };
    let families = decoded(|out| {
        let family = Family::histogram("h", "H.");
        out.histograms(&family, &[0.5, 1.0], [observations(Some(&native)), observations(None)].into_iter());
    });
    let [with, without] = &families[0].metrics[..] else { panic!("{families:?}") };
    assert_eq!((families[0].kind, pairs_of(with)), (4, vec![("a", "b")]));
    let histogram = with.histogram.as_ref().expect("a histogram");
    assert_eq!((histogram.count, histogram.sum, histogram.schema, histogram.zeros), (314, 12.5, Some(3), 2));
    assert_eq!(histogram.zero_threshold, 2f64.powi(-128));
    let buckets: Vec<_> = histogram.buckets.iter().map(|bucket| (bucket.upper_bound, bucket.cumulative_count)).collect();
    assert_eq!(buckets, [(0.5, 3), (1.0, 3)]);
    assert_eq!(histogram.native(), [(-5, 1), (-4, 7), (0, 300), (1, 4)]);
    assert_eq!(histogram.spans.len(), 2);
    let without = without.histogram.as_ref().expect("a histogram");
    assert_eq!((without.schema, without.spans.len(), without.zero_threshold), (None, 0, 0.0));
}

#[test]
fn what_a_registry_has_is_the_same_as_in_text() {
    let registry = Registry::new();
    let counter = IntCounter::new("a_total", "A.").unwrap();
    counter.inc_by(7);
    let histogram = HistogramVec::new(HistogramOpts::new("h_seconds", "H.").buckets(vec![1.0, 2.0]), &["stage"]).unwrap();
    histogram.with_label_values(&["build"]).observe(1.5);
    registry.register(Box::new(counter)).unwrap();
    registry.register(Box::new(histogram)).unwrap();
    let families = decoded(|out| out.registered(&registry.gather()).unwrap());
    assert_eq!(families[0].metrics[0].counter.as_ref().map(|counter| counter.value), Some(7.0));
    assert_eq!(pairs_of(&families[1].metrics[0]), [("stage", "build")]);
    let histogram = families[1].metrics[0].histogram.as_ref().expect("a histogram");
    let buckets: Vec<_> = histogram.buckets.iter().map(|bucket| (bucket.upper_bound, bucket.cumulative_count)).collect();
    assert_eq!((histogram.count, histogram.sum, buckets), (1, 1.5, vec![(1.0, 0), (2.0, 1)]));
}
