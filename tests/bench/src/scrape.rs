//! The time of a scrape with many hosts: with requests to some of them, and to all.

use std::time::{Duration, Instant};

use anyhow::ensure;

use crate::controller::Controller;
use crate::measure::{Prober, percentile};
use crate::report::{BenchReport, ms, progress};
use crate::world;

/// Hosts that have requests, as most of many do not within the life of a Pod.
const BUSY: usize = 100;
const SCRAPES: usize = 30;

/// Measures a controller of `count` hosts of a [`world`].
///
/// # Errors
/// A host or `/metrics` does not answer.
pub async fn measure(controller: &Controller, count: usize, report: &mut BenchReport) -> anyhow::Result<()> {
    progress(&format!("requests to {BUSY} of {count} hosts"));
    let mut prober = Prober::new(controller.http());
    for number in 0..BUSY.min(count) {
        prober.until(&world::host(number), |response| response.status == 200).await?;
    }
    let limit = Duration::from_millis(60);
    let (p50, max, bytes) = scrapes(controller).await?;
    let figure = format!("p50 {}, max {}, {:.1} MB", ms(p50), ms(max), bytes as f64 / 1e6);
    report.add(format!("scrape, {count} hosts, {BUSY} of them with requests"), figure, "≤ 60 ms", max <= limit, "");
    progress(&format!("requests to all {count}"));
    for number in BUSY..count {
        prober.until(&world::host(number), |response| response.status == 200).await?;
    }
    let (p50, max, bytes) = scrapes(controller).await?;
    let figure = format!("p50 {}, max {}, {:.1} MB", ms(p50), ms(max), bytes as f64 / 1e6);
    report.add(format!("the same, {count} of them with requests"), figure, "", true, "");
    Ok(())
}

/// The median and the longest time of scrapes, and the size of an answer.
async fn scrapes(controller: &Controller) -> anyhow::Result<(Duration, Duration, usize)> {
    let (mut samples, mut bytes) = (Vec::new(), 0);
    for _ in 0..SCRAPES {
        let began = Instant::now();
        let text = controller.metrics().await?;
        samples.push(began.elapsed());
        ensure!(text.ends_with('\n'), "{text}");
        bytes = text.len();
    }
    Ok((percentile(&mut samples, 50.0), percentile(&mut samples, 100.0), bytes))
}
