//! `narthex logs`: the requests of one host as they come, from NGINX itself.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use nginx::LiveClient;
use render::Paths;
use serde::Deserialize;

use super::get::duration;
use crate::args::{Format, HostLogsArgs};
use crate::output;
use crate::table::{Palette, Tone, printable};

/// Time between two looks.
const INTERVAL: Duration = Duration::from_millis(250);
/// Looks without an answer before NGINX counts as gone: it may be starting again.
const PATIENCE: u32 = 40;

/// Prints them until it is ended.
pub(crate) fn logs(args: &HostLogsArgs) -> anyhow::Result<ExitCode> {
    let work_dir = args.running.work_dir()?;
    let client = LiveClient::new(&Paths::new(work_dir.clone()).control_socket());
    let silent =
        || format!("no NGINX of a controller answers in the work directory {}: give --work-dir of the running one", work_dir.display());
    super::run::runtime()?.block_on(follow(&client, args)).with_context(silent)?;
    Ok(ExitCode::SUCCESS)
}

async fn follow(client: &LiveClient, args: &HostLogsArgs) -> anyhow::Result<()> {
    let palette = Palette::of_stdout();
    let host = args.host.to_ascii_lowercase();
    let mut after = Some(client.tap(&host, None).await?.last);
    // A reader of this line knows that requests are seen from here on.
    output::remark(format_args!("narthex: note: requests of {host} from now on"));
    let (mut left, mut failed) = (args.limit.unwrap_or(u64::MAX), 0);
    while left > 0 {
        tokio::time::sleep(INTERVAL).await;
        let tapped = match client.tap(&host, after).await {
            Ok(tapped) => tapped,
            Err(error) if failed == PATIENCE => return Err(error.into()),
            Err(_) => {
                failed += 1;
                continue;
            }
        };
        (after, failed) = (Some(tapped.last), 0);
        if tapped.lost > 0 {
            output::remark(format_args!("narthex: note: {} requests are not shown: there were too many", tapped.lost));
        }
        for text in tapped.lines.iter().take(usize::try_from(left).unwrap_or(usize::MAX)) {
            left -= 1;
            match args.output {
                Format::Json => output::line(text)?,
                Format::Text => output::line(line(&serde_json::from_str(text)?, palette))?,
            }
        }
    }
    Ok(())
}

/// A request, see docs/live-protocol.md.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Line {
    at: f64,
    host: String,
    client: String,
    method: String,
    target: String,
    protocol: String,
    status: u16,
    reason: String,
    bytes: u64,
    seconds: f64,
    user_agent: String,
    request_id: String,
    backend: String,
    upstream: String,
    upstream_status: String,
    upstream_seconds: String,
}

/// What happened first, then where it went.
fn line(line: &Line, palette: Palette) -> String {
    let at = Timestamp::from_millisecond((line.at * 1000.0) as i64).unwrap_or_default().to_zoned(TimeZone::system());
    let tone = match line.status {
        500.. => Tone::Bad,
        400.. => Tone::Warning,
        300.. => Tone::Quiet,
        _ => Tone::Good,
    };
    let mut endpoint = match (&*line.upstream, &*line.upstream_status, &*line.upstream_seconds) {
        ("", ..) if line.backend.is_empty() => "answered by NGINX".to_owned(),
        ("", ..) => format!("{}: no endpoint was asked", line.backend),
        (address, status, seconds) if status == line.status.to_string() => format!("{} {address} {seconds}s", line.backend),
        (address, status, seconds) => format!("{} {address} {status} {seconds}s", line.backend),
    };
    if !line.reason.is_empty() {
        endpoint = format!("{endpoint}: {}", line.reason);
    }
    let request = format!("{} {}{} {}", line.method, line.host, line.target, line.protocol);
    let rest = [endpoint, line.client.clone(), line.request_id.clone(), format!("{:?}", line.user_agent)];
    format!(
        "{}  {}  {:>6}  {:>8}  {}  {}",
        palette.paint(&at.strftime("%T%.3f").to_string(), Tone::Quiet),
        palette.paint(&line.status.to_string(), tone),
        duration(line.seconds),
        line.bytes,
        printable(&request),
        palette.paint(&printable(&rest.join("  ")), Tone::Quiet),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let shown = line(&serde_json::from_str(text).unwrap(), Palette::PLAIN);
        assert!(shown.ends_with(expected), "{shown}");
    }

    #[test]
    fn a_line_says_what_happened_and_where_it_went() {
        let head = r#""at":1.5,"host":"a.example","client":"192.0.2.7","method":"GET","target":"/x?\u001b","protocol":"HTTP/1.1","bytes":12,"seconds":0.004,"request_id":"ab","user_agent":"c\"url""#;
        check(
            &format!(
                r#"{{{head},"status":200,"backend":"n/s:80","upstream":"10.0.0.1:80","upstream_status":"200","upstream_seconds":"0.003"}}"#
            ),
            ".500  200   4.0ms        12  GET a.example/x?\\u{1b} HTTP/1.1  n/s:80 10.0.0.1:80 0.003s  192.0.2.7  ab  \"c\\\"url\"",
        );
        check(
            &format!(r#"{{{head},"status":503,"reason":"no-endpoints","backend":"n/s:80"}}"#),
            "HTTP/1.1  n/s:80: no endpoint was asked: no-endpoints  192.0.2.7  ab  \"c\\\"url\"",
        );
        check(&format!(r#"{{{head},"status":404,"reason":"no-path"}}"#), "answered by NGINX: no-path  192.0.2.7  ab  \"c\\\"url\"");
        check(&format!(r#"{{{head},"status":308}}"#), "answered by NGINX  192.0.2.7  ab  \"c\\\"url\"");
        check(
            &format!(r#"{{{head},"status":499,"backend":"n/s:80","upstream":"10.0.0.1:80","upstream_status":"-","upstream_seconds":"-"}}"#),
            "n/s:80 10.0.0.1:80 - -s  192.0.2.7  ab  \"c\\\"url\"",
        );
    }
}
