//! The figures of docs/benchmarks.md, read back: plots and page can't differ.

/// A row of the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// The measured quantity.
    pub what: &'a str,
    /// The figure.
    pub figure: &'a str,
    /// That of ingress-nginx; empty where it was not measured.
    pub peer: &'a str,
}

/// The first table of a page: the figures with targets.
#[derive(Debug)]
pub struct Page<'a>(Vec<Row<'a>>);

impl<'a> Page<'a> {
    /// Reads the page.
    pub fn read(text: &'a str) -> Self {
        let table = text.lines().skip_while(|line| !line.starts_with("| ")).take_while(|line| line.starts_with('|'));
        let rows = table.skip(2).filter_map(|line| {
            let cells: Vec<&str> = line.strip_prefix('|')?.strip_suffix('|')?.split('|').map(str::trim).collect();
            let [what, figure, _target, _met, peer] = cells[..] else { return None };
            Some(Row { what, figure, peer })
        });
        Self(rows.collect())
    }

    /// The row of a quantity.
    pub fn row(&self, what: &str) -> Option<Row<'a>> {
        self.0.iter().find(|row| row.what == what).copied()
    }

    /// The first row whose quantity begins so.
    pub fn beginning(&self, what: &str) -> Option<Row<'a>> {
        self.0.iter().find(|row| row.what.starts_with(what)).copied()
    }
}

/// The number behind a word: `p50 2,932 ms` has 2932 behind `p50`.
pub fn behind(text: &str, word: &str) -> Option<f64> {
    numbers(&text[text.find(word)? + word.len()..]).first().copied()
}

/// All numbers of a text, without the commas between thousands. Digits that belong to a word (`p50`) are none.
pub fn numbers(text: &str) -> Vec<f64> {
    let words = text.split([' ', ';', '/', '(', ')']).filter(|word| word.starts_with(|letter: char| letter.is_ascii_digit()));
    words.filter_map(|word| word.trim_end_matches([',', '%']).replace(',', "").parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_numbers_are_read() {
        let text = "# B\n\nText\n\n| | Narthex | target | met | ingress-nginx 1.15.1 |\n|---|---|---|---|---|\n\
                    | endpoint change | p50 2.3 ms, p99 4.9 ms, 0 reloads | p50 ≤ 15 ms | yes | p50 2,932, p99 3,986 ms |\n\n\
                    | other | table |\n|---|---|\n| endpoint | 1 |\n";
        let page = Page::read(text);
        let row = page.row("endpoint change").unwrap();
        assert_eq!((page.0.len(), row), (1, page.beginning("endpoint").unwrap()));
        assert_eq!((behind(row.figure, "p50"), behind(row.figure, "p99"), behind(row.peer, "p50")), (Some(2.3), Some(4.9), Some(2932.0)));
        assert_eq!((behind(row.peer, "p99"), behind(row.peer, "max")), (Some(3986.0), None));
        assert_eq!(numbers("14.0 / 16.3 / 19.9 µs, the second is 0.82 of ours"), [14.0, 16.3, 19.9, 0.82]);
        assert_eq!(numbers("37 / 42 µs, 0.89; 0.91 a second, 17 MB / 65 MB, 20%"), [37.0, 42.0, 0.89, 0.91, 17.0, 65.0, 20.0]);
    }
}
