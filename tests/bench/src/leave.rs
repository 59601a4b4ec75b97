//! Failures of clients when one NGINX of two ends: by `narthex quit` as a preStop hook, and by the hooks that people write.
//!
//! As in a cluster, the hook runs and the load balancer hears of it at the same time; a process that is still there when the hook ends gets SIGTERM.

use std::process::Command;
use std::time::{Duration, Instant};

use testkit::echo::{self, Identity};
use testkit::load::Load;

use crate::follow::script;
use crate::report::BenchReport;
use crate::site::Site;

/// Time for which the load balancer goes on sending.
const PROPAGATION: Duration = Duration::from_secs(2);
/// Time of an answer of the backend.
const SLOW_MS: u32 = 1500;

const QUIT: &str = include_str!("recipes/quit.sh");
const QUIT_WAIT: &str = include_str!("recipes/quit-wait.sh");

/// Adds a row for each way.
///
/// # Errors
/// There is no NGINX, or one does not end.
pub async fn measure(report: &mut BenchReport, narthex: &str) -> anyhow::Result<()> {
    let ways: [(&str, Option<Command>); 5] = [
        ("**`narthex quit --delay 3s --wait`**", None),
        ("no hook", Some(script("true", "0"))),
        ("`nginx -s quit`, waited for", Some(script(QUIT_WAIT, "0"))),
        ("`sleep 3; nginx -s quit`", Some(script(QUIT, "3"))),
        ("`sleep 3; nginx -s quit`, waited for", Some(script(QUIT_WAIT, "3"))),
    ];
    for (name, hook) in ways {
        let (took, lost) = leave(hook, narthex).await?;
        report.compare("one NGINX of two ends, answers take up to 1.5 s", name, format!("gone after {:.1} s", took.as_secs_f64()), lost);
    }
    Ok(())
}

async fn leave(hook: Option<Command>, narthex: &str) -> anyhow::Result<(Duration, (usize, usize))> {
    let backend = echo::start(([127, 0, 0, 1], 0).into(), Identity::named("slow")).await?;
    let slow = format!("location /slow {{ proxy_pass http://{}; }}", backend.address());
    let (mut leaving, mut staying) = (Site::new("conf.d", &slow)?, Site::new("conf.d", &slow)?);
    leaving.start_nginx().await?;
    staying.start_nginx().await?;
    let mut hook = hook.unwrap_or_else(|| {
        let mut quit = Command::new(narthex);
        quit.args(["quit", "--delay", "3s", "--wait", "--timeout", "20s", "--pid-file"]).arg(leaving.path("nginx.pid"));
        quit
    });
    let load = leaving.load();
    let path = format!("/slow?delay_ms={SLOW_MS}");
    let long = Load { connections: 64, ..Load::new(leaving.request(&path, false), 20) }.start();
    load.begin(1000).await;

    let begun = Instant::now();
    leaving.spawn(&mut hook)?;
    let turn = async {
        tokio::time::sleep(PROPAGATION).await;
        load.turn_to(&staying);
        long.turn_to(staying.request(&path, false));
        anyhow::Ok(())
    };
    let end = async {
        leaving.finished().await?;
        leaving.signal("TERM")?;
        leaving.gone().await?;
        anyhow::Ok(begun.elapsed())
    };
    let ((), took) = tokio::try_join!(turn, end)?;
    load.begin(500).await;
    let long = long.stop().await;
    let (failed, all) = load.stop().await;
    Ok((took, (failed + long.failures.len(), all + long.requests())))
}
