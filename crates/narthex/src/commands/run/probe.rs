//! A request to NGINX through its own listener, as clients come in: what no answer on the control socket shows.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use controller::Loaded;
use model::{Built, Globals};
use ops::Finding;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::{info, warn};

const PERIOD: Duration = Duration::from_secs(5);
/// After a failure.
const SOON: Duration = Duration::from_secs(1);
/// Failures in a row that count: a worker may be asked while it is replaced.
const FAILURES: u32 = 3;

/// What the last probes came to.
#[derive(Debug, Clone, Default)]
pub(super) struct Answer {
    failures: u32,
    reason: String,
}

impl Answer {
    pub(super) fn finding(&self) -> Finding {
        if self.failures < FAILURES { Finding::Sound } else { Finding::Failed(self.reason.clone()) }
    }
}

/// Probes for as long as the process lives. `patience`: `--health-check-timeout`, the longest wait for an answer.
pub(super) async fn run(
    built: watch::Receiver<Option<Arc<Built>>>,
    mut loaded: watch::Receiver<Loaded>,
    patience: Duration,
    answers: watch::Sender<Answer>,
) -> &'static str {
    if loaded.wait_for(|loaded| loaded.starts > 0).await.is_err() {
        return "probe";
    }
    let mut failures = 0;
    loop {
        let revision = loaded.borrow().revision.clone();
        let globals = built.borrow().as_ref().map(|built| built.model.fixed.globals.clone());
        let result = match &globals {
            Some(globals) => {
                timeout(patience, ask(globals, &revision)).await.unwrap_or_else(|_| Err(format!("no answer within {patience:?}")))
            }
            None => Ok(()),
        };
        match result {
            Ok(()) => {
                if failures >= FAILURES {
                    info!("nginx answers on its own listener again");
                }
                failures = 0;
                answers.send_if_modified(|answer| std::mem::take(answer).failures > 0);
            }
            Err(reason) => {
                failures += 1;
                if failures == FAILURES {
                    warn!(reason, "nginx does not answer on its own listener");
                }
                answers.send_replace(Answer { failures, reason });
            }
        }
        sleep(if failures == 0 { PERIOD } else { SOON }).await;
    }
}

/// Asks for the health of this revision.
async fn ask(globals: &Globals, revision: &str) -> Result<(), String> {
    let ip = globals.config.bind_address.first().copied().unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST));
    let address = SocketAddr::new(ip, globals.listen.http);
    let failed = |what: &'static str| move |error: std::io::Error| format!("{what} {address}: {error}");
    let mut stream = TcpStream::connect(address).await.map_err(failed("no connection to"))?;
    let proxy = if globals.config.use_proxy_protocol { "PROXY UNKNOWN\r\n" } else { "" };
    let path = &globals.health_check_path;
    // A name that no rule has: the request is answered by the server of all.
    let request = format!("{proxy}GET {path} HTTP/1.0\r\nHost: probe.invalid\r\nNarthex-Revision: {revision}\r\n\r\n");
    stream.write_all(request.as_bytes()).await.map_err(failed("no request to"))?;
    let mut head = [0; 12];
    stream.read_exact(&mut head).await.map_err(failed("no answer of"))?;
    match &head[9..] {
        b"421" => Err(format!("workers behind {address} do not run revision {revision}")),
        // A rule for all hosts may claim the path: whatever it answers, NGINX does.
        _ if head.starts_with(b"HTTP/1.") => Ok(()),
        _ => Err(format!("{address} does not answer in HTTP")),
    }
}
