//! Durations as people write them.

use std::time::Duration;

/// Reads `250ms`, `2s`, `1.5m`, `1h`; a number alone counts seconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let factor = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err(expected(text)),
    };
    let seconds: f64 = number.parse().map_err(|_| expected(text))?;
    Duration::try_from_secs_f64(seconds * factor).map_err(|_| expected(text))
}

fn expected(text: &str) -> String {
    format!("{text:?} is not a duration: expected a number and a unit, such as 250ms, 2s or 5m")
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
