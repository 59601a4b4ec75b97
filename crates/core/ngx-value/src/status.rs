//! Status codes.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

/// A status that an error page can stand for: 300 to 599, but not 499, which NGINX keeps to itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrorStatus(u16);

impl ErrorStatus {
    /// The number.
    pub const fn code(self) -> u16 {
        self.0
    }
}

impl FromStr for ErrorStatus {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        status(text)
            .filter(|code| (300..=599).contains(code) && *code != 499)
            .map(Self)
            .ok_or(Invalid::new("a status from 300 to 599 other than 499"))
    }
}

impl fmt::Display for ErrorStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// Exactly three digits.
pub(crate) fn status(text: &str) -> Option<u16> {
    if text.len() == 3 && text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_status_has_three_digits_and_is_not_499() {
        for text in ["300", "404", "498", "500", "599"] {
            assert_eq!(text.parse::<ErrorStatus>().unwrap().to_string(), text);
        }
        for text in ["", "299", "499", "600", "0404", "40", " 404", "+404", "4x4", "４０４"] {
            assert!(text.parse::<ErrorStatus>().is_err(), "{text:?}");
        }
    }
}
