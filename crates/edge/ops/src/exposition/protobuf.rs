//! Messages `io.prometheus.client.MetricFamily`, each behind its length.
//!
//! Written by hand: a dozen fields, straight from the counters, without a tree of objects between.

use prometheus::proto::{self, MetricFamily};

use super::{Exemplar, Family, Kind, Observations, pairs};
use crate::requests::{Sparse, ZERO_THRESHOLD};

/// A message that is being written.
#[derive(Debug, Default)]
struct Message(Vec<u8>);

const VARINT: u32 = 0;
const FIXED64: u32 = 1;
const BYTES: u32 = 2;

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn uint(&mut self, field: u32, value: u64) {
        self.varint(u64::from(field << 3 | VARINT));
        self.varint(value);
    }

    /// Numbers near 0 are short, whatever their sign.
    fn sint(&mut self, field: u32, value: i64) {
        self.uint(field, (value << 1 ^ value >> 63) as u64);
    }

    fn double(&mut self, field: u32, value: f64) {
        self.varint(u64::from(field << 3 | FIXED64));
        self.0.extend(value.to_le_bytes());
    }

    fn bytes(&mut self, field: u32, bytes: &[u8]) {
        self.varint(u64::from(field << 3 | BYTES));
        self.delimited(bytes);
    }

    fn delimited(&mut self, bytes: &[u8]) {
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }
}

/// Fields of `MetricFamily`.
mod family {
    pub(super) const NAME: u32 = 1;
    pub(super) const HELP: u32 = 2;
    pub(super) const TYPE: u32 = 3;
    pub(super) const METRIC: u32 = 4;
}

/// Fields of `Metric`, and those of `LabelPair`, `Gauge` and `Counter`.
mod metric {
    pub(super) const LABEL: u32 = 1;
    pub(super) const GAUGE: u32 = 2;
    pub(super) const COUNTER: u32 = 3;
    pub(super) const HISTOGRAM: u32 = 7;
    pub(super) const LABEL_NAME: u32 = 1;
    pub(super) const LABEL_VALUE: u32 = 2;
    pub(super) const VALUE: u32 = 1;
}

/// Fields of `Histogram`, and those of `Bucket`, `BucketSpan`, `Exemplar` and its `Timestamp`.
mod histogram {
    pub(super) const COUNT: u32 = 1;
    pub(super) const SUM: u32 = 2;
    pub(super) const BUCKET: u32 = 3;
    pub(super) const SCHEMA: u32 = 5;
    pub(super) const ZERO_THRESHOLD: u32 = 6;
    pub(super) const ZERO_COUNT: u32 = 7;
    pub(super) const POSITIVE_SPAN: u32 = 12;
    pub(super) const POSITIVE_DELTA: u32 = 13;
    pub(super) const EXEMPLARS: u32 = 16;
    pub(super) const CUMULATIVE_COUNT: u32 = 1;
    pub(super) const UPPER_BOUND: u32 = 2;
    pub(super) const EXEMPLAR: u32 = 3;
    pub(super) const OFFSET: u32 = 1;
    pub(super) const LENGTH: u32 = 2;
    pub(super) const EXEMPLAR_LABEL: u32 = 1;
    pub(super) const EXEMPLAR_VALUE: u32 = 2;
    pub(super) const EXEMPLAR_TIME: u32 = 3;
    pub(super) const SECONDS: u32 = 1;
    pub(super) const NANOSECONDS: u32 = 2;
}

pub(super) fn values<'a>(out: &mut Vec<u8>, family: &Family, constant: &str, values: impl Iterator<Item = (&'a str, f64)>) {
    let metrics = values.map(|(labels, value)| {
        let mut metric = labelled(pairs(constant).chain(pairs(labels)));
        push_value(&mut metric, if family.kind == Kind::Counter { metric::COUNTER } else { metric::GAUGE }, value);
        metric
    });
    push_family(out, &[family.prefix, family.name].concat(), family.help, family.kind, metrics);
}

pub(super) fn histograms<'a>(
    out: &mut Vec<u8>,
    family: &Family,
    constant: &str,
    bounds: &[f64],
    series: impl Iterator<Item = Observations<'a>>,
) {
    let metrics = series.map(|observations| {
        let mut metric = labelled(pairs(constant).chain(pairs(observations.labels)));
        let mut message = Message::default();
        message.uint(histogram::COUNT, observations.counts.iter().sum());
        message.double(histogram::SUM, observations.sum);
        let exemplar = |index: usize| observations.exemplars.get(index).and_then(Option::as_ref);
        let mut total = 0;
        for (index, (bound, count)) in bounds.iter().zip(observations.counts).enumerate() {
            total += count;
            push_bucket(&mut message, *bound, total, exemplar(index));
        }
        // The last bucket is that of the count, and only there for what is in it.
        if let (Some(last), Some(count)) = (exemplar(bounds.len()), observations.counts.last()) {
            push_bucket(&mut message, f64::INFINITY, total + count, Some(last));
        }
        if let Some(native) = observations.native {
            push_native(&mut message, native);
            push_exemplars(&mut message, observations.exemplars);
        }
        metric.bytes(metric::HISTOGRAM, &message.0);
        metric
    });
    push_family(out, &[family.prefix, family.name].concat(), family.help, family.kind, metrics);
}

pub(super) fn registered(out: &mut Vec<u8>, families: &[MetricFamily]) {
    for family in families {
        let kind = Kind::of(family.get_field_type());
        let metrics = family.get_metric().iter().map(|metric| of_registry(kind, metric));
        push_family(out, family.name(), family.help(), kind, metrics);
    }
}

