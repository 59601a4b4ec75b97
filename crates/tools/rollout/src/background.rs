//! Work that no decision waits for, such as notifications: it goes on beside the decisions, and is finished at the end.

use parking_lot::Mutex;
use tokio::task::JoinSet;

/// Tasks beside the work. Dropping it ends them.
#[derive(Debug, Default)]
pub(crate) struct BackgroundTasks(Mutex<JoinSet<()>>);

impl BackgroundTasks {
    /// Starts one.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut tasks = self.0.lock();
        // Those that ended are forgotten.
        while tasks.try_join_next().is_some() {}
        tasks.spawn(work);
    }

    /// Waits for all, and for those that they start.
    pub(crate) async fn finish(&self) {
        loop {
            let mut tasks = std::mem::take(&mut *self.0.lock());
            if tasks.is_empty() {
                return;
            }
            while tasks.join_next().await.is_some() {}
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    #[tokio::test]
    async fn all_are_finished_with_those_that_they_start() {
        let (background, done) = (Arc::new(BackgroundTasks::default()), Arc::new(AtomicU32::new(0)));
        for _ in 0..3 {
            let (again, done) = (background.clone(), done.clone());
            background.spawn(async move {
                tokio::task::yield_now().await;
                done.fetch_add(1, Ordering::Relaxed);
                again.spawn(async move {
                    done.fetch_add(1, Ordering::Relaxed);
                });
            });
        }
        background.finish().await;
        assert_eq!(done.load(Ordering::Relaxed), 6);
    }
}
