//! Reloads on request: by the same lane as all others, and with an answer.
//!
//! A caller gets a number. The builder passes it on once everything that was there before is built, and the fixed lane answers all numbers that it
//! had seen when a reload began. So requests at one time share a reload, together with whatever was pending anyway.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tokio::sync::watch;

use crate::port::ApplyError;

/// One attempt of the fixed lane to apply a text.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// Its number, from 1.
    pub run: u64,
    /// All requests up to this number are answered by it.
    pub(crate) answers: u64,
    /// The reasons: the labels of the metrics.
    pub reasons: Vec<&'static str>,
    /// The revision that NGINX confirmed, or why there is none.
    pub result: Result<String, ApplyError>,
    /// The revision that NGINX runs after it; empty before its first start.
    pub serving: String,
    /// The objects that were quarantined by it, with the reason; for people.
    pub quarantined: Vec<String>,
    /// Time from its beginning to its end.
    pub took: Duration,
    /// Time of its end.
    pub finished: SystemTime,
}

/// Asks for reloads. Clones are the same one.
#[derive(Debug, Clone)]
pub struct ReloadRequests {
    wanted: watch::Sender<u64>,
    attempts: watch::Receiver<Option<Arc<Attempt>>>,
}

impl ReloadRequests {
    pub(crate) fn new(attempts: watch::Receiver<Option<Arc<Attempt>>>) -> Self {
        Self { wanted: watch::Sender::new(0), attempts }
    }

    /// The numbers as they are given out, for the builder.
    pub(crate) fn numbers(&self) -> watch::Receiver<u64> {
        self.wanted.subscribe()
    }

    /// NGINX reads everything again, even if its text is the same: what the text refers to may have changed. Waits until it is confirmed or has failed.
    ///
    /// What the source published before the call is part of it. A start of NGINX that was pending is an answer, too. Waits for as long as the source is not complete.
    pub async fn reload(&self) -> Arc<Attempt> {
        let mut attempts = self.attempts.clone();
        let mut number = 0;
        self.wanted.send_modify(|wanted| {
            *wanted += 1;
            number = *wanted;
        });
        let answer = attempts.wait_for(|attempt| attempt.as_ref().is_some_and(|attempt| attempt.answers >= number)).await;
        match answer.ok().and_then(|answer| answer.clone()) {
            Some(answer) => answer,
            // The lane is gone, and the process ends with it.
            None => std::future::pending().await,
        }
    }

    /// The last attempt, whatever led to it.
    pub fn last(&self) -> Option<Arc<Attempt>> {
        self.attempts.borrow().clone()
    }
}

#[cfg(test)]
mod tests;
