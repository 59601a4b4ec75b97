//! Booleans and integers as annotations and ConfigMaps spell them.

use crate::Invalid;

const BOOLEAN: Invalid = Invalid::new("true or false (1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False)");
const ON_OFF: Invalid = Invalid::new("on or off");
const INTEGER: Invalid = Invalid::new("a whole number");

/// Reads a boolean in one of the twelve accepted spellings. Nothing is trimmed.
pub fn parse_bool(text: &str) -> Result<bool, Invalid> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Ok(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Ok(false),
        _ => Err(BOOLEAN),
    }
}

/// Reads `on` or `off`.
pub fn parse_on_off(text: &str) -> Result<bool, Invalid> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(ON_OFF),
    }
}

/// Reads a decimal integer with an optional sign, as annotations write it. No spaces, no unit.
pub fn parse_integer(text: &str) -> Result<i64, Invalid> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(INTEGER);
    }
    text.parse().map_err(|_| INTEGER)
}

/// Reads an integer literal as the ConfigMap writes it: like [`parse_integer`], or with a base prefix
/// (`0x`, `0o`, `0b`, or a leading `0` for octal), underscores between digits after a prefix.
pub fn parse_integer_literal(text: &str) -> Result<i64, Invalid> {
    let (negative, rest) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let lower = rest.to_ascii_lowercase();
    let (radix, digits) = match lower.as_bytes() {
        [b'0', b'x', ..] => (16, &lower[2..]),
        [b'0', b'o', ..] => (8, &lower[2..]),
        [b'0', b'b', ..] => (2, &lower[2..]),
        [b'0', _, ..] => (8, &lower[1..]),
        _ => return parse_integer(text),
    };
    let digits = digits.strip_prefix('_').unwrap_or(digits);
    let misplaced = digits.is_empty() || digits.starts_with(['_', '+', '-']) || digits.ends_with('_') || digits.contains("__");
    if misplaced {
        return Err(INTEGER);
    }
    let magnitude = i128::from(u64::from_str_radix(&digits.replace('_', ""), radix).map_err(|_| INTEGER)?);
    i64::try_from(if negative { -magnitude } else { magnitude }).map_err(|_| INTEGER)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boolean_has_twelve_spellings_and_no_other() {
        for text in ["1", "t", "T", "TRUE", "true", "True"] {
            assert_eq!(parse_bool(text), Ok(true), "{text}");
        }
        for text in ["0", "f", "F", "FALSE", "false", "False"] {
            assert_eq!(parse_bool(text), Ok(false), "{text}");
        }
        for text in ["", " true", "true ", "yes", "on", "tRUE", "2"] {
            assert!(parse_bool(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_integer_has_a_sign_and_decimal_digits_only() {
        for (text, value) in [("0", 0), ("007", 7), ("+5", 5), ("-5", -5), ("9223372036854775807", i64::MAX)] {
            assert_eq!(parse_integer(text), Ok(value), "{text}");
        }
        for text in ["", "+", "--1", "1 ", " 1", "1s", "0x1", "1_0", "9223372036854775808", "１"] {
            assert!(parse_integer(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_integer_literal_may_have_a_base_prefix() {
        for (text, value) in [("10", 10), ("0x1F", 31), ("0o17", 15), ("017", 15), ("-0b101", -5), ("0x_ff_ff", 65535), ("0", 0)] {
            assert_eq!(parse_integer_literal(text), Ok(value), "{text}");
        }
        for text in ["", "0x", "0x_", "08", "0x+1", "0__1", "1_000", "0xfffffffffffffffff", "0b2"] {
            assert!(parse_integer_literal(text).is_err(), "{text}");
        }
    }
}
