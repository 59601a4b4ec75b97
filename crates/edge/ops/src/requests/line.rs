//! One series as a worker tells it: `[[namespace, ingress, service, path, host, canary, method], status, host is a client's, requests,
//! [histogram, ...], [native buckets, ...], [exemplar, ...]]`, the last parts only where there are some.

use std::str::FromStr;

use serde::Deserialize;

use super::native;
use super::series::{HISTOGRAMS, NATIVE};
use crate::exposition::Exemplar;

/// The rule whose requests a series counts. Empty where no rule matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Labels {
    /// Namespace of the Ingress.
    pub namespace: Box<str>,
    /// Its name.
    pub ingress: Box<str>,
    /// Host of the rule, or what the client asked for.
    pub host: Box<str>,
    /// The host is what the client asked for, and no Ingress has it.
    pub of_client: bool,
}

/// A line, with the labels that tell nothing about whose it is apart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) labels: Labels,
    pub(super) service: String,
    pub(super) path: String,
    pub(super) canary: String,
    pub(super) method: String,
    pub(super) status: u16,
    pub(super) count: u64,
    pub(super) observed: [Observed; HISTOGRAMS.len()],
    /// Of the first histograms: zeros, then indices of exponential buckets each with its count. None, or one for each.
    pub(super) native: Vec<Vec<i64>>,
    /// Of the first histogram, each with the index of its bucket.
    pub(super) exemplars: Vec<(usize, Exemplar)>,
}

/// The increments of one histogram.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Observed {
    /// Milliseconds or bytes.
    pub(super) sum: u64,
    /// Index of a bucket, and how many are in it and in none before.
    pub(super) buckets: Vec<(usize, u64)>,
}

/// The text is no such line.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

#[derive(Deserialize)]
struct Wire(
    [String; 7],
    u16,
    bool,
    u64,
    [Vec<u64>; HISTOGRAMS.len()],
    #[serde(default)] Vec<Vec<i64>>,
    #[serde(default)] Vec<WireExemplar>,
);

/// Index of a bucket, milliseconds, trace, span, milliseconds since 1970.
#[derive(Deserialize)]
struct WireExemplar(usize, u64, String, String, u64);

impl FromStr for Line {
    type Err = Unreadable;

    fn from_str(text: &str) -> Result<Self, Unreadable> {
        let Wire(labels, status, of_client, count, histograms, native, exemplars) = serde_json::from_str(text).map_err(|_| Unreadable)?;
        let [namespace, ingress, service, path, host, canary, method] = labels;
        let labels = Labels { namespace: namespace.into(), ingress: ingress.into(), host: host.into(), of_client };
        let mut observed: [Observed; HISTOGRAMS.len()] = Default::default();
        for (observed, numbers) in observed.iter_mut().zip(&histograms) {
            *observed = Observed::read(numbers).ok_or(Unreadable)?;
        }
        if native.len() > NATIVE || !native.iter().all(|numbers| native::is_readable(numbers)) {
            return Err(Unreadable);
        }
        let exemplars = exemplars.iter().map(WireExemplar::read).collect::<Option<_>>().ok_or(Unreadable)?;
        Ok(Self { labels, service, path, canary, method, status, count, observed, native, exemplars })
    }
}

impl WireExemplar {
    /// Ids are digits and nothing else: they become text of the exposition.
    fn read(&self) -> Option<(usize, Exemplar)> {
        let Self(bucket, milliseconds, trace, span, time) = self;
        let are_digits = |id: &str, digits: usize| id.len() == digits && id.bytes().all(|byte| byte.is_ascii_hexdigit());
        if !are_digits(trace, 32) || !are_digits(span, 16) {
            return None;
        }
        let (trace, span) = (u128::from_str_radix(trace, 16).ok()?, u64::from_str_radix(span, 16).ok()?);
        Some((*bucket, Exemplar { trace, span, value: *milliseconds as f64 / 1000.0, time: *time as f64 / 1000.0 }))
    }
}

impl Observed {
    /// Nothing, or a sum and pairs.
    fn read(numbers: &[u64]) -> Option<Self> {
        let Some((sum, pairs)) = numbers.split_first() else { return Some(Self::default()) };
        let pair = |pair: &[u64]| match pair {
            [index, count] => Some((usize::try_from(*index).ok()?, *count)),
            _ => None,
        };
        Some(Self { sum: *sum, buckets: pairs.chunks(2).map(pair).collect::<Option<_>>()? })
    }
}
