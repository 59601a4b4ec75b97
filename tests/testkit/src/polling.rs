//! Waiting for a state instead of sleeping.

use std::future::Future;
use std::panic::Location;
use std::time::{Duration, Instant};

/// Interval of the questions of [`poll`].
const INTERVAL: Duration = Duration::from_millis(10);

/// Asks `state` until it is `Ok`, every 10 ms, and gives up after `timeout`.
///
/// # Errors
/// Names the caller, how long and how often it asked, and the last error. A question that is still open at the deadline is cut off.
#[track_caller]
pub fn poll<T, F, Fut>(timeout: Duration, state: F) -> impl Future<Output = anyhow::Result<T>>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = anyhow::Result<T>>,
{
    poll_from(Location::caller(), timeout, INTERVAL, state)
}

/// [`poll`] with another interval.
///
/// # Errors
/// As [`poll`].
#[track_caller]
pub fn poll_every<T, F, Fut>(interval: Duration, timeout: Duration, state: F) -> impl Future<Output = anyhow::Result<T>>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = anyhow::Result<T>>,
{
    poll_from(Location::caller(), timeout, interval, state)
}

async fn poll_from<T, F, Fut>(at: &'static Location<'static>, timeout: Duration, interval: Duration, mut state: F) -> anyhow::Result<T>
where
    F: FnMut() -> Fut,
    Fut: Future<Output = anyhow::Result<T>>,
{
    let started = Instant::now();
    let mut asked = 0_u32;
    let mut last = anyhow::anyhow!("the question itself did not end");
    loop {
        asked += 1;
        match tokio::time::timeout(timeout.saturating_sub(started.elapsed()), state()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(error)) => last = error,
            Err(_) => {}
        }
        let left = timeout.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Err(last.context(format!("{at}: not reached within {timeout:?}, asked {asked} times")));
        }
        tokio::time::sleep(interval.min(left)).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn ends_with_the_first_value() {
        let mut n = 0;
        let value = poll(Duration::from_secs(5), || {
            n += 1;
            let n = n;
            async move { if n < 3 { anyhow::bail!("only {n}") } else { Ok(n) } }
        });
        assert_eq!(value.await.unwrap(), 3);
    }

    #[tokio::test]
    async fn tells_where_how_long_and_what_was_missing() {
        let error = poll(Duration::from_millis(30), || async { anyhow::bail!("still dark") as anyhow::Result<()> }).await.unwrap_err();
        let text = format!("{error:#}");
        assert!(text.contains("polling.rs:") && text.contains("within 30ms") && text.ends_with(": still dark"), "{text}");
    }

    #[tokio::test]
    async fn cuts_off_a_question_that_never_ends() {
        let error = poll(Duration::from_millis(30), std::future::pending::<anyhow::Result<()>>).await.unwrap_err();
        assert!(format!("{error:#}").contains("did not end"));
    }
}
