//! A constant rate over a time, every failure kept.
//!
//! Open loop: request `i` is due at `start + i / rate` whether or not earlier ones were answered, and its latency counts from then, so a
//! stall shows in the figures instead of pausing the load.

use std::collections::BTreeMap;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use parking_lot::RwLock;
use tokio::task::JoinSet;

use crate::http::{Connection, Request, Unanswered};
use crate::service::Targets;

/// A load: the requests, their rate, the number of keep-alive connections.
#[derive(Debug, Clone)]
pub struct Load {
    /// Sent again and again.
    pub request: Request,
    /// Requests a second, at least 1.
    pub rate: u32,
    /// Connections, at least 1: the most requests that are open at once.
    pub connections: usize,
    /// The only status that is no failure.
    pub expected_status: u16,
    /// The addresses of new connections, one after the other, in place of the request's own.
    pub targets: Option<Arc<Targets>>,
}

impl Load {
    /// `rate` requests a second over 16 connections, each to be answered 200.
    pub fn new(request: Request, rate: u32) -> Self {
        Self { request, rate, connections: 16, expected_status: 200, targets: None }
    }

    /// Over connections to the endpoints of a Service.
    #[must_use]
    pub fn to(self, targets: Arc<Targets>) -> Self {
        Self { targets: Some(targets), ..self }
    }

    /// Starts to send, until [`Running::stop`].
    pub fn start(self) -> Running {
        let shared = Arc::new(Shared {
            request: RwLock::new(Arc::new(self.request.clone())),
            load: self,
            started: Instant::now(),
            next: AtomicU64::new(0),
            stop: AtomicBool::new(false),
        });
        let mut workers = JoinSet::new();
        for _ in 0..shared.load.connections.max(1) {
            workers.spawn(worker(Arc::clone(&shared)));
        }
        Running { shared, workers }
    }

    /// Sends for this long.
    pub async fn run(self, duration: Duration) -> LoadReport {
        let running = self.start();
        tokio::time::sleep(duration).await;
        running.stop().await
    }
}

/// A load that is being sent. Dropping it ends it without a report.
#[derive(Debug)]
pub struct Running {
    shared: Arc<Shared>,
    workers: JoinSet<LoadReport>,
}

impl Running {
    /// Number of requests that were begun so far: a test can wait for some before it acts.
    pub fn begun(&self) -> u64 {
        self.shared.next.load(Ordering::Relaxed)
    }

    /// Waits until `count` more requests were begun.
    pub async fn begin(&self, count: u64) {
        let goal = self.begun() + count;
        while self.begun() < goal {
            let due = Duration::from_secs_f64(goal as f64 / f64::from(self.shared.load.rate.max(1)));
            let late = Instant::now() + Duration::from_millis(1);
            tokio::time::sleep_until(late.max(self.shared.started + due).into()).await;
        }
    }

    /// Sends this from now on. Kept connections stay where they lead to until they are closed, as behind a load balancer that has another target.
    ///
    /// # Panics
    /// A worker panicked, which is a fault of this module.
    pub fn turn_to(&self, request: Request) {
        *self.shared.request.write() = Arc::new(request);
    }

    /// Begins no more requests, waits for the open ones, and reports.
    ///
    /// # Panics
    /// A worker panicked, which is a fault of this module.
    pub async fn stop(mut self) -> LoadReport {
        self.shared.stop.store(true, Ordering::Relaxed);
        let mut report = LoadReport::default();
        while let Some(part) = self.workers.join_next().await {
            report.merge(part.expect("a load worker doesn't panic"));
        }
        report.duration = self.shared.started.elapsed();
        report.latencies.sort_unstable();
        report.failures.sort_by_key(|failure| failure.at);
        report
    }
}

/// The report of a load.
#[derive(Debug, Clone, Default)]
pub struct LoadReport {
    /// Time from the start to the last answer.
    pub duration: Duration,
    /// Requests answered as expected, each with its latency from when it was due; sorted.
    pub latencies: Vec<Duration>,
    /// Everything else, in the order of time.
    pub failures: Vec<Failure>,
    /// Requests sent again because a kept connection was closed while they were on their way, as any HTTP client does (RFC 9112, 9.3.1).
    pub resent: u64,
}

/// One request that was not answered as expected.
#[derive(Debug, Clone)]
pub struct Failure {
    /// The time when it was due, from the start of the load.
    pub at: Duration,
    /// The error, or the status.
    pub error: String,
    /// The address that the request was sent to, if it was one of several.
    pub target: Option<IpAddr>,
}

impl LoadReport {
    /// Requests in all.
    pub fn requests(&self) -> usize {
        self.latencies.len() + self.failures.len()
    }

