//! The meaning of an unquoted YAML scalar: YAML 1.1 as kubectl reads it.
//!
//! kubectl turns YAML into JSON before it looks at types, and by these rules: `yes`, `on` and `y` are booleans, `010` is octal, `0x1F` and `1_000` are numbers,
//! a date is text. A string field that gets one of these unquoted is an error there, and so it is here.

use super::node::Scalar;

/// The meaning of a plain (unquoted, untagged) scalar.
pub(crate) fn plain(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => Scalar::Bool(true),
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => Scalar::Bool(false),
        ".nan" | ".NaN" | ".NAN" => Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Scalar::Float(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Scalar::Float(f64::NEG_INFINITY),
        _ if text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '+' | '-' | '.')) => number(text),
        _ => Scalar::Text,
    }
}

fn number(text: &str) -> Scalar {
    // Underscores separate digits, but not in a number that begins with its point.
    let digits = if text.starts_with('.') { text.to_owned() } else { text.replace('_', "") };
    if let Some(scalar) = integer(&digits) {
        return scalar;
    }
    let looks_right = digits.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'-' | b'.' | b'e' | b'E'));
    match digits.parse::<f64>() {
        // On its way through JSON a whole number loses its point.
        #[expect(clippy::cast_possible_truncation, reason = "whole and within the range in which every integer is exact")]
        Ok(float) if looks_right && float.fract() == 0.0 && float.abs() < 9e15 => Scalar::Int(float as i64),
        Ok(float) if looks_right => Scalar::Float(float),
        Ok(_) | Err(_) => Scalar::Text,
    }
}

/// An integer with the base that its prefix says.
fn integer(text: &str) -> Option<Scalar> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let (base, digits) = match rest.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &rest[2..]),
        [b'0', b'o' | b'O', ..] => (8, &rest[2..]),
        [b'0', b'b' | b'B', ..] => (2, &rest[2..]),
        [b'0', _, ..] => (8, &rest[1..]),
        _ => (10, rest),
    };
    // `from_str_radix` would take a second sign.
    let magnitude = digits.bytes().all(|byte| byte.is_ascii_alphanumeric()).then(|| u64::from_str_radix(digits, base).ok())??;
    match (negative, i64::try_from(magnitude)) {
        (false, Ok(value)) => Some(Scalar::Int(value)),
        (false, Err(_)) => Some(Scalar::Unsigned(magnitude)),
        (true, Ok(value)) => Some(Scalar::Int(-value)),
        (true, Err(_)) => (magnitude == i64::MIN.unsigned_abs()).then_some(Scalar::Int(i64::MIN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(texts: &[&str], expected: Scalar) {
        for text in texts {
            assert_eq!(plain(text), expected, "{text:?}");
        }
    }

    #[test]
    fn scalars_mean_what_they_mean_to_kubectl() {
        check(&["", "~", "null"], Scalar::Null);
        check(&["true", "yes", "On", "y"], Scalar::Bool(true));
        check(&["false", "NO", "off", "n"], Scalar::Bool(false));
        check(&["80", "+80", "8_0", "0x50", "0o120", "0120", "0b1010000", "80.0", "8e1"], Scalar::Int(80));
        // No octal number, but a float that is whole.
        check(&["08"], Scalar::Int(8));
        check(&["-9223372036854775808"], Scalar::Int(i64::MIN));
        check(&["18446744073709551615"], Scalar::Unsigned(u64::MAX));
        check(&["0.5", ".5", "5e-1"], Scalar::Float(0.5));
        check(&["-.inf"], Scalar::Float(f64::NEG_INFINITY));
        check(
            &["yEs", "tRUE", "0x", "1.2.3", "10.0.0.1", "2024-01-02", "-", "+", "--1", "+-1", "1m", "infinity", "80:80", "."],
            Scalar::Text,
        );
    }
}
