//! A Lease as a lock: held for the time of one piece of work, by one of several replicas.
//!
//! It is renewed every quarter of its TTL while the work goes on. A holder that dies loses it when it has run out.

use std::time::Duration;

use kube::Client;
use thiserror::Error;
use tokio::time::{Instant, sleep, timeout};

use crate::claim::{Claim, Claimed};
use crate::election::ElectionOptions;

/// Attempts in a row while others are faster.
const RACES: usize = 5;

/// The reason why the lock is unavailable, or lost.
#[derive(Debug, Error)]
pub enum LeaseError {
    /// The API server says no, or nothing.
    #[error("the Lease {lease} can't be read or written")]
    Api {
        /// Namespace and name.
        lease: String,
        /// Its answer.
        #[source]
        source: kube::Error,
    },
    /// No answer in time, or another replica holds it now.
    #[error("the Lease {lease} was lost: {why}")]
    Lost {
        /// Namespace and name.
        lease: String,
        /// The reason.
        why: &'static str,
    },
}

/// One replica's end of the lock.
pub struct LeaseLock {
    claim: Claim,
}

impl LeaseLock {
    /// Nothing is asked yet.
    pub fn new(client: Client, options: ElectionOptions) -> Self {
        Self { claim: Claim::new(client, options) }
    }

    /// Takes it if no replica holds it. To be asked again of the same one: that a holder died is seen by its standing still.
    ///
    /// # Errors
    /// The API server refuses or does not answer.
    pub async fn take(&mut self) -> Result<bool, LeaseError> {
        for _ in 0..RACES {
            let attempt = timeout(self.claim.options.ttl / 2, self.claim.attempt()).await;
            match attempt {
                Ok(Ok(Claimed::Ours)) => return Ok(true),
                Ok(Ok(Claimed::Theirs(_))) => return Ok(false),
                Ok(Ok(Claimed::Raced)) => {}
                Ok(Err(source)) => {
                    self.claim.forget();
                    return Err(LeaseError::Api { lease: self.name(), source });
                }
                Err(_) => {
                    self.claim.forget();
                    return Err(self.lost("the API server does not answer"));
                }
            }
        }
        Ok(false)
    }

    /// The note with which it was last released.
    pub fn note(&self) -> Option<&String> {
        self.claim.note()
    }

    /// Renews it for as long as that is possible: returns when it is lost.
    pub async fn keep(&mut self) -> LeaseError {
        let ttl = self.claim.options.ttl;
        let mut renewed = Instant::now();
        loop {
            sleep(ttl / 4).await;
            let begun = Instant::now();
            match timeout(ttl / 4, self.claim.attempt()).await {
                Ok(Ok(Claimed::Ours)) => renewed = begun,
                Ok(Ok(Claimed::Theirs(_))) => return self.lost("another replica holds it"),
                Ok(Ok(Claimed::Raced)) => {}
                Ok(Err(_)) | Err(_) => self.claim.forget(),
            }
            if renewed.elapsed() > ttl / 2 {
                return self.lost("it could not be renewed");
            }
        }
    }

    /// Gives it away at once. A note is kept for the next holder.
    pub async fn release(&mut self, note: Option<String>) {
        if !self.claim.release(note).await {
            tracing::warn!(lease = self.name(), "the lease could not be released; it runs out by itself");
        }
    }

    /// The time that it lasts without being renewed.
    pub fn ttl(&self) -> Duration {
        self.claim.options.ttl
    }

    fn name(&self) -> String {
        self.claim.options.lease.to_string()
    }

    fn lost(&self, why: &'static str) -> LeaseError {
        LeaseError::Lost { lease: self.name(), why }
    }
}

#[cfg(test)]
mod tests {
    use model::ObjectKey;

    use super::*;
    use crate::fake::Fake;

    async fn lock(fake: &Fake, identity: &str) -> LeaseLock {
        let lease = ObjectKey::new("web", "renewal");
        LeaseLock::new(fake.client().await, ElectionOptions { lease, identity: identity.into(), ttl: Duration::from_secs(1) })
    }

    #[tokio::test]
    async fn one_holds_it_and_leaves_a_note() {
        let fake = Fake::start().await;
        let (mut first, mut second) = (lock(&fake, "first").await, lock(&fake, "second").await);
        assert!(first.take().await.unwrap());
        assert!(!second.take().await.unwrap());
        // Renewed for longer than it lasts.
        tokio::select! {
            lost = first.keep() => panic!("{lost}"),
            () = sleep(Duration::from_millis(1500)) => {}
        }
        assert!(!second.take().await.unwrap());
        first.release(Some("then".into())).await;
        assert!(second.take().await.unwrap());
        assert_eq!(second.note().map(String::as_str), Some("then"));
    }

    #[tokio::test]
    async fn a_renewal_whose_answer_is_still_on_its_way_does_not_keep_it() {
        let fake = Fake::start().await;
        let mut lock = lock(&fake, "first").await;
        assert!(lock.take().await.unwrap());
        let renewed = || fake.get("leases", "web", "renewal").unwrap()["spec"]["renewTime"].clone();
        let before = renewed();
        let renewal = async {
            while renewed() == before {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            () = renewal => {}
            lost = lock.keep() => panic!("{lost}"),
        }
        lock.release(Some("then".into())).await;
        let lease = fake.get("leases", "web", "renewal").unwrap();
        assert_eq!((&lease["spec"]["holderIdentity"], &lease["metadata"]["annotations"]["narthex.dev/done"]), (&"".into(), &"then".into()));
    }

    #[tokio::test]
    async fn one_that_died_is_followed_and_one_that_can_not_renew_knows() {
        let fake = Fake::start().await;
        let (mut first, mut second) = (lock(&fake, "first").await, lock(&fake, "second").await);
        assert!(first.take().await.unwrap());
        while !second.take().await.unwrap() {
            sleep(Duration::from_millis(20)).await;
        }
        fake.fault("leases", 500);
        assert!(second.keep().await.to_string().contains("could not be renewed"));
        assert!(first.take().await.unwrap_err().to_string().contains("can't be read or written"));
    }
}