    /// Requests a second that were really sent: fewer than the rate when the machine can't keep up.
    #[expect(clippy::cast_precision_loss, reason = "a count for people")]
    pub fn rate(&self) -> f64 {
        self.requests() as f64 / self.duration.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// The latency which `p` percent (0–100) of the answered requests stay within; zero when there are none.
    #[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rank within a list")]
    pub fn percentile(&self, p: f64) -> Duration {
        let rank = (p / 100.0 * self.latencies.len() as f64).ceil() as usize;
        self.latencies.get(rank.max(1).min(self.latencies.len()).wrapping_sub(1)).copied().unwrap_or_default()
    }

    fn merge(&mut self, part: Self) {
        self.latencies.extend(part.latencies);
        self.failures.extend(part.failures);
        self.resent += part.resent;
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { duration, failures, resent, .. } = self;
        let (p50, p99, max) = (self.percentile(50.0), self.percentile(99.0), self.percentile(100.0));
        let (n, failed) = (self.requests(), failures.len());
        write!(
            f,
            "{n} requests in {duration:.1?} ({:.0}/s), {failed} failed, {resent} resent, p50 {p50:.1?}, p99 {p99:.1?}, max {max:.1?}",
            self.rate()
        )?;
        let mut kinds = BTreeMap::<&str, (usize, Duration, Duration)>::new();
        for failure in failures {
            let kind = kinds.entry(&failure.error).or_insert((0, failure.at, failure.at));
            (kind.0, kind.2) = (kind.0 + 1, failure.at);
        }
        for (error, (count, first, last)) in kinds {
            write!(f, "\n  {count} × {error} (from {first:.3?} to {last:.3?})")?;
        }
        Ok(())
    }
}

#[derive(Debug)]
struct Shared {
    /// The request that is sent now.
    request: RwLock<Arc<Request>>,
    load: Load,
    started: Instant,
    next: AtomicU64,
    stop: AtomicBool,
}

async fn worker(shared: Arc<Shared>) -> LoadReport {
    let load = &shared.load;
    let mut report = LoadReport::default();
    let mut way = Way::default();
    while !shared.stop.load(Ordering::Relaxed) {
        let i = shared.next.fetch_add(1, Ordering::Relaxed);
        let at = Duration::from_secs_f64(i as f64 / f64::from(load.rate.max(1)));
        tokio::time::sleep_until((shared.started + at).into()).await;
        if shared.stop.load(Ordering::Relaxed) {
            break;
        }
        let request = Arc::clone(&shared.request.read());
        let exchange = way.exchange(load.targets.as_deref(), &request, &mut report.resent);
        let error = match tokio::time::timeout(request.timeout, exchange).await {
            Ok(Ok(status)) if status == load.expected_status => {
                report.latencies.push(shared.started.elapsed().saturating_sub(at));
                continue;
            }
            Ok(Ok(status)) => format!("status {status}"),
            Ok(Err(error)) => {
                way.connection = None;
                format!("{error:#}")
            }
            Err(_) => {
                way.connection = None;
                format!("no whole answer within {:?}", request.timeout)
            }
        };
        report.failures.push(Failure { at, error, target: way.target });
    }
    report
}

/// A worker's connection and where it leads to.
#[derive(Default)]
struct Way {
    connection: Option<Connection>,
    target: Option<IpAddr>,
}

impl Way {
    async fn exchange(&mut self, targets: Option<&Targets>, request: &Request, resent: &mut u64) -> anyhow::Result<u16> {
        if let Some(kept) = self.connection.as_mut().and_then(|kept| kept.is_idle().then_some(kept)) {
            match kept.send(request).await {
                Ok(response) => return Ok(response.status),
                // Not by the causes: a context is none of them.
                Err(error) if error.is::<Unanswered>() => *resent += 1,
                Err(error) => return Err(error),
            }
        }
        let fresh = match targets {
            Some(targets) => {
                self.target = targets.pick();
                let target = self.target.context("the Service has no endpoint")?;
                Connection::open(&request.clone().at(target)).await?
            }
            None => Connection::open(request).await?,
        };
        Ok(self.connection.insert(fresh).send(request).await?.status)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;
    use crate::echo::{self, Identity};

    #[tokio::test]
    async fn keeps_the_rate_and_counts_every_failure() {
        let server = echo::start(([127, 0, 0, 1], 0).into(), Identity::named("a")).await.unwrap();
        let good = Load { connections: 4, ..Load::new(Request::get(server.address(), "/").host("a"), 500) };
        let report = good.run(Duration::from_millis(300)).await;
        let due = report.duration.as_secs_f64() * 500.0;
        assert!((1.0..=due + 1.0).contains(&(report.requests() as f64)), "{report}");
        assert!(report.failures.is_empty() && report.percentile(50.0) > Duration::ZERO, "{report}");

        let bad = Load { connections: 1, ..Load::new(Request::get(server.address(), "/?status=502").host("a"), 100) };
        let report = bad.run(Duration::from_millis(100)).await;
        assert_eq!(report.failures.len(), report.requests(), "{report}");
        assert!(report.to_string().contains("× status 502 (from 0.0"), "{report}");
    }

    #[tokio::test]
    async fn a_refused_connection_is_a_failure() {
        let port = crate::ports::Ports::one().unwrap();
        let load = Load::new(Request::get(std::net::SocketAddr::from(([127, 0, 0, 1], port)), "/"), 100);
        let report = load.run(Duration::from_millis(50)).await;
        assert!(report.failures.iter().all(|f| f.error.contains("refused")) && report.latencies.is_empty(), "{report}");
    }

    #[tokio::test]
    async fn a_request_on_a_kept_connection_that_is_reset_is_sent_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = [0; 4096];
                assert!(stream.read(&mut head).await.unwrap() > 0);
                stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
                // Closed with the next request unread, a connection is reset.
                stream.readable().await.unwrap();
            }
        });
        let load = Load { connections: 1, ..Load::new(Request::get(address, "/").host("a"), 500) }.start();
        load.begin(5).await;
        let report = load.stop().await;
        server.abort();
        assert!(report.failures.is_empty() && report.resent > 0, "{report}");
    }

    #[test]
    fn percentiles_are_ranks() {
        let latencies = (1..=200).map(Duration::from_millis).collect();
        let report = LoadReport { latencies, ..LoadReport::default() };
        assert_eq!(report.percentile(50.0), Duration::from_millis(100));
        assert_eq!(report.percentile(99.0), Duration::from_millis(198));
        assert_eq!(report.percentile(100.0), Duration::from_millis(200));
        assert_eq!(LoadReport::default().percentile(99.0), Duration::ZERO);
    }
}
