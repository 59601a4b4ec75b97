//! The objects that are blamed for what NGINX refuses, and the time of the next test.

use std::sync::Arc;

use model::{Built, Fixed};
use tracing::{info, warn};

use super::search::{FAST, Faulty, Piece, Search, parts_of};
use super::{Lane, Subject, TurnOutcome};
use crate::Feedback;
use crate::port::{ApplyError, Nginx};

impl<N: Nginx> Lane<N> {
    /// Finds what NGINX refuses and has it quarantined.
    pub(super) async fn blame(&mut self, fixed: &Fixed, running: Option<&Fixed>, wanted: &Arc<Built>, error: ApplyError) -> TurnOutcome {
        let message = error.to_string();
        let running = running.filter(|_| !self.down());
        let mut search = Search { nginx: &mut self.nginx, built: wanted, running };
        match search.faulty(fixed, &self.confirmed, error).await {
            Err(error) => self.failed(&error.to_string()).await,
            Ok(faulty) => {
                if self.quarantine(wanted, faulty, &message).await {
                    TurnOutcome::Quarantined
                } else {
                    self.failed(&message).await
                }
            }
        }
    }

    /// Tests what only suspects ask for before it is tested with what others do, and has it quarantined if that takes long.
    pub(super) async fn suspect(&mut self, fixed: &Fixed, running: Option<&Fixed>, wanted: &Arc<Built>) -> Option<TurnOutcome> {
        let running = running.filter(|running| !self.suspects.is_empty() && running.globals == fixed.globals)?;
        let is_new = |part: &Piece| !parts_of(running).any(|known| known == *part);
        let suspected: Vec<Piece> = parts_of(fixed).filter(is_new).filter(|part| self.suspects.alone_ask(&part.subjects(wanted))).collect();
        if suspected.is_empty() {
            return None;
        }
        let mut candidate = running.clone();
        suspected.iter().for_each(|part| part.add_to(&mut candidate));
        let limit = self.nginx.patience() / FAST;
        let Err(ApplyError::Slow(_)) = self.nginx.test(&candidate, limit).await else { return None };
        let message = format!(
            "with what its namespace asks for the test of the configuration takes longer than {limit:?}, and not for the first time"
        );
        let faulty = suspected.into_iter().map(|part| Faulty { part, message: message.clone(), slow: true }).collect();
        self.quarantine(wanted, faulty, &message).await.then_some(TurnOutcome::Quarantined)
    }

    /// Has what asked for parts that are refused quarantined. Whether there is something that asked for them.
    async fn quarantine(&mut self, wanted: &Arc<Built>, faulty: Vec<Faulty>, why: &str) -> bool {
        let mut refused = Vec::new();
        for Faulty { part, message, slow } in faulty {
            let subjects = part.subjects(wanted);
            if slow {
                self.suspects.add(&subjects);
            }
            for subject in &subjects {
                match subject {
                    Subject::Ingress(ingress) => {
                        warn!(%ingress, error = message, "nginx refuses what this Ingress asks for; it is quarantined");
                        self.quarantined.push(format!("{subject} is quarantined: {message}"));
                    }
                    Subject::Setting(key) => {
                        warn!(key, error = message, "nginx refuses this value of the ConfigMap; the last accepted one stays active");
                        self.quarantined.push(format!("{subject} is not used: {message}"));
                    }
                    Subject::Certificate { secret, .. } => {
                        warn!(%secret, error = message, "nginx refuses the certificate of a TCP service; the last accepted one stays active, or connections are closed");
                        self.quarantined.push(format!("{subject} is not used: {message}"));
                    }
                }
            }
            refused.extend(subjects.iter().map(|subject| (subject.clone(), message.clone())));
            if !subjects.is_empty() {
                self.held.add(part, subjects);
            }
        }
        let any = !refused.is_empty();
        if any {
            self.report.reload(Err(why));
            self.sound();
            let _ = self.ends.feedback.send(Feedback::Quarantine(wanted.clone(), refused)).await;
        }
        any
    }

    /// Tests again what is quarantined and due.
    pub(super) async fn look_again(&mut self, wanted: &Built) {
        let running = self.ends.loaded.borrow().fixed.clone();
        let mut released = Vec::new();
        for (part, subjects) in self.held.due() {
            let mut search = Search { nginx: &mut self.nginx, built: wanted, running: running.as_ref() };
            match search.accepts(&part).await {
                Ok(true) => {
                    for subject in &subjects {
                        info!(%subject, "nginx accepts what it refused: no longer quarantined");
                    }
                    released.extend(subjects);
                }
                // That took long enough: changes wait.
                Err(ApplyError::Slow(_)) => break,
                Ok(false) | Err(_) => {}
            }
        }
        if !released.is_empty() {
            let _ = self.ends.feedback.send(Feedback::Release(released)).await;
        }
    }
}
