//! The time until changes are served while a hostile tenant does everything that its rights allow: `tests/e2e/src/hostile.rs` says what.

use std::time::Duration;

use e2e::hostile::{Changes, Patience, Reach, Times, World};

use crate::measure::percentile;
use crate::report::{BenchReport, ms};

/// Sequences, and steps of each.
const SEQUENCES: u64 = 40;
const STEPS: usize = 30;
/// Longest wait for an effect.
const PATIENCE: Duration = Duration::from_secs(60);

/// Lets the tenant act, and measures what the others notice.
///
/// # Errors
/// Another tenant's host has a wrong answer, or a change has no effect.
pub async fn measure(report: &mut BenchReport) -> anyhow::Result<()> {
    let mut world = World::serving(&["--host-ownership=namespace"]).await?;
    let victims = std::sync::Arc::clone(&world.victims);
    let watcher = world.watched();
    let patience = Patience { endpoint: PATIENCE, ingress: PATIENCE, profile: PATIENCE };
    // In turn, as the reloads of one are spaced whatever others do.
    let mut changes = Vec::new();
    for case in &victims.cases {
        changes.push(Changes::new(case, world.controller.http(), patience).await?);
    }
    for (seed, case) in (0..SEQUENCES).zip((0..changes.len()).cycle()) {
        world.suffer(seed, STEPS, Reach::Everywhere, &watcher, &mut changes[case]).await?;
    }
    watcher.stop().await?;
    let times = changes.into_iter().fold(Times::default(), |sum, changes| sum.with(changes.times));
    for (what, mut samples, target, limit) in [
        ("endpoint change", times.endpoint, "p99 ≤ 100 ms", 100),
        ("new Ingress", times.ingress, "p99 ≤ 500 ms", 500),
        ("new Ingress, new profile,", times.profile, "p99 ≤ 3 s", 3_000),
    ] {
        let [p50, p99, max] = [50.0, 99.0, 100.0].map(|p| percentile(&mut samples, p));
        let figure = format!("p50 {}, p99 {}, max {}", ms(p50), ms(p99), ms(max));
        report.add(format!("{what} served beside a hostile tenant"), figure, target, p99 <= Duration::from_millis(limit), "");
    }
    let largest = world.memory.1;
    let [controller, master, worker] = [largest.controller, largest.master, largest.worker].map(|bytes| bytes / 1_000_000);
    report.add(
        "memory beside a hostile tenant: controller / master / worker",
        format!("{controller} / {master} / {worker} MB"),
        "",
        true,
        "",
    );
    Ok(())
}
