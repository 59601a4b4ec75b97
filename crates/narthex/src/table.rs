//! Columns of text for people, in colour on a terminal.

use std::io::IsTerminal;

/// Spaces between columns.
const GAP: usize = 3;
/// The narrowest column, with its gap.
const LEAST: usize = 6;

/// The meaning of a text, which a terminal shows as a colour. It is never the only sign.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Tone {
    /// Like any other.
    #[default]
    Plain,
    /// A title.
    Strong,
    /// Of less weight.
    Quiet,
    /// All is well.
    Good,
    /// It needs attention.
    Warning,
    /// It is broken.
    Bad,
}

impl Tone {
    /// Parameters of the escape sequence "select graphic rendition" (ECMA-48).
    fn code(self) -> Option<&'static str> {
        match self {
            Self::Plain => None,
            Self::Strong => Some("1"),
            Self::Quiet => Some("2"),
            Self::Good => Some("32"),
            Self::Warning => Some("33"),
            Self::Bad => Some("31"),
        }
    }
}

/// Whether tones are shown.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Palette {
    colours: bool,
}

impl Palette {
    /// No colours.
    #[cfg(test)]
    pub(crate) const PLAIN: Self = Self { colours: false };

    /// Colours where standard output is a terminal, unless `NO_COLOR` is set to anything or `TERM` is `dumb`.
    pub(crate) fn of_stdout() -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").is_some_and(|term| term == "dumb");
        Self { colours: std::io::stdout().is_terminal() && set("NO_COLOR").is_none() && !dumb }
    }

    /// The text in its tone.
    pub(crate) fn paint(self, text: &str, tone: Tone) -> String {
        match tone.code().filter(|_| self.colours && !text.is_empty()) {
            Some(code) => format!("\x1b[{code}m{text}\x1b[0m"),
            None => text.to_owned(),
        }
    }
}

/// A text in a table.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Cell {
    /// Without control characters.
    text: String,
    tone: Tone,
    /// Numbers are aligned at their ends.
    right: bool,
}

impl Cell {
    /// A text of whatever origin.
    pub(crate) fn new(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { text: printable(text.as_ref()), tone, right: false }
    }

    /// What is shown.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// A number.
    pub(crate) fn number(text: impl AsRef<str>, tone: Tone) -> Self {
        Self { right: true, ..Self::new(text, tone) }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        Self::new(text, Tone::Plain)
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self::new(text, Tone::Plain)
    }
}

/// A text that a terminal shows as it is: tenants write some of what is shown, and must not move the cursor.
pub(crate) fn printable(text: &str) -> String {
    text.chars().flat_map(|letter| if letter.is_control() { letter.escape_default().collect() } else { vec![letter] }).collect()
}

/// Rows below their titles, the columns as wide as their widest cell.
pub(crate) fn table(titles: &[&str], rows: &[Vec<Cell>], palette: Palette) -> String {
    let is_number = |column: usize| rows.iter().any(|row| row[column].right);
    let titles = titles.iter().enumerate().map(|(at, title)| Cell { right: is_number(at), ..Cell::new(title, Tone::Strong) });
    let titles: Vec<Cell> = titles.collect();
    let lines: Vec<&Vec<Cell>> = std::iter::once(&titles).chain(rows).collect();
    let length = |cell: &Cell| cell.text.chars().count();
    let width = |column: usize| lines.iter().map(|line| length(&line[column])).max().unwrap_or(0);
    let widths: Vec<usize> = (0..titles.len()).map(|column| width(column).max(LEAST - GAP)).collect();
    let line = |cells: &Vec<Cell>| {
        let mut line = String::new();
        let mut blank = 0;
        for (cell, width) in cells.iter().zip(&widths) {
            let rest = width - length(cell);
            let (before, after) = if cell.right { (rest, 0) } else { (0, rest) };
            // What stands behind the last text is left out.
            if !cell.text.is_empty() {
                line.push_str(&" ".repeat(blank + before));
                line.push_str(&palette.paint(&cell.text, cell.tone));
                blank = after + GAP;
            } else {
                blank += width + GAP;
            }
        }
        line + "\n"
    };
    lines.into_iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let rows = [vec!["a".into(), "".into(), "x".into()], vec!["long-name".into(), "1".into(), "y".into()]];
        let expected = "NAME        N     END\na                 x\nlong-name   1     y\n";
        assert_eq!(table(&["NAME", "N", "END"], &rows, Palette::PLAIN), expected);
    }

    #[test]
    fn numbers_are_aligned_at_their_ends() {
        let row = |name: &str, number: &str| vec![name.into(), Cell::number(number, Tone::Plain)];
        assert_eq!(
            table(&["A", "COUNT"], &[row("x", "1"), row("y", "1234567")], Palette::PLAIN),
            "A       COUNT\nx           1\ny     1234567\n"
        );
    }

    #[test]
    fn colours_take_no_room() {
        let rows = [vec![Cell::new("ok", Tone::Good), "x".into()]];
        assert_eq!(
            table(&["STATE", "NAME"], &rows, Palette { colours: true }),
            "\x1b[1mSTATE\x1b[0m   \x1b[1mNAME\x1b[0m\n\x1b[32mok\x1b[0m      x\n"
        );
    }

    #[test]
    fn a_tenant_s_text_moves_no_cursor() {
        assert_eq!(Cell::new("a\x1b[2Jb\nc", Tone::Plain).text, "a\\u{1b}[2Jb\\nc");
        assert_eq!(printable("größe"), "größe");
    }
}
