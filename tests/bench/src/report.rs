//! The table of figures.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// One figure with its peer's and its target.
pub struct Row {
    /// The measured quantity.
    pub what: String,
    /// The figure, with its unit.
    pub figure: String,
    /// The target.
    pub target: &'static str,
    /// Whether the figure meets it.
    pub met: bool,
    /// ingress-nginx 1.15.1, where it was measured.
    pub peer: &'static str,
}

impl Row {
    /// Whether the target is met; empty where there is none.
    fn verdict(&self) -> &'static str {
        match (self.target, self.met) {
            ("", _) => "",
            (_, true) => "yes",
            (_, false) => "NO",
        }
    }
}

/// A duration in milliseconds.
pub fn ms(duration: Duration) -> String {
    format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
}

/// Says on standard error what is under way: a part of a benchmark may take minutes before its first figure.
#[expect(clippy::print_stderr, reason = "progress of a benchmark")]
pub fn progress(what: &str) {
    eprintln!("... {what}");
}

/// One way to do something, beside others.
struct Way {
    what: &'static str,
    way: &'static str,
    figure: String,
    /// Requests that failed, of how many.
    lost: (usize, usize),
}

/// All figures of a run.
#[derive(Default)]
pub struct BenchReport {
    rows: Vec<Row>,
    ways: Vec<Way>,
}

impl BenchReport {
    /// Adds a figure and prints it at once.
    #[expect(clippy::print_stdout, reason = "progress of a benchmark")]
    pub fn add(&mut self, what: impl Into<String>, figure: impl Into<String>, target: &'static str, met: bool, peer: &'static str) {
        let row = Row { what: what.into(), figure: figure.into(), target, met, peer };
        println!("{:<64} {:<34} {:<34} {}", row.what, row.figure, row.target, row.verdict());
        self.rows.push(row);
    }

    /// Adds one way to do something, with the requests that failed meanwhile, of how many, and prints it at once.
    #[expect(clippy::print_stdout, reason = "progress of a benchmark")]
    pub fn compare(&mut self, what: &'static str, way: &'static str, figure: String, lost: (usize, usize)) {
        let (failed, all) = lost;
        println!("{what}, {way}: {figure}, {failed} of {all} requests failed");
        self.ways.push(Way { what, way, figure, lost });
    }

    /// The ways beside each other as Markdown; empty when none was measured.
    fn ways(&self) -> String {
        let mut text = String::new();
        let mut what = "";
        for Way { what: now, way, figure, lost: (failed, all) } in &self.ways {
            if text.is_empty() {
                text.push_str("## Plain NGINX, and the scripts around it\n\nAt 1,000 requests a second, half of them on kept connections; a request that a kept connection did not take is sent once more, as clients do.\nThe scripts are in `tests/bench/src/recipes`.\n\n| | way | | failed requests |\n|---|---|---|---|\n");
            }
            let first = if *now == what { "" } else { now };
            what = now;
            writeln!(text, "| {first} | {way} | {figure} | {failed} of {all} |").expect("writing to a String can't fail");
        }
        text
    }

    /// The table as Markdown.
    pub fn markdown(&self) -> String {
        let mut text = String::from("| | Narthex | target | met | ingress-nginx 1.15.1 |\n|---|---|---|---|---|\n");
        for row in &self.rows {
            let met = row.verdict();
            writeln!(text, "| {} | {} | {} | {met} | {} |", row.what, row.figure, row.target, row.peer)
                .expect("writing to a String can't fail");
        }
        text
    }

    /// Writes the page. `criterion` is the table of the pure parts, possibly empty.
    ///
    /// # Errors
    /// The file can't be written.
    pub fn write(&self, path: &Path, machine: &str, criterion: &str) -> std::io::Result<()> {
        let text = format!(
            "# Benchmarks\n\nWritten by `make bench`, which measures everything again: a real API server, NGINX, and echo servers on the same machine.\nTimes run from the API server's answer to the first right answer over HTTP, seen from outside.\nFigures of ingress-nginx 1.15.1 were measured in the same bed on another day, two cores as well.\n\nMachine: {machine}\n\n{}\n{}\n{criterion}",
            self.markdown(),
            self.ways()
        );
        std::fs::write(path, text)
    }
}
