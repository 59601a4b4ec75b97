//! One combination of labels: a counter and its histograms.

use super::line::{Labels, Line, Observed};
use super::native::{NativeOptions, Sparse};
use crate::exposition::{Exemplar, Family};

/// The quantity that a histogram measures, and so its bounds and unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Milliseconds here, seconds outside.
    Time,
    /// Bytes.
    Length,
    /// Bytes.
    Size,
}

impl Kind {
    /// The sum in the unit that is shown.
    pub(super) fn shown(self, sum: u64) -> f64 {
        match self {
            Self::Time => sum as f64 / 1000.0,
            Self::Length | Self::Size => sum as f64,
        }
    }
}

/// A family of histograms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Histogram {
    pub(super) family: Family,
    pub(super) kind: Kind,
}

const fn histogram(name: &'static str, kind: Kind, help: &'static str) -> Histogram {
    Histogram { family: Family::histogram(name, help), kind }
}

/// All, in the order of the lines.
pub(super) const HISTOGRAMS: [Histogram; 7] = [
    histogram("request_duration_seconds", Kind::Time, "Time from the first byte of a request to the last of its answer."),
    histogram("response_duration_seconds", Kind::Time, "Time until the endpoint had answered, of the last try."),
    histogram("header_duration_seconds", Kind::Time, "Time until the first header of the endpoint, of the last try."),
    histogram("connect_duration_seconds", Kind::Time, "Time until the endpoint was connected, of the last try."),
    histogram("request_size", Kind::Length, "Bytes of requests with their headers."),
    histogram("response_size", Kind::Length, "Bytes of answers with their headers."),
    histogram("bytes_sent", Kind::Size, "Bytes of answers with their headers; deprecated."),
];
/// How many of them, from the first, have native buckets as well.
pub(super) const NATIVE: usize = 6;

/// The sums of one series.
#[derive(Debug, Clone)]
pub(super) struct Series {
    pub(super) labels: Labels,
    pub(super) requests: u64,
    pub(super) histograms: [Buckets; HISTOGRAMS.len()],
    /// Of the first ones, where they are kept.
    pub(super) native: Option<Box<[Sparse; NATIVE]>>,
    /// The last one of each bucket of the first histogram; empty until the first.
    pub(super) exemplars: Box<[Option<Exemplar>]>,
}

/// A histogram's numbers.
#[derive(Debug, Clone, Default)]
pub(super) struct Buckets {
    pub(super) sum: u64,
    /// One more than there are bounds; each counts what is in it and in none before.
    pub(super) counts: Box<[u64]>,
}

impl Series {
    /// A series of nothing. `bounds`: how many each histogram has.
    pub(super) fn new(labels: Labels, bounds: [usize; HISTOGRAMS.len()], native: Option<NativeOptions>) -> Self {
        let histograms = bounds.map(|bounds| Buckets { sum: 0, counts: vec![0; bounds + 1].into() });
        let native = native.map(|options| Box::new(std::array::from_fn(|_| Sparse::new(options.schema, options.most_buckets))));
        Self { labels, requests: 0, histograms, native, exemplars: Box::default() }
    }

    /// Adds a line, its histograms only if their bounds are ours.
    pub(super) fn add(&mut self, line: &Line, comparable: bool) {
        self.requests += line.count;
        if comparable {
            for (buckets, observed) in self.histograms.iter_mut().zip(&line.observed) {
                buckets.add(observed);
            }
            for (sparse, numbers) in self.native.iter_mut().flat_map(|native| native.iter_mut()).zip(&line.native) {
                sparse.add(numbers);
            }
            for (bucket, exemplar) in &line.exemplars {
                self.keep(*bucket, exemplar);
            }
        }
    }

    fn keep(&mut self, bucket: usize, exemplar: &Exemplar) {
        if self.exemplars.is_empty() {
            self.exemplars = vec![None; self.histograms[0].counts.len()].into();
        }
        if let Some(kept) = self.exemplars.get_mut(bucket)
            && kept.as_ref().is_none_or(|kept| kept.time <= exemplar.time)
        {
            *kept = Some(exemplar.clone());
        }
    }
}

impl Buckets {
    fn add(&mut self, observed: &Observed) {
        self.sum += observed.sum;
        for (index, count) in &observed.buckets {
            // With the same bounds there is no other index.
            if let Some(bucket) = self.counts.get_mut(*index) {
                *bucket += count;
            }
        }
    }

    /// Observations.
    pub(super) fn total(&self) -> u64 {
        self.counts.iter().sum()
    }
}
