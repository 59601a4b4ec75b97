//! Lengths of time, in the grammars of those that write them: whole seconds (annotations), NGINX's times, and Go's durations (Kubernetes).
//!
//! They differ on purpose: in NGINX's `M` is a month and a bare number is seconds, in Go's numbers may have fractions and none is without a unit.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use crate::Invalid;
use crate::number::parse_integer;

/// Whole seconds without a unit, as the timeout annotations write them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seconds(pub u32);

const SECONDS: Invalid = Invalid::new("a whole number of seconds from 0 to 4294967295, without a unit");

impl FromStr for Seconds {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        parse_integer(text).ok().and_then(|value| u32::try_from(value).ok()).map(Self).ok_or(SECONDS)
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// A time with units as NGINX writes it: `10m`, `1h30m`, `500ms`; a bare number is seconds.
///
/// Units are `y`, `M` (30 days), `w`, `d`, `h`, `m`, `s`, `ms`, each at most once and in this order, spaces allowed before a unit's number.
/// Written with the largest of `h`, `m`, `s`, `ms` that keeps it whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Time {
    /// Milliseconds, at most 2^31 − 1 seconds' worth.
    pub millis: u64,
}

const TIME: Invalid = Invalid::new("a time such as 30s, 10m or 1h30m (units ms, s, m, h, d, w, M, y)");
const MAX_MILLIS: u64 = i32::MAX as u64 * 1000;
/// Milliseconds of each unit, largest first.
const UNITS: [(&str, u64); 8] = [
    ("y", 365 * 86_400_000),
    ("M", 30 * 86_400_000),
    ("w", 7 * 86_400_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];

impl Time {
    /// A number of seconds.
    pub const fn from_secs(seconds: u32) -> Self {
        Self { millis: seconds as u64 * 1000 }
    }
}

impl FromStr for Time {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let mut rest = text;
        let mut millis: u64 = 0;
        let mut units = UNITS.as_slice();
        loop {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let count: u64 = rest[..digits].parse().map_err(|_| TIME)?;
            rest = &rest[digits..];
            let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            let name = if letters == 0 { "s" } else { &rest[..letters] };
            let at = units.iter().position(|(unit, _)| *unit == name).ok_or(TIME)?;
            // A bare number is seconds and ends the text: NGINX takes nothing after it.
            if letters == 0 && !rest.is_empty() {
                return Err(TIME);
            }
            millis = count.checked_mul(units[at].1).and_then(|part| millis.checked_add(part)).ok_or(TIME)?;
            units = &units[at + 1..];
            rest = rest[letters..].trim_start_matches(' ');
            if rest.is_empty() {
                break;
            }
        }
        if millis > MAX_MILLIS { Err(TIME) } else { Ok(Self { millis }) }
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, millis) = match self.millis {
            0 => ("s", 1000),
            whole => UNITS[4..].iter().copied().find(|(_, unit)| whole % unit == 0).unwrap_or(("ms", 1)),
        };
        write!(f, "{}{unit}", self.millis / millis)
    }
}

const DURATION: Invalid = Invalid::new("a duration such as 250ms, 30s or 1h30m (units ns, us, ms, s, m, h)");

/// Reads a duration as Go writes it: `300ms`, `2.5s`, `1h30m`; the units in any order. Not below 0.
///
/// # Errors
/// The text is no such duration, or longer than a [`Duration`] can be.
pub fn parse_duration(text: &str) -> Result<Duration, Invalid> {
    let is_number = |c: char| c.is_ascii_digit() || c == '.';
    let (mut rest, mut seconds) = (text.strip_prefix('+').unwrap_or(text), 0.0);
    loop {
        let (number, after) = rest.split_at(rest.find(|c| !is_number(c)).ok_or(DURATION)?);
        let (unit, after) = after.split_at(after.find(is_number).unwrap_or(after.len()));
        let factor = match unit {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return Err(DURATION),
        };
        seconds += number.parse::<f64>().map_err(|_| DURATION)? * factor;
        if after.is_empty() {
            return Duration::try_from_secs_f64(seconds).map_err(|_| DURATION);
        }
        rest = after;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn seconds_are_whole_and_not_negative() {
        for (text, value) in [("0", 0), ("60", 60), ("+5", 5), ("4294967295", u32::MAX)] {
            assert_eq!(text.parse(), Ok(Seconds(value)), "{text}");
        }
        for text in ["", "-1", "1s", "1.5", " 1", "4294967296"] {
            assert!(text.parse::<Seconds>().is_err(), "{text}");
        }
    }

    #[test]
    fn a_time_has_units_from_large_to_small() {
        for (text, millis, printed) in [
            ("240s", 240_000, "4m"),
            ("75s", 75_000, "75s"),
            ("10m", 600_000, "10m"),
            ("1h", 3_600_000, "1h"),
            ("1h30m", 5_400_000, "90m"),
            ("1h 30m", 5_400_000, "90m"),
            ("1d", 86_400_000, "24h"),
            ("500ms", 500, "500ms"),
            ("1s500ms", 1500, "1500ms"),
            ("2M", 60 * 86_400_000, "1440h"),
            ("90", 90_000, "90s"),
            ("1m30", 90_000, "90s"),
            ("0", 0, "0s"),
        ] {
            let time: Time = text.parse().unwrap();
            assert_eq!((time.millis, time.to_string().as_str()), (millis, printed), "{text}");
        }
        for text in ["", "s", "1x", "-1s", "1m1h", "1s1s", "1 s", "90 30", "1ms1s", "69y", "99999999999999999999s", "1.5h"] {
            assert!(text.parse::<Time>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_go_reads_is_a_duration() {
        for (text, millis) in [("300ms", 300), ("1h30m", 5_400_000), ("2.5s", 2500), ("1m0.5s", 60_500), ("+1s", 1000), ("0s", 0)] {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "+", "5", "m", "-5m", "5 m", "5d", "1..2s", "1.2.3s", ".s", "1s2", "1e400", &format!("{}h", "9".repeat(20))] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_time_parses_back(millis in 0..=MAX_MILLIS) {
            prop_assert_eq!(Time { millis }.to_string().parse(), Ok(Time { millis }));
        }

        #[test]
        fn printed_seconds_parse_back(seconds: u32) {
            prop_assert_eq!(Seconds(seconds).to_string().parse(), Ok(Seconds(seconds)));
        }

        #[test]
        fn any_text_is_a_time_or_an_error(text in "[0-9a-zA-Z ]{0,12}") {
            if let Ok(time) = text.parse::<Time>() {
                prop_assert_eq!(time.to_string().parse(), Ok(time));
            }
        }
    }
}
