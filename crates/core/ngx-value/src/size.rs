//! Sizes.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

/// A size in bytes, at most 2^63 − 1 (what NGINX can hold).
///
/// Read: digits and at most one of `b`, `k`, `m`, `g` in either case. Written with the largest of `m`, `k` that keeps it whole,
/// because NGINX takes `g` in some directives only and `b` in none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Size {
    /// Bytes.
    pub bytes: u64,
}

const EXPECTED: Invalid = Invalid::new("a size such as 8k or 1m (digits and at most one of b, k, m, g)");
const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

impl Size {
    /// A number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self { bytes }
    }

    /// A number of kibibytes.
    pub const fn kib(count: u32) -> Self {
        Self { bytes: count as u64 * KIB }
    }

    /// A number of mebibytes.
    pub const fn mib(count: u32) -> Self {
        Self { bytes: count as u64 * MIB }
    }
}

impl FromStr for Size {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (digits, unit) = match text.as_bytes().last() {
            Some(b'b' | b'B') => (&text[..text.len() - 1], 1),
            Some(b'k' | b'K') => (&text[..text.len() - 1], KIB),
            Some(b'm' | b'M') => (&text[..text.len() - 1], MIB),
            Some(b'g' | b'G') => (&text[..text.len() - 1], GIB),
            _ => (text, 1),
        };
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(EXPECTED);
        }
        let count: u64 = digits.parse().map_err(|_| EXPECTED)?;
        let bytes = count.checked_mul(unit).filter(|bytes| i64::try_from(*bytes).is_ok()).ok_or(EXPECTED)?;
        Ok(Self { bytes })
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.bytes {
            bytes if bytes > 0 && bytes % MIB == 0 => write!(f, "{}m", bytes / MIB),
            bytes if bytes > 0 && bytes % KIB == 0 => write!(f, "{}k", bytes / KIB),
            bytes => write!(f, "{bytes}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_size_has_digits_and_at_most_one_unit() {
        for (text, bytes, printed) in [
            ("0", 0, "0"),
            ("0m", 0, "0"),
            ("8k", 8192, "8k"),
            ("1024K", 1 << 20, "1m"),
            ("1500k", 1_536_000, "1500k"),
            ("2G", 2 << 30, "2048m"),
            ("10b", 10, "10"),
            ("1000", 1000, "1000"),
            ("9223372036854775807", i64::MAX as u64, "9223372036854775807"),
        ] {
            let size: Size = text.parse().unwrap();
            assert_eq!((size.bytes, size.to_string().as_str()), (bytes, printed), "{text}");
        }
        for text in ["", "k", "15r", "1kb", "-1", "+1", "1 k", " 1", "1.5m", "9223372036854775808", "9007199254740992g", "１k"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn a_printed_size_parses_back(bytes in 0..=i64::MAX as u64) {
            prop_assert_eq!(Size { bytes }.to_string().parse(), Ok(Size { bytes }));
        }

        #[test]
        fn any_text_is_a_size_or_an_error(text in ".*") {
            if let Ok(size) = text.parse::<Size>() {
                prop_assert_eq!(size.to_string().parse(), Ok(size));
            }
        }
    }
}
