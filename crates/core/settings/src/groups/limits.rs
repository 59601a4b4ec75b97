//! Limits of requests, connections and bandwidth, and the buffer for bodies.

use std::num::NonZeroU32;

use ngx_value::{CidrSet, Invalid, Size, Template, parse_integer};

use super::common::{self, LOCATION, set};
use crate::config::Config;
use crate::config::grammar::{self, BUFFER, ERROR_CODE, own};
use crate::config::table::{default, settings};
use crate::effective::Effective;
use crate::parse::FindingKind;
use crate::table::*;

pub(super) static GROUP: Group = Group {
    title: "Limits",
    doc: "Requests and connections are counted per client address and Ingress, over all its hosts and paths, and by each replica alone. All limits that are set apply together; what exceeds one gets `limit-req-status-code` or `limit-conn-status-code`, 503 by default.",
    entries: ENTRIES,
    keys: KEYS,
    finish,
    settle,
    clear: |spec| spec.limits = Limits::default(),
};

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// `limit-connections`: concurrent requests of a client, at most 65535.
    pub limit_connections: Option<NonZeroU32>,
    /// `limit-rps`: requests of a client in a second.
    pub limit_rps: Option<NonZeroU32>,
    /// `limit-rpm`: requests of a client in a minute.
    pub limit_rpm: Option<NonZeroU32>,
    /// `limit-burst-multiplier`: times the rate is the burst. `None`: 5.
    pub limit_burst_multiplier: Option<NonZeroU32>,
    /// `limit-allowlist`: clients whose requests and connections are not counted. Never empty.
    pub limit_allowlist: Option<CidrSet>,
    /// `limit-rate`: KiB of an answer in a second, `Some(0)` = unlimited.
    pub limit_rate: Option<u32>,
    /// `limit-rate-after`: KiB of an answer before that begins.
    pub limit_rate_after: Option<u32>,
    /// `client-body-buffer-size`: 1 byte to 1 GiB.
    pub client_body_buffer_size: Option<Size>,
}

settings! {
    /// The same for all Ingresses.
    LimitsDefaults in limits;

    /// Buffer for a request body; a longer one goes to a file.
    client_body_buffer_size: Size = Size::kib(8), BUFFER, "64k", [Text, Routes] => "client_body_buffer_size";
    /// KiB of an answer that are sent in a second; 0 = unlimited.
    limit_rate: u32 = 0, grammar::COUNT, "512", [Text, Routes];
    /// KiB of an answer that are sent before `limit-rate` begins.
    limit_rate_after: u32 = 0, grammar::COUNT, "1024", [Text, Routes];
    /// Status of a request that exceeds `limit-rps` or `limit-rpm`.
    limit_req_status_code: u16 = 503, ERROR_CODE, "429", [Text] => "limit_req_status";
    /// Status of a request that exceeds `limit-connections`.
    limit_conn_status_code: u16 = 503, ERROR_CODE, "429", [Text] => "limit_conn_status";
    /// What requests and connections are counted by.
    limit_conn_zone_variable: Template = default("$binary_remote_addr"), own("text with NGINX variables"), "$http_x_api_key", [Text];
}

const COUNT: &str = "a whole number; 0 and less is no limit";

