//! Durations as Go writes them: `300ms`, `1h30m`, `2.5s`.

use jiff::SignedDuration;

/// Reads one; `None` for what Go would not read, and for what is not positive.
pub(crate) fn parse(text: &str) -> Option<SignedDuration> {
    let mut rest = text.trim().trim_start_matches('+');
    let mut seconds = 0.0_f64;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..end].parse().ok()?;
        let unit_end = rest[end..].find(|c: char| c.is_ascii_digit() || c == '.').map_or(rest.len(), |at| end + at);
        let unit = match &rest[end..unit_end] {
            "ns" => 1e-9,
            "us" | "µs" | "μs" => 1e-6,
            "ms" => 1e-3,
            "s" => 1.0,
            "m" => 60.0,
            "h" => 3600.0,
            _ => return None,
        };
        seconds += number * unit;
        rest = &rest[unit_end..];
    }
    SignedDuration::try_from_secs_f64(seconds).ok().filter(|_| seconds > 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_go_reads_is_read() {
        for (text, milliseconds) in [("300ms", 300), ("1h30m", 5_400_000), ("2.5s", 2500), ("1m0.5s", 60_500)] {
            assert_eq!(parse(text), Some(SignedDuration::from_millis(milliseconds)), "{text}");
        }
        for text in ["", "5", "m", "-5m", "5 m", "5d", "0s", "1..2s"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
