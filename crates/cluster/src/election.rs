//! Leader election over a Lease: the I/O around [`crate::lease`].
//!
//! Times follow the predecessor: the lease lasts the TTL, is renewed every quarter of it, and leadership is given up when it could not be renewed for half of it.
//! On [`ElectionHandle::stop`] the lease is released, so that another replica need not wait for it to run out.

use std::pin::pin;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use model::ObjectKey;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};

use crate::chain::chain;
use crate::lease::{Observed, Step};
use crate::{PRODUCT, Tasks};

const TASK: &str = "leader election";
/// Longest wait for an answer at the end.
const LAST_WRITE: Duration = Duration::from_secs(3);

/// Which lease, and who we are.
#[derive(Debug, Clone)]
pub struct ElectionOptions {
    /// The Lease: our own namespace, `--election-id`.
    pub lease: ObjectKey,
    /// Our identity: the Pod's name.
    pub identity: String,
    /// `--election-ttl`. Zero becomes 30 s.
    pub ttl: Duration,
}

/// The election; started by [`Election::spawn`].
#[derive(Debug)]
pub struct Election;

/// The other end of a running election.
#[derive(Debug)]
pub struct ElectionHandle {
    /// Whether we lead.
    pub leader: watch::Receiver<bool>,
    stop: oneshot::Sender<oneshot::Sender<()>>,
}

impl ElectionHandle {
    /// Gives up leadership, releases the lease when it is ours, and ends the task. Returns when that is done, within a few seconds.
    pub async fn stop(self) {
        let (done, finished) = oneshot::channel();
        if self.stop.send(done).is_ok() {
            // An error means that the task is gone: as good as done.
            let _ = finished.await;
        }
    }
}

impl Election {
    /// Starts to run for leader.
    pub fn spawn(client: Client, options: ElectionOptions, tasks: &mut Tasks) -> ElectionHandle {
        let (leader, receiver) = watch::channel(false);
        let (stop, stopped) = oneshot::channel();
        let ttl = if options.ttl.is_zero() { Duration::from_secs(30) } else { options.ttl };
        let candidate = Candidate {
            api: Api::namespaced(client, &options.lease.namespace),
            options: ElectionOptions { ttl, ..options },
            observed: Observed::default(),
            held: None,
            leader,
            renewed: None,
        };
        tasks.spawn(candidate.run(stopped));
        ElectionHandle { leader: receiver, stop }
    }
}

struct Candidate {
    api: Api<Lease>,
    options: ElectionOptions,
    observed: Observed,
    /// The lease as the server last gave it, for its resourceVersion; `None` when it must be read again, or does not exist.
    held: Option<Lease>,
    leader: watch::Sender<bool>,
    /// The last success while leading.
    renewed: Option<Instant>,
}

impl Candidate {
    async fn run(mut self, mut stopped: oneshot::Receiver<oneshot::Sender<()>>) -> &'static str {
        let pause = self.options.ttl / 4;
        loop {
            let attempt = async {
                match timeout(pause, self.attempt()).await {
                    Ok(Ok(wait)) => wait.min(pause),
                    Ok(Err(error)) => {
                        self.held = None;
                        tracing::warn!(lease = %self.options.lease, error = chain(&error), "the lease can't be read or written");
                        pause.min(Duration::from_secs(2))
                    }
                    Err(_) => {
                        self.held = None;
                        tracing::warn!(lease = %self.options.lease, seconds = pause.as_secs(), "the API server did not answer in time about the lease");
                        Duration::ZERO
                    }
                }
            };
            let wait = {
                let mut attempt = pin!(attempt);
                tokio::select! {
                    wait = &mut attempt => Ok(wait),
                    // What is on its way may have made the lease ours: without the answer nobody would release it.
                    done = &mut stopped => {
                        let _ = timeout(LAST_WRITE, attempt).await;
                        Err(done.ok())
                    }
                }
            };
            let wait = match wait {
                Ok(wait) => wait,
                Err(done) => return self.stop(done).await,
            };
            if self.renewed.is_none_or(|renewed| renewed.elapsed() > self.options.ttl / 2) {
                self.lead(false);
            }
            tokio::select! {
                () = tokio::time::sleep(wait) => {}
                done = &mut stopped => return self.stop(done.ok()).await,
            }
        }
    }

    /// One round. Returns how long until the next.
    async fn attempt(&mut self) -> Result<Duration, kube::Error> {
        if self.held.is_none() {
            self.held = self.api.get_opt(&self.options.lease.name).await?;
            self.observed.observe(self.held.as_ref().map(|lease| lease.spec.clone().unwrap_or_default()), Instant::now());
        }
        let begun = Instant::now();
        match self.observed.decide(&self.options.identity, self.options.ttl, begun, MicroTime(Timestamp::now())) {
            Step::Write(spec) => {
                if self.write(spec).await? {
                    self.renewed = Some(begun);
                    self.lead(true);
                    return Ok(self.options.ttl / 4);
                }
                self.held = None;
                Ok(Duration::ZERO)
            }
            Step::Wait(wait) => {
                // Read again next time: its holder renews it.
                self.held = None;
                self.renewed = None;
                Ok(wait)
            }
        }
    }

    /// Writes the lease. `false` when somebody else was faster.
    async fn write(&mut self, spec: LeaseSpec) -> Result<bool, kube::Error> {
        let params = PostParams { field_manager: Some(PRODUCT.to_owned()), ..PostParams::default() };
        let name = &self.options.lease.name;
        let written = match &self.held {
            Some(held) => self.api.replace(name, &params, &Lease { spec: Some(spec), ..held.clone() }).await,
            None => {
                let metadata = ObjectMeta { name: Some(name.to_string()), ..ObjectMeta::default() };
                self.api.create(&params, &Lease { metadata, spec: Some(spec) }).await
            }
        };
        match written {
            Ok(lease) => {
                self.observed.observe(lease.spec.clone(), Instant::now());
                self.held = Some(lease);
                Ok(true)
            }
            Err(kube::Error::Api(status)) if status.code == 409 || status.code == 404 => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn lead(&mut self, leads: bool) {
        let changed = self.leader.send_if_modified(|leader| std::mem::replace(leader, leads) != leads);
        if changed {
            tracing::info!(lease = %self.options.lease, identity = self.options.identity, leads, "leadership changed");
        }
    }

    async fn stop(mut self, done: Option<oneshot::Sender<()>>) -> &'static str {
        self.lead(false);
        if let Some(done) = done {
            if self.held.is_some()
                && let Some(spec) = self.observed.release(&self.options.identity, MicroTime(Timestamp::now()))
                && !matches!(timeout(LAST_WRITE, self.write(spec)).await, Ok(Ok(true)))
            {
                tracing::warn!(lease = %self.options.lease, "the lease could not be released; it runs out by itself");
            }
            // Nobody waits when the caller gave up.
            let _ = done.send(());
        }
        TASK
    }
}

#[cfg(test)]
mod tests;