static ENTRIES: &[Entry] = &[
    Entry {
        name: "client-body-buffer-size",
        config_key: Some("client-body-buffer-size"),
        applies: Applies::Profile,
        value: "a size such as 16k or 1m",
        doc: "Size of the buffer for request bodies; longer ones go to a file.",
        example: "16k",
        on_invalid: OnInvalid::Refuse,
        parse: body_buffer,
        ..LOCATION
    },
    Entry {
        name: "limit-allowlist",
        aliases: &["limit-whitelist"],
        value: "IP addresses and ranges such as `10.0.0.0/8`, between commas",
        doc: "Clients whose requests and connections are not counted. `limit-rate` applies to them as well.",
        example: "10.0.0.0/8",
        companions: &[("limit-rps", "10")],
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.limits.limit_allowlist, text.parse().map(Some)),
        ..LOCATION
    },
    Entry {
        name: "limit-burst-multiplier",
        value: "a whole number from 1",
        doc: "How many times the rate may be exceeded at once by `limit-rps` and `limit-rpm`; without it 5.",
        example: "3",
        companions: &[("limit-rps", "10")],
        parse: |text, draft| {
            let number = parse_integer(text).ok().and_then(|number| u32::try_from(number).ok()).and_then(NonZeroU32::new);
            set(&mut draft.spec.limits.limit_burst_multiplier, number.map(Some).ok_or(Invalid::new("a whole number from 1")))
        },
        ..LOCATION
    },
    Entry {
        name: "limit-connections",
        value: COUNT,
        doc: "Concurrent requests of a client.",
        example: "8",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| {
            draft.spec.limits.limit_connections = limit(text, 65_535, draft)?;
            Ok(())
        },
        ..LOCATION
    },
    Entry {
        name: "limit-rate",
        config_key: Some("limit-rate"),
        value: "KiB in a second, a whole number; 0 is no limit",
        doc: "How quickly an answer is sent. Works with `proxy-buffering` only.",
        example: "100",
        companions: &[("proxy-buffering", "on")],
        parse: |text, draft| set(&mut draft.spec.limits.limit_rate, kib(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "limit-rate-after",
        config_key: Some("limit-rate-after"),
        value: "KiB, a whole number",
        doc: "How much of an answer is sent before `limit-rate` begins.",
        example: "1024",
        parse: |text, draft| set(&mut draft.spec.limits.limit_rate_after, kib(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "limit-rpm",
        value: COUNT,
        doc: "Requests of a client in a minute. More are let through at once as far as `limit-burst-multiplier` says.",
        example: "300",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| {
            draft.spec.limits.limit_rpm = limit(text, u32::MAX, draft)?;
            Ok(())
        },
        ..LOCATION
    },
    Entry {
        name: "limit-rps",
        value: COUNT,
        doc: "Requests of a client in a second. More are let through at once as far as `limit-burst-multiplier` says.",
        example: "10",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| {
            draft.spec.limits.limit_rps = limit(text, u32::MAX, draft)?;
            Ok(())
        },
        ..LOCATION
    },
];

/// A limit of at most `max`; larger ones are lowered to it.
fn limit(text: &str, max: u32, draft: &mut Draft) -> Result<Option<NonZeroU32>, Invalid> {
    let number = parse_integer(text)?.max(0);
    if number > i64::from(max) {
        draft.note(FindingKind::Surprise, format!("more than {max} can't be counted; {max} is used"));
    }
    Ok(NonZeroU32::new(u32::try_from(number).unwrap_or(max).min(max)))
}

/// KiB; what is below 0 is 0.
fn kib(text: &str) -> Result<u32, Invalid> {
    u32::try_from(parse_integer(text)?.max(0)).map_err(|_| Invalid::new("a whole number up to 4294967295"))
}

/// The units `b` and `g` exist in the grammar but were never applied.
fn body_buffer(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let size = common::buffer_size(text)?;
    if text.trim_end().ends_with(['b', 'B', 'g', 'G']) {
        draft.note(FindingKind::Unsupported, "expected a size without a unit, or with k or m; the global setting is used");
    } else {
        draft.spec.limits.client_body_buffer_size = size;
    }
    Ok(())
}

fn finish(draft: &mut Draft) {
    let limits = &draft.spec.limits;
    let (rates, connections) = (limits.limit_rps.is_some() || limits.limit_rpm.is_some(), limits.limit_connections.is_some());
    let failed = ["limit-rps", "limit-rpm", "limit-connections"].iter().any(|name| draft.has_failed(name));
    let (multiplied, allowed) = (limits.limit_burst_multiplier.is_some(), limits.limit_allowlist.is_some());
    if multiplied && !rates && !failed {
        draft.note_on("limit-burst-multiplier", FindingKind::Surprise, "it has no effect without limit-rps or limit-rpm");
    }
    if allowed && !rates && !connections && !failed {
        let detail = "it has no effect without limit-rps, limit-rpm or limit-connections";
        draft.note_on("limit-allowlist", FindingKind::Surprise, detail);
    }
}

fn settle(draft: &mut Draft, config: &Config) {
    let slowed = draft.spec.limits.limit_rate.unwrap_or(0) > 0;
    if slowed && !Effective::new(&draft.spec.proxy.proxy_buffering, &config.proxy.proxy_buffering).value() {
        draft.note_on("limit-rate", FindingKind::Surprise, "it has no effect without proxy-buffering");
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good};
    use super::*;
    use crate::parse::FindingKind::{Invalid, Surprise, Unsupported};
    use crate::parse::ParseVerdict::{Accepted, Refused};

    #[test]
    fn a_limit_of_nothing_is_no_limit() {
        for (value, expected) in [("8", Some(8)), ("0", None), ("-5", None), ("+7", Some(7))] {
            for name in ["limit-connections", "limit-rps", "limit-rpm"] {
                let limits = good(&[(name, value)]).limits;
                let found = limits.limit_connections.or(limits.limit_rps).or(limits.limit_rpm).map(NonZeroU32::get);
                assert_eq!(found, expected, "{name}: {value}");
            }
        }
        for name in ["limit-connections", "limit-rps", "limit-rpm"] {
            bad(&[(name, "10r/s")], Refused, &[(name, Invalid, "expected a whole number; the Ingress is refused")]);
        }
        let limits = bad(&[("limit-connections", "70000")], Accepted, &[("limit-connections", Surprise, "more than 65535")]).limits;
        assert_eq!(limits.limit_connections.map(NonZeroU32::get), Some(65_535));
    }

    #[test]
    fn a_burst_is_a_multiple_of_the_rate() {
        assert_eq!(good(&[("limit-rps", "10"), ("limit-burst-multiplier", "3")]).limits.limit_burst_multiplier, NonZeroU32::new(3));
        for value in ["0", "-1", "x"] {
            let pairs = [("limit-rps", "10"), ("limit-burst-multiplier", value)];
            let expected = [("limit-burst-multiplier", Invalid, "expected a whole number from 1; it is ignored")];
            assert_eq!(bad(&pairs, Accepted, &expected).limits.limit_burst_multiplier, None);
        }
        bad(&[("limit-burst-multiplier", "3")], Accepted, &[("limit-burst-multiplier", Surprise, "it has no effect without")]);
    }

    #[test]
    fn an_allow_list_is_addresses_and_has_an_older_name() {
        for name in ["limit-allowlist", "limit-whitelist"] {
            let limits = good(&[("limit-rpm", "1"), (name, "10.1.0.0/8,::1")]).limits;
            assert_eq!(limits.limit_allowlist.unwrap().to_string(), "10.0.0.0/8,::1");
            bad(&[("limit-rpm", "1"), (name, "10.0.0.0/8,")], Refused, &[(name, Invalid, "expected ")]);
        }
        bad(&[("limit-allowlist", "::1")], Accepted, &[("limit-allowlist", Surprise, "it has no effect without")]);
    }

    #[test]
    fn bandwidth_is_kib_and_needs_buffering() {
        let limits = good(&[("limit-rate", "90"), ("limit-rate-after", "-1"), ("proxy-buffering", "on")]).limits;
        assert_eq!((limits.limit_rate, limits.limit_rate_after), (Some(90), Some(0)));
        bad(&[("limit-rate", "1k")], Accepted, &[("limit-rate", Invalid, "expected a whole number")]);
        bad(&[("limit-rate", "1")], Accepted, &[("limit-rate", Surprise, "it has no effect without proxy-buffering")]);
        good(&[("limit-rate", "0")]);
    }

    #[test]
    fn a_body_buffer_is_in_bytes_kib_or_mib() {
        for (value, bytes) in [("1000", 1000), ("1k", 1024), (" 1 M", 1 << 20)] {
            assert_eq!(good(&[("client-body-buffer-size", value)]).limits.client_body_buffer_size, Some(Size::new(bytes)));
        }
        for value in ["1b", "1G"] {
            let limits =
                bad(&[("client-body-buffer-size", value)], Accepted, &[("client-body-buffer-size", Unsupported, "expected a size")]);
            assert_eq!(limits.limits.client_body_buffer_size, None);
        }
        for value in ["0", "15r", "1k;", "2048m"] {
            bad(&[("client-body-buffer-size", value)], Refused, &[("client-body-buffer-size", Invalid, "expected a size")]);
        }
    }
}
