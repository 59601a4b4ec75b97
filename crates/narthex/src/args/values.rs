//! Values in the grammar of the predecessor's flags, which is Go's.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{BoolishValueParser, OsStringValueParser, TypedValueParser};

use super::duration::duration;

/// A boolean: `true`, `True`, `t`, `1` and their opposites; also `yes` and `no`.
pub(crate) fn boolean() -> BoolishValueParser {
    BoolishValueParser::new()
}

/// A path that may be empty, which means none.
pub(crate) fn path() -> impl TypedValueParser<Value = PathBuf> {
    OsStringValueParser::new().map(PathBuf::from)
}

/// Whole seconds. A negative number is zero: Go doesn't wait then.
pub(crate) fn seconds(text: &str) -> Result<u64, String> {
    let number: i64 = text.parse().map_err(|_| format!("{text:?} is not a whole number of seconds"))?;
    Ok(number.try_into().unwrap_or(0))
}

/// A duration with a sign; a negative one is zero.
pub(crate) fn signed_duration(text: &str) -> Result<Duration, String> {
    match text.strip_prefix('-') {
        Some(positive) => duration(positive).map(|_| Duration::ZERO).map_err(|error| error.replacen(positive, text, 1)),
        None => duration(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_below_zero_are_zero() {
        assert_eq!((seconds("7"), seconds("-7"), seconds("0")), (Ok(7), Ok(0), Ok(0)));
        for text in ["", "7s", "1.5", "seven"] {
            assert!(seconds(text).is_err(), "{text}");
        }
        assert_eq!(signed_duration("1m30s"), Ok(Duration::from_secs(90)));
        assert_eq!(signed_duration("-1m"), Ok(Duration::ZERO));
        assert!(signed_duration("-1x").unwrap_err().starts_with("\"-1x\" is not a duration"));
    }
}
