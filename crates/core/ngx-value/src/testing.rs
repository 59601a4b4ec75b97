//! Helpers for the tests of several types.

use std::fmt;
use std::str::FromStr;

use crate::Invalid;

/// The good ones are read, and shown as they were; the bad ones are not read.
#[track_caller]
pub(crate) fn check<T: FromStr<Err = Invalid> + fmt::Display>(good: &[&str], bad: &[&str]) {
    for text in good {
        let value: T = text.parse().unwrap_or_else(|error| panic!("{text:?}: {error}"));
        assert_eq!(value.to_string(), *text);
    }
    for text in bad {
        assert!(text.parse::<T>().is_err(), "{text:?}");
    }
}
