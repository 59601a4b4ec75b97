//! Asks both controllers and judges what they say.

use std::collections::BTreeSet;
use std::time::Duration;

use futures::{StreamExt, stream};
use tokio::sync::Mutex;
use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::address::Address;
use crate::answer::{Failure, RequestOutcome};
use crate::client::{Client, NoTls, Settings};
use crate::ignore::Ignore;
use crate::judge::{RequestVerdict, judge};
use crate::known::Context;
use crate::report::CompareReport;
use crate::request::{Request, Scheme};

/// Options of a comparison.
#[derive(Debug, Clone)]
pub struct Options {
    /// The controller that serves now.
    pub old: Address,
    /// The one that shall.
    pub new: Address,
    /// Settings for the requests to each.
    pub settings: Settings,
    /// Requests at a time, to each.
    pub concurrency: usize,
    /// Requests a second at most, to each; no bound if absent.
    pub rate: Option<f64>,
    /// Number of times that a difference is asked for again before it counts.
    pub confirmations: u32,
    /// Differences that don't count.
    pub ignores: Vec<Ignore>,
}

impl Options {
    /// The schemes that both have a port for.
    pub fn schemes(&self) -> Vec<Scheme> {
        Scheme::ALL.into_iter().filter(|scheme| self.old.port(*scheme).is_some() && self.new.port(*scheme).is_some()).collect()
    }
}

/// A controller is not where it was said to be.
#[derive(Debug, thiserror::Error)]
#[error("{flag} {address} can't be reached over {}: {failure}", scheme.label())]
pub struct Unreached {
    /// `--old` or `--new`.
    pub flag: &'static str,
    /// Its value.
    pub address: Address,
    /// The scheme: with TLS or without.
    pub scheme: Scheme,
    /// The failure.
    pub failure: Failure,
}

/// The result of the rounds of a request.
struct Judged {
    verdict: RequestVerdict,
    first: (RequestOutcome, RequestOutcome),
}

/// A comparison in the making.
pub struct Comparison {
    options: Options,
    old: Client,
    new: Client,
    pace: Option<Mutex<Interval>>,
}

impl std::fmt::Debug for Comparison {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Comparison").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Comparison {
    /// Two clients, no request yet. Needs a runtime.
    ///
    /// # Errors
    /// [`NoTls`].
    pub fn new(options: Options) -> Result<Self, NoTls> {
        let client = |address: &Address| Client::new(address.clone(), options.settings.clone());
        let pace = options.rate.filter(|rate| *rate > 0.0).map(|rate| {
            let mut interval = interval(Duration::from_secs_f64(1.0 / rate));
            // Time that went by unused is not made up for by a burst.
            interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
            Mutex::new(interval)
        });
        Ok(Self { old: client(&options.old)?, new: client(&options.new)?, pace, options })
    }

    /// Connects to both over each scheme that they have in common, and sends nothing. Handshakes are for the host of the first request.
    ///
    /// # Errors
    /// Every one that can't be reached.
    pub async fn reach(&self, requests: &[Request]) -> Result<(), Vec<Unreached>> {
        let mut unreached = Vec::new();
        for scheme in self.options.schemes() {
            let Some(request) = requests.iter().find(|request| request.scheme == scheme) else { continue };
            let sides = [("--old", &self.old, &self.options.old), ("--new", &self.new, &self.options.new)];
            for (flag, client, address) in sides {
                if let Err(failure) = client.reach(scheme, &request.host).await {
                    unreached.push(Unreached { flag, address: address.clone(), scheme, failure });
                }
            }
        }
        if unreached.is_empty() { Ok(()) } else { Err(unreached) }
    }

    /// Sends every request to both. `progress` is called with the number of requests that are done.
    pub async fn run(&self, requests: Vec<Request>, context: &Context, progress: impl Fn(usize)) -> CompareReport {
        let hosts: BTreeSet<&str> = requests.iter().map(|request| request.host.as_str()).collect();
        let mut report = CompareReport { hosts: hosts.len(), ..CompareReport::default() };
        let mut judged = stream::iter(&requests)
            .map(|request| async move { (request, self.judge(request).await) })
            .buffered(self.options.concurrency.max(1));
        let mut done = 0;
        while let Some((request, Judged { verdict, first })) = judged.next().await {
            report.add(request, &verdict, &first, context, &self.options.ignores);
            done += 1;
            progress(done);
        }
        drop(judged);
        report.sort();
        report
    }

    async fn judge(&self, request: &Request) -> Judged {
        let first = self.round(request).await;
        let mut rounds = vec![first.clone()];
        let mut verdict = judge(&rounds);
        for _ in 0..self.options.confirmations {
            if verdict.confirmed.is_empty() {
                break;
            }
            rounds.push(self.round(request).await);
            verdict = judge(&rounds);
        }
        Judged { verdict, first }
    }

    /// One turn: both at the same time.
    async fn round(&self, request: &Request) -> (RequestOutcome, RequestOutcome) {
        self.turn().await;
        tokio::join!(self.old.ask(request), self.new.ask(request))
    }

    /// Asks only the old controller.
    pub(crate) async fn ask_old(&self, request: &Request) -> RequestOutcome {
        self.turn().await;
        self.old.ask(request).await
    }

    /// Asks only the new controller.
    pub(crate) async fn ask_new(&self, request: &Request) -> RequestOutcome {
        self.turn().await;
        self.new.ask(request).await
    }

    /// The options of the comparison.
    pub fn options(&self) -> &Options {
        &self.options
    }

    async fn turn(&self) {
        if let Some(pace) = &self.pace {
            pace.lock().await.tick().await;
        }
    }
}
