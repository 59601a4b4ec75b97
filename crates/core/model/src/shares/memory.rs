//! What there is of each resource, and what records take of NGINX's dictionaries.

use settings::Config;

use super::{Resource, Weight};

/// Share of the dictionary of routes that they may have, in hundredths; endpoints have what they leave of the second one. The rest is for what is
/// replaced while the new version is there already, and for gaps.
pub(super) const ROUTES: u64 = 80;
pub(super) const ROUTES_AND_ENDPOINTS: u64 = 95;
/// The same of the dictionary of certificates and users, and of that of names, whose records are of few sizes.
pub(super) const SECRETS: u64 = 80;
pub(super) const NAMES: u64 = 95;
/// Room for the text of profiles and server blocks.
const TEXT: u64 = 96 << 20;
/// Half of what a worker keeps compiled: the other half is for those of former records.
const REGEXES: u64 = 32_768;

/// What a dictionary needs for a record beside its key and value.
const NODE: u64 = 68;
/// Its pages. Smaller records share one, in sizes that are powers of two.
const PAGE: u64 = 4096;

/// What there is of each resource; of endpoints the least that there can be.
pub(crate) fn capacity(config: &Config) -> Weight {
    let of = |name, hundredths| dictionary(config, name) / 100 * hundredths;
    let mut capacity = Weight::default();
    for resource in Resource::ALL {
        capacity.0[*resource as usize] = match resource {
            Resource::State => of("configuration_data", ROUTES),
            Resource::Text => TEXT,
            Resource::Regexes => REGEXES,
            Resource::Names => of("certificate_servers", NAMES),
            Resource::Secrets => of("certificate_data", SECRETS),
            Resource::Endpoints => of("configuration_data", ROUTES_AND_ENDPOINTS - ROUTES),
        };
    }
    capacity
}

/// The same with what routes leave to endpoints.
pub(crate) fn left_for_endpoints(config: &Config, capacity: &Weight, asked: &Weight) -> Weight {
    let routes = asked.of(Resource::State).min(capacity.of(Resource::State));
    let all = dictionary(config, "configuration_data") / 100 * ROUTES_AND_ENDPOINTS;
    let mut left = *capacity;
    left.0[Resource::Endpoints as usize] = all.saturating_sub(routes);
    left
}

fn dictionary(config: &Config, name: &str) -> u64 {
    config.lua_shared_dicts.get(name).map_or(0, |size| size.bytes)
}

/// What a dictionary takes for a record with a key (without its table) and a value of so many bytes.
pub(crate) const fn record_bytes(key: usize, value: u64) -> u64 {
    let bytes = NODE + 2 + key as u64 + value;
    if bytes <= PAGE / 2 { bytes.next_power_of_two() } else { bytes.next_multiple_of(PAGE) }
}

/// The most that records can take of so many bytes: sizes between are not taken.
pub(crate) const fn whole_records(bytes: u64) -> u64 {
    if bytes >= PAGE {
        bytes - bytes % PAGE
    } else {
        let largest = if bytes < PAGE / 2 { bytes } else { PAGE / 2 };
        match largest.checked_ilog2() {
            Some(power) => 1 << power,
            None => 0,
        }
    }
}
