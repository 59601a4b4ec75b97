//! The difference between two texts.

use std::time::Duration;

use similar::TextDiff;

/// Longest search for the shortest difference; after that a longer one will do.
const PATIENCE: Duration = Duration::from_secs(1);

/// The difference as `diff -u` prints it, with these names. Empty where there is none.
pub fn unified(from: (&str, &str), to: (&str, &str)) -> String {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(from.1, to.1);
    diff.unified_diff().context_radius(3).header(from.0, to.0).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_its_lines_with_those_around_them() {
        let (old, new) = ("a\nb\nc\nd\ne\n", "a\nb\nc\nx\ne\n");
        assert_eq!(unified(("r1", old), ("r2", new)), "--- r1\n+++ r2\n@@ -1,5 +1,5 @@\n a\n b\n c\n-d\n+x\n e\n");
        assert_eq!(unified(("r1", old), ("r2", old)), "");
    }
}
