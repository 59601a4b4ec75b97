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
    #[prost(message, repeated, tag = "16")]
    exemplars: Vec<DecodedExemplar>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DecodedExemplar {
    #[prost(message, repeated, tag = "1")]
    labels: Vec<DecodedPair>,
    #[prost(double, tag = "2")]
    value: f64,
    #[prost(message, optional, tag = "3")]
    time: Option<DecodedTime>,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DecodedTime {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanoseconds: i32,
}

#[derive(Clone, PartialEq, prost::Message)]
struct DecodedBucket {
    #[prost(uint64, tag = "1")]
    cumulative_count: u64,
    #[prost(double, tag = "2")]
    upper_bound: f64,
    #[prost(message, optional, tag = "3")]
    exemplar: Option<DecodedExemplar>,
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
    let own = labels(&[("a", "b")]);
    let observations = |native| Observations { labels: &own, counts: &[3, 0, 311], sum: 12.5, native, exemplars: &[] };
    let families = decoded(|out| {
        let family = Family::histogram("h", "H.");
        out.histograms(&family, "", &[0.5, 1.0], [observations(Some(&native)), observations(None)].into_iter());
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
fn exemplars_are_in_their_buckets_and_beside_native_ones_in_the_order_of_time() {
    let exemplar = |span, value, time| Some(Exemplar { trace: 0xaf7, span, value, time });
    let exemplars = [exemplar(1, 0.25, 1_700_000_002.5), None, exemplar(2, 7.0, 1_700_000_001.0)];
    let native = Sparse::new(3, 100);
    let of = |native| Observations { labels: "b=\"c\"", counts: &[3, 0, 1], sum: 12.5, native, exemplars: &exemplars };
    let families =
        decoded(|out| out.histograms(&Family::histogram("h", "H."), "a=\"x\"", &[0.5, 1.0], [of(Some(&native)), of(None)].into_iter()));
    let [with, without] = &families[0].metrics[..] else { panic!("{families:?}") };
    assert_eq!(pairs_of(with), [("a", "x"), ("b", "c")]);
    let histogram = with.histogram.as_ref().expect("a histogram");
    let ids = |exemplar: &DecodedExemplar| exemplar.labels.iter().map(|pair| format!("{}={}", pair.name, pair.value)).collect::<Vec<_>>();
    let spans: Vec<_> = histogram.buckets.iter().map(|bucket| (bucket.upper_bound, bucket.exemplar.as_ref().map(ids))).collect();
    let named = |span: &str| vec![format!("trace_id={:0>32}", "af7"), format!("span_id={span:0>16}")];
    assert_eq!(spans, [(0.5, Some(named("1"))), (1.0, None), (f64::INFINITY, Some(named("2")))]);
    assert_eq!(histogram.buckets[2].cumulative_count, 4);
    assert_eq!(histogram.exemplars.iter().map(ids).collect::<Vec<_>>(), [named("2"), named("1")]);
    let first = &histogram.exemplars[1];
    let time = first.time.as_ref().expect("native ones need a time");
    assert_eq!((first.value, time.seconds, time.nanoseconds), (0.25, 1_700_000_002, 500_000_000));
    let without = without.histogram.as_ref().expect("a histogram");
    assert!(without.exemplars.is_empty() && without.buckets[0].exemplar.is_some());
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
    let families = decoded(|out| out.registered(&registry.gather()));
    assert_eq!(families[0].metrics[0].counter.as_ref().map(|counter| counter.value), Some(7.0));
    assert_eq!(pairs_of(&families[1].metrics[0]), [("stage", "build")]);
    let histogram = families[1].metrics[0].histogram.as_ref().expect("a histogram");
    let buckets: Vec<_> = histogram.buckets.iter().map(|bucket| (bucket.upper_bound, bucket.cumulative_count)).collect();
    assert_eq!((histogram.count, histogram.sum, buckets), (1, 1.5, vec![(1.0, 0), (2.0, 1)]));
}
