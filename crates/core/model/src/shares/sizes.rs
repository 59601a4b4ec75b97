//! Sizes of the dictionaries that the ConfigMap leaves to the controller: the default, doubled until what objects ask for has room.
//!
//! Chosen when a controller starts and not while it runs: tenants could have NGINX reload otherwise. A running NGINX keeps what it has
//! while that is enough, so that a restarted controller changes nothing.

use std::collections::BTreeMap;

use ngx_value::{Identifier, Size};
use settings::{Config, LARGEST_DICTIONARY};

use super::memory::{NAMES, ROUTES, ROUTES_AND_ENDPOINTS, SECRETS};
use super::{Resource, Weight};
use crate::dictionaries::Dictionaries;

/// What is there when NGINX starts, times this, has room.
const ROOM_TO_GROW: u64 = 2;

/// Dictionaries by name.
pub(crate) type Sizes = BTreeMap<Identifier, Size>;

/// Sizes for what is asked, of dictionaries for which those in use are too small. `running`: those of an NGINX that runs already.
pub(crate) fn sizes(config: &Config, asked: &Weight, running: Option<&Dictionaries>) -> Sizes {
    let share = |amount: u64, hundredths: u64| amount * 100 / hundredths;
    let of = |resource| asked.of(resource);
    let routes = share(of(Resource::State), ROUTES);
    let with_endpoints = share(of(Resource::State) + of(Resource::Endpoints), ROUTES_AND_ENDPOINTS);
    let demands = [
        ("configuration_data", routes.max(with_endpoints)),
        ("certificate_servers", share(of(Resource::Names), NAMES)),
        ("certificate_data", share(of(Resource::Secrets), SECRETS)),
    ];
    let size = |(name, demand): (&str, u64)| {
        let (name, used) = config.lua_shared_dicts.get_key_value(name)?;
        let held = running.and_then(|running| running.0.get(name)).map(|(size, _)| *size);
        let needed = if held.is_some() { demand } else { demand * ROOM_TO_GROW };
        let least = held.map_or(used.bytes, |held| held.bytes.max(used.bytes));
        let bytes = doubled(least, needed);
        (bytes != used.bytes).then(|| (name.clone(), Size { bytes }))
    };
    demands.into_iter().filter_map(size).collect()
}

fn doubled(least: u64, needed: u64) -> u64 {
    let mut bytes = least;
    while bytes < needed.min(LARGEST_DICTIONARY.bytes) {
        bytes *= 2;
    }
    bytes.min(LARGEST_DICTIONARY.bytes).max(least)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    #[track_caller]
    fn check(secrets: u64, held: Option<u32>, expected: Option<u32>) {
        let asked = Weight::only(Resource::Secrets, secrets * MIB);
        let name = || "certificate_data".parse::<Identifier>().unwrap();
        let running = held.map(|held| Dictionaries([(name(), (Size::mib(held), Default::default()))].into()));
        let expected: Sizes = expected.map(|size| (name(), Size::mib(size))).into_iter().collect();
        assert_eq!(sizes(&Config::default(), &asked, running.as_ref()), expected, "{secrets} MiB, running with {held:?}");
    }

    #[test]
    fn a_dictionary_has_room_for_twice_what_is_there_at_a_first_start() {
        check(0, None, None);
        check(8, None, None);
        check(9, None, Some(40));
        check(24, None, Some(80));
        check(10_000, None, Some(200));
    }

    #[test]
    fn a_running_nginx_keeps_what_is_enough() {
        check(9, Some(20), None);
        check(9, Some(40), Some(40));
        check(40, Some(40), Some(80));
        // Larger than what it may be today: it shrinks with the next start of NGINX.
        check(1, Some(200), Some(200));
    }
}
