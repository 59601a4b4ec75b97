//! Columns of text.

/// Spaces between columns.
const GAP: usize = 3;
/// The narrowest column, with its gap.
const LEAST: usize = 6;

/// Rows below their titles, the columns as wide as their widest cell.
pub(super) fn table(titles: &[&str], rows: &[Vec<String>]) -> String {
    let titles: Vec<String> = titles.iter().map(|title| (*title).to_owned()).collect();
    let lines: Vec<&Vec<String>> = std::iter::once(&titles).chain(rows).collect();
    let width = |column: usize| lines.iter().map(|line| line[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..titles.len()).map(|column| (width(column) + GAP).max(LEAST)).collect();
    let line = |cells: &Vec<String>| {
        let padded: String = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        format!("{}\n", padded.trim_end())
    };
    lines.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".into(), String::new(), "x".into()], vec!["long-name".into(), "1".into(), "y".into()]];
        let expected = "NAME        N     END\na                 x\nlong-name   1     y\n";
        assert_eq!(table(&["NAME", "N", "END"], &rows), expected);
    }
}
