//! The time until plain NGINX serves a mounted ConfigMap that has changed, and the costs of that: by `narthex watch`, and by the scripts that people write.

use std::process::Command;
use std::time::Duration;

use tokio::time::timeout;

use crate::measure::{Prober, percentile};
use crate::report::{BenchReport, ms};
use crate::site::Site;

/// Time between changes: each begins after a quiet time.
const PAUSE: Duration = Duration::from_millis(700);
/// A change that is not served after this long never is.
const NEVER: Duration = Duration::from_secs(6);
/// Time between two changes that belong together.
const TWICE: Duration = Duration::from_millis(30);
/// Time for which a broken file stands there.
const BROKEN: Duration = Duration::from_secs(2);

const INOTIFY: &str = include_str!("recipes/inotify.sh");
const POLL: &str = include_str!("recipes/poll.sh");
const HUP: &str = include_str!("recipes/hup.sh");
const RESTART: &str = include_str!("recipes/restart.sh");

/// A script of `recipes`, with what it takes for its pause.
pub(crate) fn script(text: &str, pause: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", text]).env("PAUSE", pause);
    command
}

const LOOP: &str = "`inotifywait` in a loop, `nginx -t && nginx -s reload`";
const SIDECAR: &str = "a sidecar that sends HUP for every event";

/// Adds a row for each way.
///
/// # Errors
/// There is no NGINX or no `inotifywait`.
pub async fn measure(report: &mut BenchReport, narthex: &str) -> anyhow::Result<()> {
    once(report, narthex).await?;
    twice(report, narthex).await?;
    broken(report, narthex).await
}

async fn once(report: &mut BenchReport, narthex: &str) -> anyhow::Result<()> {
    const WHAT: &str = "a mounted ConfigMap changes";
    let (site, mut watch) = watched(narthex).await?;
    let mut found = changes(site, &mut watch, 20, 1).await?;
    let (p50, max) = (percentile(&mut found.delays, 50.0), percentile(&mut found.delays, 100.0));
    let met = p50 <= Duration::from_millis(600) && found.never == 0;
    report.add("mounted ConfigMap served, `narthex watch`", format!("p50 {}, max {}", ms(p50), ms(max)), "p50 ≤ 600 ms", met, "");
    report.compare(WHAT, "**`narthex watch`**", found.served(), found.lost);
    let ways = [
        (LOOP, INOTIFY, "0", 10),
        ("the same, after `sleep 1`", INOTIFY, "1", 10),
        ("a look every 5 s", POLL, "0", 5),
        (SIDECAR, HUP, "0", 10),
        ("restart instead of reload, after `sleep 1`", RESTART, "1", 10),
    ];
    for (name, text, pause, count) in ways {
        let mut found = changes(plain().await?, &mut script(text, pause), count, 1).await?;
        report.compare(WHAT, name, found.served(), found.lost);
    }
    Ok(())
}

async fn twice(report: &mut BenchReport, narthex: &str) -> anyhow::Result<()> {
    const WHAT: &str = "it changes twice, 30 ms apart";
    let (site, mut watch) = watched(narthex).await?;
    let mut found = changes(site, &mut watch, 8, 2).await?;
    report.compare(WHAT, "**`narthex watch`**", found.served(), found.lost);
    for (name, text) in [(LOOP, INOTIFY), (SIDECAR, HUP)] {
        let mut found = changes(plain().await?, &mut script(text, "0"), 8, 2).await?;
        report.compare(WHAT, name, found.served(), found.lost);
    }
    Ok(())
}

/// An NGINX that reads the volume.
async fn plain() -> anyhow::Result<Site> {
    let mut site = Site::new("conf.d", "")?;
    site.start_nginx().await?;
    Ok(site)
}

/// An NGINX, and what follows it.
async fn watched(narthex: &str) -> anyhow::Result<(Site, Command)> {
    let site = plain().await?;
    let mut watch = Command::new(narthex);
    watch.args(["watch", "--config-dir"]).arg(site.path("conf.d")).arg("--pid-file").arg(site.path("nginx.pid"));
    Ok((site, watch))
}

/// The results of some changes.
struct Found {
    delays: Vec<Duration>,
    /// Changes that were never served.
    never: usize,
    /// NGINX's.
    reloads: usize,
    /// Requests that failed, of how many.
    lost: (usize, usize),
}

impl Found {
    fn served(&mut self) -> String {
        let all = self.delays.len() + self.never;
        let never = if self.never > 0 { format!("; {} of {all} changes never", self.never) } else { String::new() };
        if self.delays.is_empty() {
            return format!("none of {all} changes was served");
        }
        let (p50, max) = (percentile(&mut self.delays, 50.0), percentile(&mut self.delays, 100.0));
        format!("served after p50 {}, max {}{never}, {:.1} reloads each", ms(p50), ms(max), self.reloads as f64 / all as f64)
    }
}

/// Changes the followed volume of an NGINX under load, so often, and so many times in a row.
async fn changes(mut site: Site, follower: &mut Command, count: usize, times: usize) -> anyhow::Result<Found> {
    site.spawn(follower)?;
    let load = site.load();
    let (mut delays, mut never) = (Vec::new(), 0);
    for _ in 0..count {
        tokio::time::sleep(PAUSE).await;
        let (mut begun, mut text) = site.change()?;
        for _ in 1..times {
            tokio::time::sleep(TWICE).await;
            (begun, text) = site.change()?;
        }
        let mut prober = Prober::new(site.address());
        match timeout(NEVER, prober.until("x", |response| response.text() == text)).await {
            Ok(served) => {
                served?;
                delays.push(begun.elapsed());
            }
            Err(_) => never += 1,
        }
    }
    Ok(Found { delays, never, reloads: site.reloads(), lost: load.stop().await })
}

/// A broken file arrives, and NGINX's container restarts before it is repaired.
async fn broken(report: &mut BenchReport, narthex: &str) -> anyhow::Result<()> {
    const WHAT: &str = "a broken file arrives, and NGINX's container restarts";
    let mut site = Site::new("served", "")?;
    std::fs::create_dir(site.path("served"))?;
    std::fs::copy(site.path("conf.d/site.conf"), site.path("served/site.conf"))?;
    site.start_nginx().await?;
    let mut staged = Command::new(narthex);
    staged.args(["watch", "--from"]).arg(site.path("conf.d")).arg("--to").arg(site.path("served"));
    staged.arg("--pid-file").arg(site.path("nginx.pid"));
    let (served, lost) = restarts(site, &mut staged).await?;
    report.compare(WHAT, "**`narthex watch --from --to`**", served, lost);

    let (served, lost) = restarts(plain().await?, &mut script(HUP, "0")).await?;
    report.compare(WHAT, SIDECAR, served, lost);
    Ok(())
}

async fn restarts(mut site: Site, follower: &mut Command) -> anyhow::Result<(String, (usize, usize))> {
    site.spawn(follower)?;
    let load = site.load();
    load.begin(500).await;
    site.spoil()?;
    tokio::time::sleep(BROKEN).await;
    site.signal("TERM")?;
    site.gone().await?;
    let mut starts = 1;
    if site.start_nginx().await.is_err() {
        tokio::time::sleep(BROKEN).await;
        site.change()?;
        starts += 1;
        site.start_nginx().await?;
    }
    load.begin(500).await;
    let served = if starts == 1 { "it starts with the last good files" } else { "it starts when the file is repaired" };
    Ok((served.to_owned(), load.stop().await))
}
