//! How long tests took in former runs: a line each, milliseconds and the test.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

/// By `package/binary module::name`.
pub(crate) type Durations = BTreeMap<String, Duration>;

/// The durations in a text. A line that is none is passed over: they decide about the order alone.
pub(crate) fn read(text: &str) -> Durations {
    let line = |line: &str| {
        let (milliseconds, test) = line.split_once(' ')?;
        Some((test.to_owned(), Duration::from_millis(milliseconds.parse().ok()?)))
    };
    text.lines().filter_map(line).collect()
}

/// The text of durations.
pub(crate) fn write(durations: &Durations) -> String {
    durations.iter().fold(String::new(), |mut text, (test, took)| {
        writeln!(text, "{} {test}", took.as_millis()).expect("a string takes all");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read() {
        let durations = Durations::from([
            ("model a::b".to_owned(), Duration::from_millis(7)),
            ("e2e/cases cases::c".to_owned(), Duration::from_millis(61_002)),
        ]);
        assert_eq!(write(&durations), "61002 e2e/cases cases::c\n7 model a::b\n");
        assert_eq!(read(&write(&durations)), durations);
        assert_eq!(read("x model a\n7\n\n7 model a::b\n"), Durations::from([("model a::b".to_owned(), Duration::from_millis(7))]));
    }
}
