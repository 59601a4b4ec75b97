//! Leader election over a Lease, around [`crate::claim`].
//!
//! Times follow the predecessor: the lease lasts the TTL, is renewed every quarter of it, and leadership is given up when it could not be renewed for half of it.
//! On [`ElectionHandle::stop`] the lease is released, so that another replica need not wait for it to run out.

use std::pin::pin;
use std::time::Duration;

use kube::Client;
use model::ObjectKey;
use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, timeout};

use crate::Tasks;
use crate::chain::chain;
use crate::claim::{Claim, Claimed};

const TASK: &str = "leader election";
/// Longest wait for an answer at the end.
const LAST_WRITE: Duration = Duration::from_secs(3);

/// The lease, and our identity.
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
    /// `true` if we lead.
    pub leader: watch::Receiver<bool>,
    /// Why the lease can't be read or written, as long as that is so.
    pub trouble: watch::Receiver<Option<String>>,
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
        let (trouble, troubles) = watch::channel(None);
        let (stop, stopped) = oneshot::channel();
        let candidate = Candidate { claim: Claim::new(client, options), leader, trouble, renewed: None };
        tasks.spawn(candidate.run(stopped));
        ElectionHandle { leader: receiver, trouble: troubles, stop }
    }
}

struct Candidate {
    claim: Claim,
    leader: watch::Sender<bool>,
    /// Why the last attempt failed.
    trouble: watch::Sender<Option<String>>,
    /// The last success while leading.
    renewed: Option<Instant>,
}

impl Candidate {
    async fn run(mut self, mut stopped: oneshot::Receiver<oneshot::Sender<()>>) -> &'static str {
        let pause = self.claim.options.ttl / 4;
        loop {
            let attempt = async {
                match timeout(pause, self.attempt()).await {
                    Ok(Ok(wait)) => {
                        self.works();
                        wait.min(pause)
                    }
                    Ok(Err(error)) => {
                        self.failed(&chain(&error));
                        pause.min(Duration::from_secs(2))
                    }
                    Err(_) => {
                        self.failed(&format!("the API server did not answer within {} s", pause.as_secs()));
                        Duration::ZERO
                    }
                }
            };
            let wait = {
                let mut attempt = pin!(attempt);
                tokio::select! {
                    wait = &mut attempt => Ok(wait),
                    // What is on its way may have made the lease ours: without the answer it would not be released.
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
            if self.renewed.is_none_or(|renewed| renewed.elapsed() > self.claim.options.ttl / 2) {
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
        let begun = Instant::now();
        Ok(match self.claim.attempt().await? {
            Claimed::Ours => {
                self.renewed = Some(begun);
                self.lead(true);
                self.claim.options.ttl / 4
            }
            Claimed::Raced => Duration::ZERO,
            Claimed::Theirs(wait) => {
                self.renewed = None;
                wait
            }
        })
    }

    /// Said once, until it works again.
    fn failed(&mut self, error: &str) {
        self.claim.forget();
        if self.trouble.send_replace(Some(error.to_owned())).is_none() {
            tracing::warn!(lease = %self.claim.options.lease, error, "the lease can't be read or written; it is tried again");
        }
    }

    fn works(&mut self) {
        if self.trouble.send_replace(None).is_some() {
            tracing::info!(lease = %self.claim.options.lease, "the lease can be read and written again");
        }
    }

    fn lead(&mut self, leads: bool) {
        let changed = self.leader.send_if_modified(|leader| std::mem::replace(leader, leads) != leads);
        if changed {
            tracing::info!(lease = %self.claim.options.lease, identity = self.claim.options.identity, leads, "leadership changed");
        }
    }

    async fn stop(mut self, done: Option<oneshot::Sender<()>>) -> &'static str {
        self.lead(false);
        if let Some(done) = done {
            if !self.claim.release(None).await {
                tracing::warn!(lease = %self.claim.options.lease, "the lease could not be released; it runs out by itself");
            }
            // There is no receiver when the caller gave up.
            let _ = done.send(());
        }
        TASK
    }
}

#[cfg(test)]
mod tests;
