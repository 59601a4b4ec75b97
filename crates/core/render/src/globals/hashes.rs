//! Sizes of the hash table that grows with the names.

use serde::Serialize;
use settings::Config;

use crate::server::server_name;

/// Sizes and bucket sizes, in entries and bytes.
#[derive(Serialize)]
pub(super) struct Hashes {
    server_names_max: u64,
    server_names_bucket: u64,
}

impl Hashes {
    /// The table of server names grows with the names; a set size is a lower limit.
    pub(super) fn new<'a>(config: &Config, names: impl Iterator<Item = &'a str>) -> Self {
        let (total, longest) = names.fold((0, 0), |(total, longest): (u64, u64), name| {
            let length = server_name(name).len() as u64;
            (total + length, longest.max(length))
        });
        // An element is a pointer, a length of two bytes and the name, aligned; a bucket ends with a pointer.
        let bucket = (16 + (longest + 2).next_multiple_of(8)).next_power_of_two().max(64);
        Self {
            server_names_max: u64::from(config.server_name_hash_max_size).max(total.next_power_of_two()),
            server_names_bucket: u64::from(config.server_name_hash_bucket_size).max(bucket),
        }
    }
}
