//! Sizes of the hash tables that grow with the names.

use model::Fixed;
use ngx_value::HeaderPattern;
use serde::Serialize;

use crate::server::server_name;

/// Sizes and bucket sizes, in entries and bytes.
#[derive(Serialize)]
pub(super) struct Hashes {
    server_names_max: u64,
    server_names_bucket: u64,
    headers_bucket: u64,
    maps_bucket: u64,
}

impl Hashes {
    /// The tables grow with the names; a set size is a lower limit.
    pub(super) fn new<'a>(fixed: &Fixed, names: impl Iterator<Item = &'a str>) -> Self {
        let globals = &*fixed.globals;
        let config = &globals.config;
        let (total, longest) = names.fold((0, 0), |(total, longest): (u64, u64), name| {
            let length = server_name(name).len() as u64;
            (total + length, longest.max(length))
        });
        let asked = fixed.profiles.values().filter_map(|profile| profile.external_auth.as_ref()).flat_map(|auth| &auth.headers);
        let set = globals.headers.request.iter().chain(asked).map(|(name, _)| name);
        let headers = config.headers.hide_headers.iter().chain(set).map(|name| name.as_str().len() as u64);
        let patterns = config.block_user_agents.iter().chain(&config.block_referers).chain(&config.observability.skip_access_log_urls);
        let texts = patterns.filter_map(HeaderPattern::exact).map(|text| text.len() as u64);
        Self {
            server_names_max: u64::from(config.server_name_hash_max_size).max(total.next_power_of_two()),
            server_names_bucket: u64::from(config.server_name_hash_bucket_size).max(bucket(longest)),
            headers_bucket: u64::from(config.proxy_headers_hash_bucket_size).max(bucket(headers.max().unwrap_or(0))),
            maps_bucket: u64::from(config.map_hash_bucket_size).max(bucket(texts.max().unwrap_or(0))),
        }
    }
}

/// The smallest bucket for a name, at least a line of the processor's cache. An element is a pointer, a length of two bytes and the name, aligned; a
/// bucket ends with a pointer.
fn bucket(longest: u64) -> u64 {
    (16 + (longest + 2).next_multiple_of(8)).next_power_of_two().max(64)
}

#[cfg(test)]
mod tests {
    use super::bucket;

    #[test]
    fn a_bucket_holds_the_longest_name() {
        for (longest, expected) in [(0, 64), (46, 64), (47, 128), (110, 128), (111, 256), (256, 512)] {
            assert_eq!(bucket(longest), expected, "{longest}");
        }
    }
}
