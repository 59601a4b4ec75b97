//! Our claim to a Lease: reads it, decides by [`crate::lease`], writes it.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};
use kube::api::PostParams;
use kube::{Api, Client};
use tokio::time::{Instant, timeout};

use crate::PRODUCT;
use crate::election::ElectionOptions;
use crate::lease::{Observed, Step};

/// Longest wait for the release.
const RELEASE: Duration = Duration::from_secs(3);
/// Time when the work that the lease guards was last done.
const NOTE: &str = "narthex.dev/done";

/// The result of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// The claim is ours now, for as long as it lasts.
    Ours,
    /// Another replica was faster: look again.
    Raced,
    /// Another replica holds it, for this long unless it renews.
    Theirs(Duration),
}

/// One candidate's view of a lease.
pub(crate) struct Claim {
    api: Api<Lease>,
    pub(crate) options: ElectionOptions,
    observed: Observed,
    /// The lease as the server last gave it, for its resourceVersion; `None` when it must be read again, or does not exist.
    held: Option<Lease>,
    /// The note of the lease as it was last seen.
    note: Option<String>,
}

impl Claim {
    pub(crate) fn new(client: Client, options: ElectionOptions) -> Self {
        let ttl = if options.ttl.is_zero() { Duration::from_secs(30) } else { options.ttl };
        let api = Api::namespaced(client, &options.lease.namespace);
        Self { api, options: ElectionOptions { ttl, ..options }, observed: Observed::default(), held: None, note: None }
    }

    /// Takes or renews it, if that is possible.
    pub(crate) async fn attempt(&mut self) -> Result<Claimed, kube::Error> {
        if self.held.is_none() {
            self.read().await?;
        }
        match self.observed.decide(&self.options.identity, self.options.ttl, Instant::now(), MicroTime(Timestamp::now())) {
            Step::Write(spec) => {
                if self.write(spec).await? {
                    return Ok(Claimed::Ours);
                }
                self.held = None;
                Ok(Claimed::Raced)
            }
            Step::Wait(wait) => {
                // Read again next time: its holder renews it.
                self.held = None;
                Ok(Claimed::Theirs(wait))
            }
        }
    }

    async fn read(&mut self) -> Result<(), kube::Error> {
        self.held = self.api.get_opt(&self.options.lease.name).await?;
        self.observed.observe(self.held.as_ref().map(|lease| lease.spec.clone().unwrap_or_default()), Instant::now());
        self.note = self.held.as_ref().and_then(|lease| lease.metadata.annotations.as_ref()?.get(NOTE).cloned());
        Ok(())
    }

    /// The content of the server is unknown now: it is read again.
    pub(crate) fn forget(&mut self) {
        self.held = None;
    }

    /// The note of the lease, as it was last seen.
    pub(crate) fn note(&self) -> Option<&String> {
        self.note.as_ref()
    }

    /// Gives it away, with another note if there is one. `false`: it runs out by itself.
    pub(crate) async fn release(&mut self, note: Option<String>) -> bool {
        matches!(timeout(RELEASE, self.give_away(note)).await, Ok(Ok(true)))
    }

    async fn give_away(&mut self, note: Option<String>) -> Result<bool, kube::Error> {
        // A second time when a renewal of our own has arrived whose answer we did not wait for.
        for _ in 0..2 {
            if self.spec_without_us().is_some() && self.held.is_none() {
                self.read().await?;
            }
            let (Some(spec), Some(held)) = (self.spec_without_us(), &mut self.held) else { return Ok(true) };
            if let Some(note) = &note {
                held.metadata.annotations.get_or_insert_default().insert(NOTE.to_owned(), note.clone());
                self.note = Some(note.clone());
            }
            if self.write(spec).await? {
                return Ok(true);
            }
            self.held = None;
        }
        Ok(false)
    }

    /// `None` when it is not ours, as far as is known.
    fn spec_without_us(&self) -> Option<LeaseSpec> {
        self.observed.release(&self.options.identity, MicroTime(Timestamp::now()))
    }

    /// Writes the lease. `false` when another replica was faster.
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
}
