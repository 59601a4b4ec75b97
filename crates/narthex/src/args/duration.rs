//! Durations on the command line.

use std::time::Duration;

use ngx_value::parse_duration;

/// Reads `250ms`, `2s`, `1.5m`, `1h30m`; a number alone counts seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let bare = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let read = if bare { parse_duration(&format!("{text}s")) } else { parse_duration(text) };
    read.map_err(|_| format!("{text:?} is not a duration: expected a number and a unit, such as 250ms, 2s or 5m"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_units() {
        for (text, millis) in [("250ms", 250), ("2s", 2000), ("5", 5000), ("0.5", 500), ("1.5m", 90_000), ("1h", 3_600_000), ("0", 0)] {
            assert_eq!(duration(text).unwrap(), Duration::from_millis(millis), "{text}");
        }
        for text in ["", "s", "1d", "-1s", "1e400", "1 s", ".", "1.2.3s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
