//! A Lease as the lock around `--before`.

use std::time::Duration;

use anyhow::{Context, bail};
use cluster::{Client, ElectionOptions, LeaseError, LeaseLock, chain};
use model::ObjectKey;
use nginx_watch::{Boxed, Contender, Lock, Tried, Wanted, Work, mark};

use super::pod::{env, own_namespace};
use crate::args::ApiArgs;

/// Time for which a replica that died keeps it.
const TTL: Duration = Duration::from_secs(15);
/// Interval of looks at a Lease that another process holds.
const PAUSE: Duration = Duration::from_millis(500);

/// The lock; who wants it asks the API server.
#[derive(Clone)]
pub(crate) struct Leased {
    client: Client,
    options: ElectionOptions,
}

impl Leased {
    /// The Lease of this name in our own namespace: replicas that looked for it in different ones would all hold it. Nothing is asked yet.
    pub(crate) async fn connect(name: &str, api: &ApiArgs) -> anyhow::Result<Self> {
        let client = cluster::connect(&api.connect_options()).await.context("--lock-lease needs an API server")?;
        let Some(namespace) = own_namespace(api) else {
            bail!(
                "--lock-lease {name}: in which namespace? Expected POD_NAMESPACE, the service account of a Pod, or a kubeconfig whose current context has a namespace"
            );
        };
        let identity = env("POD_NAME").unwrap_or_else(host);
        Ok(Self { client, options: ElectionOptions { lease: ObjectKey::new(namespace, name), identity, ttl: TTL } })
    }
}

/// The name of this machine, and this process on it.
fn host() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    format!("{}-{}", host.trim(), std::process::id())
}

impl std::fmt::Debug for Leased {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leased").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Lock for Leased {
    fn contend(&self) -> Box<dyn Contender> {
        Box::new(Candidate(LeaseLock::new(self.client.clone(), self.options.clone())))
    }

    fn name(&self) -> String {
        format!("the Lease {}", self.options.lease)
    }
}

struct Candidate(LeaseLock);

impl Contender for Candidate {
    fn attempt<'a>(&'a mut self, wanted: &'a Wanted, work: Work<'a>) -> Boxed<'a, Result<Tried, String>> {
        Box::pin(async move {
            let said = |error: LeaseError| chain(&error);
            let is_ours = self.0.take().await.map_err(said)?;
            let done = self.0.note().cloned();
            if !is_ours {
                return Ok(Tried::Held(done));
            }
            if !wanted.holds(&done, jiff::Timestamp::now()) {
                self.0.release(None).await;
                return Ok(Tried::Done(done));
            }
            let result = tokio::select! {
                result = work => result,
                // Another replica may run it now: ours is ended.
                lost = self.0.keep() => Err(format!("the command of --before was ended: {}", chain(&lost))),
            };
            self.0.release(result.is_ok().then(|| mark(jiff::Timestamp::now()))).await;
            result.map(|()| Tried::Ran)
        })
    }

    fn pause(&self) -> Duration {
        PAUSE
    }
}
