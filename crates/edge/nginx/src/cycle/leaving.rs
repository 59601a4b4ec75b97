//! Workers whose master is dead: they serve until another one does, then finish what they have begun.

use super::Cycle;
use crate::orphans;
use crate::process::Process;
use crate::procfs::Worker;

impl<P: Process> Cycle<P> {
    /// Ends the orphans beside a master that serves: a controller that was killed between its start and their end left them, with the state of before.
    pub(super) async fn retire_orphans(&mut self) {
        let orphans = self.orphans().await;
        if !orphans.is_empty() {
            orphans::retire(&self.process, &orphans).await;
            self.finish(&orphans).await;
        }
    }

    /// Orphans that were signalled to finish are looked at now and then; masters without any are forgotten.
    pub(super) async fn finish(&mut self, orphans: &[Worker]) {
        self.leaving.extend(orphans.iter().map(|worker| worker.id));
        let mut past = Vec::new();
        for master in std::mem::take(&mut self.past) {
            if !self.process.orphans(master).await.is_empty() {
                past.push(master);
            }
        }
        self.past = past;
    }

    pub(super) async fn orphans(&self) -> Vec<Worker> {
        let mut orphans = Vec::new();
        for master in &self.past {
            orphans.extend(self.process.orphans(*master).await);
        }
        orphans
    }
}
