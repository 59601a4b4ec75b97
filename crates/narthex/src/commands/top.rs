//! `narthex top`: live requests, errors and latency in the terminal.

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use inspect::{List, Now, TrafficRow};

use super::get::{bytes, duration, rate, share};
use crate::FAILED;
use crate::api::{Api, Query};
use crate::args::{Format, TopArgs};
use crate::output;
use crate::table::{Cell, Palette, Tone, table};

/// Rows where the terminal does not say how many it has.
const ROWS: usize = 24;
/// Lines above the rows.
const HEAD: usize = 4;
/// The most rows that are printed at once.
const MOST: usize = 1000;
/// Errors from which on they need attention.
const MANY_ERRORS: f64 = 0.01;
/// Another screen, and the one of before (xterm's private mode 1049).
const ENTER: &str = "\x1b[?1049h\x1b[?25l";
const LEAVE: &str = "\x1b[?25h\x1b[?1049l";
/// To the first line; what follows it is erased after the text is written.
const HOME: &str = "\x1b[H";
const ERASE_LINE: &str = "\x1b[K";
const ERASE_BELOW: &str = "\x1b[J";

/// Shows it until a signal ends it, or prints it once.
pub(crate) fn top(args: &TopArgs) -> anyhow::Result<ExitCode> {
    let once = args.once || args.output == Format::Json || !std::io::stdout().is_terminal();
    let api = Api::new(&args.running.work_dir()?);
    let runtime = super::run::runtime()?;
    if !once {
        runtime.block_on(watch(&api, args))?;
        return Ok(ExitCode::SUCCESS);
    }
    let list = runtime.block_on(look(&api, args, MOST))?;
    match args.output {
        Format::Json => output::line(serde_json::to_string_pretty(&list.items)?)?,
        Format::Text => output::text(rows(args, &list.items, Palette::of_stdout()))?,
    }
    Ok(if list.items.is_empty() { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

async fn look(api: &Api, args: &TopArgs, most: usize) -> anyhow::Result<List<TrafficRow>> {
    let mut query: Query<'_> = vec![("by", args.by.word())];
    query.extend(args.name.as_deref().map(|name| ("q", name)));
    query.extend(args.namespace.as_deref().map(|namespace| ("namespace", namespace)));
    api.list("traffic", &query, most).await
}

async fn watch(api: &Api, args: &TopArgs) -> anyhow::Result<()> {
    // What can't be shown at all is said on the usual screen.
    look(api, args, 1).await?;
    output::text(ENTER)?;
    let ended = tokio::select! {
        ended = redraw(api, args) => ended,
        _ = tokio::signal::ctrl_c() => Ok(()),
    };
    output::text(LEAVE)?;
    ended
}

async fn redraw(api: &Api, args: &TopArgs) -> anyhow::Result<()> {
    let palette = Palette::of_stdout();
    loop {
        let (width, height) = size();
        let (query, most) = (Query::new(), height.saturating_sub(HEAD).max(1));
        let text = match tokio::try_join!(api.get::<Now>("now", &query), look(api, args, most)) {
            Ok((now, list)) => format!("{}\n\n{}", head(&now, &list, palette), rows(args, &list.items, palette)),
            // It may come back.
            Err(error) => format!("{}\n", palette.paint(&format!("{error:#}"), Tone::Bad)),
        };
        let lines: String = text.lines().take(height.saturating_sub(1)).map(|line| cut(line, width) + ERASE_LINE + "\r\n").collect();
        output::text(format_args!("{HOME}{lines}{ERASE_BELOW}"))?;
        tokio::time::sleep(args.interval.max(Duration::from_millis(100))).await;
    }
}

fn head(now: &Now, list: &List<TrafficRow>, palette: Palette) -> String {
    let reloads = |counts: &std::collections::BTreeMap<String, u64>| counts.values().sum::<u64>();
    let state = if now.ready { palette.paint("ready", Tone::Good) } else { palette.paint("not ready", Tone::Bad) };
    let problems =
        palette.paint(&format!("{} problems", now.counts.problems), if now.counts.problems > 0 { Tone::Warning } else { Tone::Plain });
    format!(
        "{} {}  {state}  {} hosts  {} backends  {problems}  {} reloads, {} avoided\n{} of {} shown, by rate; ctrl-c ends",
        palette.paint("narthex", Tone::Strong),
        now.version,
        now.counts.hosts,
        now.counts.backends,
        reloads(&now.reloads.done),
        reloads(&now.reloads.avoided),
        list.items.len(),
        list.total,
    )
}

fn rows(args: &TopArgs, items: &[TrafficRow], palette: Palette) -> String {
    let titles = [&*args.by.word().to_ascii_uppercase(), "RATE", "ERRORS", "P50", "P99", "TO CLIENTS", "REQUESTS"];
    let seconds = |seconds: Option<f64>| Cell::number(seconds.map(duration).unwrap_or_default(), Tone::Plain);
    let cells = items.iter().map(|TrafficRow { key, traffic, .. }| {
        let tone = if traffic.errors >= MANY_ERRORS { Tone::Bad } else { Tone::Plain };
        vec![
            Cell::from(&**key),
            Cell::number(rate(traffic.rate), Tone::Plain),
            Cell::number(share(traffic.errors), tone),
            seconds(traffic.p50),
            seconds(traffic.p99),
            Cell::number(format!("{}/s", bytes(traffic.bytes_rate)), Tone::Plain),
            Cell::number(traffic.requests.to_string(), Tone::Quiet),
        ]
    });
    table(&titles, &cells.collect::<Vec<_>>(), palette)
}

/// Columns and rows of the terminal.
fn size() -> (usize, usize) {
    match rustix::termios::tcgetwinsize(std::io::stdout()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => (size.ws_col.into(), size.ws_row.into()),
        _ => (usize::MAX, ROWS),
    }
}

/// The start of a line that fits; escape sequences take no room.
fn cut(line: &str, width: usize) -> String {
    let (mut kept, mut room, mut escape) = (String::new(), width, false);
    for letter in line.chars() {
        match letter {
            '\x1b' => escape = true,
            _ if escape => escape = !letter.is_ascii_alphabetic(),
            _ if room == 0 => continue,
            _ => room -= 1,
        }
        kept.push(letter);
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_cut_to_the_width_without_its_colours() {
        assert_eq!(cut("\x1b[31mabcdef\x1b[0m", 3), "\x1b[31mabc\x1b[0m");
        assert_eq!(cut("ab", 3), "ab");
    }
}
