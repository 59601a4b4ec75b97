//! The longest time of each test, and the tests that run alone.

use std::time::Duration;

use crate::test::Test;

/// How long a test may take, and beside what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limit {
    /// A test that takes longer hangs: it is ended with its processes, and has failed.
    pub(crate) longest: Duration,
    /// No other test runs beside it.
    pub(crate) alone: bool,
}

struct Row {
    package: &'static str,
    /// Empty: every one.
    binary: &'static str,
    /// Part of the name; empty: every one.
    name: &'static str,
    seconds: u64,
    alone: bool,
}

const fn row(package: &'static str, binary: &'static str, name: &'static str, seconds: u64) -> Row {
    Row { package, binary, name, seconds, alone: false }
}

/// The first row that fits counts.
const ROWS: &[Row] = &[
    // Waits until NGINX's tests of a text that takes too long are ended, again and again.
    row("narthex", "faults", "slow::", 1200),
    // All sequences with NARTHEX_SOAK.
    row("narthex", "protection", "", 1200),
    // Releases that are rolled out again and again, with 500 requests a second each.
    Row { alone: true, ..row("e2e", "image", "", 900) },
    // Renders the chart some hundred times.
    row("e2e", "chart", "leaves::no_value_is_ignored", 600),
    // Asks API servers about all sets of values.
    row("e2e", "chart", "versions::", 600),
    // Runs every command of a page, one after the other.
    row("e2e", "commands", "pages::", 600),
    // Reads ten thousand hosts, and looks at each view in three sizes and themes.
    row("e2e", "cases", "cases::browser::", 600),
    // Five minutes without an API server with NARTHEX_SOAK.
    row("e2e", "cases", "cases::away::", 480),
    // Objects as large as the API server takes them, to a binary that is not optimised.
    row("e2e", "cases", "cases::hostile::", 480),
    row("e2e", "", "", 240),
    row("", "", "", 300),
];

/// The limit of a test.
pub(crate) fn limit(test: &Test<'_>) -> Limit {
    let fits = |row: &&Row| {
        let is = |of_row: &str, of_test: &str| of_row.is_empty() || of_row == of_test;
        is(row.package, &test.binary.package) && is(row.binary, &test.binary.name) && test.name.contains(row.name)
    };
    let row = ROWS.iter().find(fits).expect("the last row fits every test");
    Limit { longest: Duration::from_secs(row.seconds), alone: row.alone }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test::binary;

    #[test]
    fn the_first_row_that_fits_counts() {
        for (package, name, test, seconds, alone) in [
            ("model", "golden", "slow::a", 300, false),
            ("narthex", "faults", "slow::a", 1200, false),
            ("narthex", "faults", "staged::a", 300, false),
            ("narthex", "image", "a", 300, false),
            ("e2e", "image", "pods::a", 900, true),
            ("e2e", "cases", "cases::away::a", 480, false),
            ("e2e", "cases", "cases::can::a", 240, false),
        ] {
            let expected = Limit { longest: Duration::from_secs(seconds), alone };
            assert_eq!(limit(&Test { binary: &binary(package, name), name: test.into() }), expected, "{package}/{name} {test}");
        }
    }

    #[test]
    fn every_row_is_the_first_for_some_test() {
        for (at, row) in ROWS.iter().enumerate() {
            let hidden = ROWS[..at].iter().any(|former| {
                let covers = |former: &str, row: &str| former.is_empty() || former == row;
                covers(former.package, row.package) && covers(former.binary, row.binary) && row.name.contains(former.name)
            });
            assert!(!hidden, "row {at}");
        }
    }
}
