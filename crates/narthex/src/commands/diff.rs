//! `narthex diff`: what differs between two texts of `nginx.conf`.

use std::process::ExitCode;

use inspect::RevisionDiff;

use crate::FAILED;
use crate::api::{Api, Query};
use crate::args::DiffArgs;
use crate::output;
use crate::table::{Palette, Tone, printable};

/// Prints it. The exit code says whether there is a difference, as that of diff(1) does.
pub(crate) fn diff(args: &DiffArgs) -> anyhow::Result<ExitCode> {
    let api = Api::new(&args.running.work_dir()?);
    let query: Query<'_> =
        [("from", &args.from), ("to", &args.to)].into_iter().filter_map(|(name, value)| Some((name, value.as_deref()?))).collect();
    let RevisionDiff { from, to, diff } = super::run::runtime()?.block_on(api.get("revisions/diff", &query))?;
    if diff.is_empty() {
        output::remark(format_args!("narthex: the revisions {from} and {to} have the same text"));
        return Ok(ExitCode::SUCCESS);
    }
    let palette = Palette::of_stdout();
    output::text(diff.lines().map(|line| palette.paint(&shown(line), tone(line)) + "\n").collect::<String>())?;
    Ok(ExitCode::from(FAILED))
}

/// A line as a terminal may have it; the indentation stays.
fn shown(line: &str) -> String {
    line.split('\t').map(printable).collect::<Vec<_>>().join("\t")
}

fn tone(line: &str) -> Tone {
    match line.chars().next() {
        _ if line.starts_with("+++") || line.starts_with("---") => Tone::Strong,
        Some('+') => Tone::Good,
        Some('-') => Tone::Bad,
        Some('@') => Tone::Quiet,
        _ => Tone::Plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_tone_of_their_mark() {
        for (line, expected) in [
            ("--- 4f2a", Tone::Strong),
            ("+++ 9c01", Tone::Strong),
            ("@@ -1,2 +1,2 @@", Tone::Quiet),
            ("+    gzip on;", Tone::Good),
            ("-    gzip off;", Tone::Bad),
            ("     server {", Tone::Plain),
            ("", Tone::Plain),
        ] {
            assert_eq!(tone(line), expected, "{line}");
        }
        assert_eq!(shown("+\tset $a \"\x1b[0m\";"), "+\tset $a \"\\u{1b}[0m\";");
    }
}