fn of_registry(kind: Kind, metric: &proto::Metric) -> Message {
    let mut message = labelled(metric.get_label().iter().map(|pair| (pair.name(), pair.value().to_owned())));
    match kind {
        Kind::Counter => push_value(&mut message, metric::COUNTER, metric.get_counter().get_value()),
        Kind::Gauge => push_value(&mut message, metric::GAUGE, metric.get_gauge().get_value()),
        Kind::Histogram => {
            let observed = metric.get_histogram();
            let mut inner = Message::default();
            inner.uint(histogram::COUNT, observed.get_sample_count());
            inner.double(histogram::SUM, observed.get_sample_sum());
            for bucket in observed.get_bucket() {
                push_bucket(&mut inner, bucket.upper_bound(), bucket.cumulative_count(), None);
            }
            message.bytes(metric::HISTOGRAM, &inner.0);
        }
    }
    message
}

fn push_family(out: &mut Vec<u8>, name: &str, help: &str, kind: Kind, metrics: impl Iterator<Item = Message>) {
    let mut message = Message::default();
    message.bytes(family::NAME, name.as_bytes());
    message.bytes(family::HELP, help.as_bytes());
    message.uint(family::TYPE, code(kind));
    for metric in metrics {
        message.bytes(family::METRIC, &metric.0);
    }
    let mut whole = Message(std::mem::take(out));
    whole.delimited(&message.0);
    *out = whole.0;
}

/// The number of a `MetricType`.
const fn code(kind: Kind) -> u64 {
    match kind {
        Kind::Counter => 0,
        Kind::Gauge => 1,
        Kind::Histogram => 4,
    }
}

fn labelled<'a>(labels: impl Iterator<Item = (&'a str, String)>) -> Message {
    let mut metric = Message::default();
    for (name, value) in labels {
        push_pair(&mut metric, metric::LABEL, name, &value);
    }
    metric
}

fn push_pair(message: &mut Message, field: u32, name: &str, value: &str) {
    let mut pair = Message::default();
    pair.bytes(metric::LABEL_NAME, name.as_bytes());
    pair.bytes(metric::LABEL_VALUE, value.as_bytes());
    message.bytes(field, &pair.0);
}

fn push_value(metric: &mut Message, field: u32, value: f64) {
    let mut inner = Message::default();
    inner.double(metric::VALUE, value);
    metric.bytes(field, &inner.0);
}

fn push_bucket(message: &mut Message, bound: f64, total: u64, exemplar: Option<&Exemplar>) {
    let mut bucket = Message::default();
    bucket.uint(histogram::CUMULATIVE_COUNT, total);
    bucket.double(histogram::UPPER_BOUND, bound);
    if let Some(exemplar) = exemplar {
        push_exemplar(&mut bucket, histogram::EXEMPLAR, exemplar);
    }
    message.bytes(histogram::BUCKET, &bucket.0);
}

/// Those of the buckets again, beside the native ones: oldest first, as Prometheus stores none that is older than the last.
fn push_exemplars(message: &mut Message, exemplars: &[Option<Exemplar>]) {
    let mut all: Vec<&Exemplar> = exemplars.iter().flatten().collect();
    all.sort_by(|one, other| one.time.total_cmp(&other.time));
    for exemplar in all {
        push_exemplar(message, histogram::EXEMPLARS, exemplar);
    }
}

fn push_exemplar(message: &mut Message, field: u32, exemplar: &Exemplar) {
    let mut inner = Message::default();
    for (name, id) in [("trace_id", format!("{:032x}", exemplar.trace)), ("span_id", format!("{:016x}", exemplar.span))] {
        push_pair(&mut inner, histogram::EXEMPLAR_LABEL, name, &id);
    }
    inner.double(histogram::EXEMPLAR_VALUE, exemplar.value);
    let mut time = Message::default();
    time.uint(histogram::SECONDS, exemplar.time as u64);
    time.uint(histogram::NANOSECONDS, (exemplar.time.fract() * 1e9) as u64);
    inner.bytes(histogram::EXEMPLAR_TIME, &time.0);
    message.bytes(field, &inner.0);
}

/// The buckets as spans of neighbours, each count as the difference to the one before.
fn push_native(message: &mut Message, native: &Sparse) {
    message.sint(histogram::SCHEMA, i64::from(native.schema()));
    message.double(histogram::ZERO_THRESHOLD, ZERO_THRESHOLD);
    message.uint(histogram::ZERO_COUNT, native.zeros());
    // The offset of the first span is from 0, that of each other from the end of the one before.
    let (mut end, mut begin, mut length) = (0, 0, 0);
    for (index, _) in native.buckets() {
        if length == 0 || index != begin + length {
            push_span(message, begin - end, length);
            end = if length == 0 { 0 } else { begin + length };
            (begin, length) = (index, 0);
        }
        length += 1;
    }
    push_span(message, begin - end, length);
    let mut before = 0;
    for (_, count) in native.buckets() {
        let count = count as i64;
        message.sint(histogram::POSITIVE_DELTA, count - before);
        before = count;
    }
}

fn push_span(message: &mut Message, offset: i32, length: i32) {
    if length > 0 {
        let mut span = Message::default();
        span.sint(histogram::OFFSET, i64::from(offset));
        span.uint(histogram::LENGTH, length as u64);
        message.bytes(histogram::POSITIVE_SPAN, &span.0);
    }
}

#[cfg(test)]
mod tests;
