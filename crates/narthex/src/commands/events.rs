//! `narthex events`: what a running controller does.

use std::process::ExitCode;

use inspect::{Event, EventKind, Events, Lane};
use jiff::Timestamp;
use jiff::tz::TimeZone;

use super::get::duration;
use crate::api::Api;
use crate::args::{EventsArgs, Format};
use crate::output;
use crate::sse::Reader;
use crate::table::{Palette, Tone, printable};

/// The type of messages about events.
const CHANGE: &str = "change";

/// Prints them.
pub(crate) fn events(args: &EventsArgs) -> anyhow::Result<ExitCode> {
    let api = Api::new(&args.running.work_dir()?);
    super::run::runtime()?.block_on(print(&api, args))?;
    Ok(ExitCode::SUCCESS)
}

async fn print(api: &Api, args: &EventsArgs) -> anyhow::Result<()> {
    let palette = Palette::of_stdout();
    let before = all(api).await?;
    let last = before.last().map_or(0, |event| event.id);
    for event in &before[before.len().saturating_sub(args.tail)..] {
        output::line(shown(event, args.output, palette)?)?;
    }
    if !args.follow {
        return Ok(());
    }
    let mut stream = api.stream("stream", vec![("last-event-id", last.to_string())]).await?;
    let mut reader = Reader::default();
    while let Some(part) = stream.next().await? {
        for message in reader.messages(&part)?.into_iter().filter(|message| message.event == CHANGE) {
            output::line(shown(&serde_json::from_str(&message.data)?, args.output, palette)?)?;
        }
    }
    anyhow::bail!("the controller has ended")
}

/// Those that it remembers.
async fn all(api: &Api) -> anyhow::Result<Vec<Event>> {
    let mut all: Vec<Event> = Vec::new();
    loop {
        let since = all.last().map_or(0, |event| event.id).to_string();
        let Events { items } = api.get("events", &vec![("since", &*since)]).await?;
        if items.is_empty() {
            return Ok(all);
        }
        all.extend(items);
    }
}

fn shown(event: &Event, format: Format, palette: Palette) -> anyhow::Result<String> {
    Ok(match format {
        Format::Json => serde_json::to_string(event)?,
        Format::Text => line(event, palette),
    })
}

fn line(event: &Event, palette: Palette) -> String {
    let at = Timestamp::from_millisecond((event.at * 1000.0) as i64).unwrap_or_default().to_zoned(TimeZone::system());
    let (word, tone) = match (event.kind, event.lane) {
        (EventKind::ReloadFailed, _) => ("failed", Tone::Bad),
        (EventKind::Problem, _) => ("problem", Tone::Warning),
        (EventKind::Resolved, _) => ("resolved", Tone::Good),
        (EventKind::Held, _) => ("held", Tone::Warning),
        (EventKind::NginxStarted, _) => ("start", Tone::Strong),
        (EventKind::Reload, _) | (_, Some(Lane::Reload)) => ("reload", Tone::Strong),
        (EventKind::Live, _) | (_, Some(Lane::Live)) => ("live", Tone::Good),
        (EventKind::Change, None) => ("change", Tone::Quiet),
    };
    let took = event.seconds.map(duration).unwrap_or_default();
    let word = palette.paint(&format!("{word:<8}"), tone);
    let time = palette.paint(&at.strftime("%F %T%.3f").to_string(), Tone::Quiet);
    format!("{time}  {word}  {took:>6}  {}", printable(&event.text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_time_lane_duration_and_words() {
        let event = Event {
            id: 1,
            at: 0.5,
            kind: EventKind::Live,
            lane: Some(Lane::Live),
            text: "2 endpoints of shop/web:80 changed\x07".into(),
            objects: Vec::new(),
            objects_total: 0,
            records: Default::default(),
            reasons: Vec::new(),
            revision: None,
            seconds: Some(0.0031),
        };
        let line = line(&event, Palette::PLAIN);
        assert!(line.ends_with(".500  live       3.1ms  2 endpoints of shop/web:80 changed\\u{7}"), "{line}");
    }
}
