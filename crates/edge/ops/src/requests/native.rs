//! Native histograms: exponential buckets, of which only those with observations are kept.
//!
//! Bucket `i` of schema `s` has what is above `2^((i-1) * 2^-s)` and at most `2^(i * 2^-s)`. A schema with one less has buckets twice as wide:
//! each is two of the finer ones.

use std::collections::BTreeMap;

/// What is at most this counts as 0.
pub(crate) const ZERO_THRESHOLD: f64 = 1.0 / (1u128 << 127) as f64 / 2.0;
/// The widest buckets that there are.
const LEAST_SCHEMA: i32 = -4;

/// How exponential buckets are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NativeOptions {
    /// Resolution in which workers count.
    pub schema: i32,
    /// `--max-buckets`: with more the resolution is halved; 0: no limit.
    pub most_buckets: usize,
}

/// The exponential buckets of a series.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sparse {
    /// Resolution of what is added.
    given: i32,
    /// Resolution of what is kept.
    schema: i32,
    most: usize,
    zeros: u64,
    buckets: BTreeMap<i32, u64>,
}

impl Sparse {
    /// Nothing yet.
    pub(crate) fn new(schema: i32, most: usize) -> Self {
        Self { given: schema, schema, most, zeros: 0, buckets: BTreeMap::new() }
    }

    /// Adds what a worker counted: zeros, then indices of buckets each with its count. Indices and counts are those of [`is_readable`].
    pub(crate) fn add(&mut self, numbers: &[i64]) {
        let Some((zeros, pairs)) = numbers.split_first() else { return };
        self.zeros += zeros.unsigned_abs();
        for pair in pairs.chunks_exact(2) {
            let Ok(index) = i32::try_from(pair[0]) else { continue };
            *self.buckets.entry(wider(index, self.given - self.schema)).or_default() += pair[1].unsigned_abs();
        }
        while self.most > 0 && self.buckets.len() > self.most && self.schema > LEAST_SCHEMA {
            self.halve();
        }
    }

    fn halve(&mut self) {
        self.schema -= 1;
        for (index, count) in std::mem::take(&mut self.buckets) {
            *self.buckets.entry(wider(index, 1)).or_default() += count;
        }
    }

    pub(crate) fn schema(&self) -> i32 {
        self.schema
    }

    pub(crate) fn zeros(&self) -> u64 {
        self.zeros
    }

    /// Indices with their counts, in order.
    pub(crate) fn buckets(&self) -> impl Iterator<Item = (i32, u64)> {
        self.buckets.iter().map(|(index, count)| (*index, *count))
    }
}

/// The bucket that a bucket is part of where buckets are `2^times` times as wide in the exponent: rounded up, as the upper bound belongs to it.
const fn wider(index: i32, times: i32) -> i32 {
    let both = index as i64 + (1 << times) - 1;
    (both >> times) as i32
}

/// Whether numbers are what [`Sparse::add`] takes.
pub(crate) fn is_readable(numbers: &[i64]) -> bool {
    let Some((zeros, pairs)) = numbers.split_first() else { return true };
    let is_pair = |pair: &[i64]| matches!(pair, [index, count] if i32::try_from(*index).is_ok() && *count >= 0);
    *zeros >= 0 && pairs.chunks(2).all(is_pair)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn buckets(sparse: &Sparse) -> Vec<(i32, u64)> {
        sparse.buckets().collect()
    }

    #[test]
    fn wider_buckets_hold_both_of_the_finer_ones() {
        // With schema 0 the bounds are 1/4, 1/2, 1, 2, 4, ...; with schema -1 they are 1/4, 1, 4, ...
        for (fine, wide) in [(-2, -1), (-1, 0), (0, 0), (1, 1), (2, 1), (3, 2), (4, 2)] {
            assert_eq!(wider(fine, 1), wide, "{fine}");
        }
        assert_eq!((wider(-7, 3), wider(-8, 3), wider(9, 3), wider(8, 3)), (0, -1, 2, 1));
    }

    #[test]
    fn too_many_buckets_halve_the_resolution_and_lose_no_count() {
        let mut sparse = Sparse::new(3, 4);
        sparse.add(&[1, 1, 10, 2, 20, 3, 30, 4, 40]);
        assert_eq!((sparse.schema(), buckets(&sparse)), (3, vec![(1, 10), (2, 20), (3, 30), (4, 40)]));
        sparse.add(&[1, 100, 1]);
        assert_eq!((sparse.schema(), sparse.zeros(), buckets(&sparse)), (2, 2, vec![(1, 30), (2, 70), (50, 1)]));
        // What comes later is still counted in the first resolution.
        sparse.add(&[0, 4, 5]);
        assert_eq!(buckets(&sparse), [(1, 30), (2, 75), (50, 1)]);
    }

    #[test]
    fn the_widest_buckets_and_no_limit_stay_as_they_are() {
        let mut widest = Sparse::new(LEAST_SCHEMA, 1);
        widest.add(&[0, 1, 1, 2, 1]);
        assert_eq!((widest.schema(), buckets(&widest).len()), (LEAST_SCHEMA, 2));
        let mut unlimited = Sparse::new(8, 0);
        unlimited.add(&(0..=400).flat_map(|n| [n, 1]).skip(1).collect::<Vec<_>>());
        assert_eq!((unlimited.schema(), buckets(&unlimited).len()), (8, 400));
    }

    #[test]
    fn only_pairs_can_be_read() {
        for readable in [&[][..], &[3], &[0, -5, 1]] {
            assert!(is_readable(readable), "{readable:?}");
        }
        for unreadable in [&[-1][..], &[0, 1], &[0, 1, -1], &[0, i64::MAX, 1]] {
            assert!(!is_readable(unreadable), "{unreadable:?}");
        }
    }

    #[test]
    fn the_threshold_is_that_of_prometheus() {
        assert_eq!(ZERO_THRESHOLD, 2f64.powi(-128));
    }
}
