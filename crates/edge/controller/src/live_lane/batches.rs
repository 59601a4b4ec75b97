//! A delta as posts of bounded number and size.

use model::{Delta, Op};

/// Records in one post: a post of 100 holds a worker for 2 ms.
pub(super) const BATCH: usize = 150;
/// Bytes in one post, so that certificates don't make it large.
const BATCH_BYTES: usize = 256 * 1024;

pub(super) fn lines(ops: &[Op]) -> String {
    ops.iter().map(|op| op.line() + "\n").collect()
}

/// Cuts a delta; an op is never cut.
pub(super) fn batches(delta: &Delta) -> impl Iterator<Item = &[Op]> {
    let mut rest: &[Op] = delta;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let fits = rest.iter().take(BATCH).take_while(|op| {
            bytes += op.value.as_ref().map_or(0, String::len);
            bytes <= BATCH_BYTES
        });
        let (batch, later) = rest.split_at(fits.count().max(1));
        rest = later;
        Some(batch)
    })
}
