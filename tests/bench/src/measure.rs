//! Times from the API server's answer to the first right answer over HTTP.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anyhow::bail;
use testkit::http::{Connection, Request, Response};
use tokio::task::JoinSet;

/// Longest wait for an effect.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks one address over one connection, again and again.
pub struct Prober {
    address: SocketAddr,
    connection: Option<Connection>,
}

impl Prober {
    /// A prober of an address.
    pub fn new(address: SocketAddr) -> Self {
        Self { address, connection: None }
    }

    /// One request, on the open connection if there is one.
    ///
    /// # Errors
    /// No answer.
    pub async fn ask(&mut self, host: &str) -> anyhow::Result<Response> {
        let request = Request::get(self.address, "/").host(host);
        let mut connection = match self.connection.take().filter(Connection::is_open) {
            Some(connection) => connection,
            None => Connection::open(&request).await?,
        };
        let response = connection.send(&request).await?;
        self.connection = Some(connection);
        Ok(response)
    }

    /// Time until the answer satisfies a condition.
    ///
    /// # Errors
    /// When it does not within a minute.
    pub async fn until(&mut self, host: &str, good: impl Fn(&Response) -> bool) -> anyhow::Result<Duration> {
        let began = Instant::now();
        loop {
            // A reset connection is no answer; the next one may be.
            if let Ok(response) = self.ask(host).await
                && good(&response)
            {
                return Ok(began.elapsed());
            }
            if began.elapsed() > PATIENCE {
                bail!("no right answer for {host} within {PATIENCE:?}");
            }
            // Probing leaves the processors to what is probed.
            tokio::time::sleep(Duration::from_micros(500)).await;
        }
    }
}

/// Time until every host was answered 200 at least once: the first to come over one connection, the others over `connections`.
///
/// # Errors
/// One is not within a minute.
pub async fn all_answer(address: SocketAddr, hosts: impl ExactSizeIterator<Item = String>, connections: usize) -> anyhow::Result<Cold> {
    let began = Instant::now();
    let mut hosts: Vec<String> = hosts.collect();
    // Only one client asks while there is no answer: requests take processors away from what is being measured.
    if let Some(host) = hosts.pop() {
        Prober::new(address).until(&host, |response| response.status == 200).await?;
    }
    let first = began.elapsed();
    let mut tasks = JoinSet::new();
    for part in hosts.chunks(hosts.len().div_ceil(connections).max(1)) {
        let part = part.to_vec();
        tasks.spawn(async move {
            let mut prober = Prober::new(address);
            for host in part {
                prober.until(&host, |response| response.status == 200).await?;
            }
            anyhow::Ok(())
        });
    }
    while let Some(done) = tasks.join_next().await {
        done??;
    }
    Ok(Cold { first, all: began.elapsed() })
}

/// Time of a start.
#[derive(Debug, Clone, Copy)]
pub struct Cold {
    /// Until the first host was answered.
    pub first: Duration,
    /// Until all were.
    pub all: Duration,
}

/// A percentile (0 to 100) of samples; sorts them.
pub fn percentile(samples: &mut [Duration], p: f64) -> Duration {
    samples.sort();
    let index = ((samples.len() as f64 - 1.0) * p / 100.0).round() as usize;
    samples.get(index).copied().unwrap_or_default()
}
