//! The objects that are blamed for what NGINX refuses, and the time of the next test.

use std::collections::BTreeSet;
use std::sync::Arc;

use model::{Built, Fixed, KeyValue};
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::keys::{FoundKeys, KeySearch, Setting};
use super::search::{FAST, Fault, Faulty, Piece, Search, parts_of};
use super::{Lane, Subject, TurnOutcome};
use crate::Feedback;
use crate::port::{ApplyError, Nginx};

impl<N: Nginx> Lane<N> {
    /// Forgets what is about something else than what is wanted now.
    pub(super) fn follow(&mut self, wanted: &Built) {
        self.held.follow(wanted);
        let is_applied = !self.differs(wanted);
        if let Some(keys) = &mut self.keys {
            keys.follow(wanted);
            if is_applied {
                keys.begin();
            }
        }
    }

    /// Looks at what NGINX refused: which keys it is, or whether it accepts it again.
    pub(super) async fn look(&mut self, wanted: &Arc<Built>) {
        if self.keys.as_ref().is_some_and(|keys| keys.due().is_some_and(|due| due <= Instant::now())) {
            self.look_for_keys(wanted).await;
        } else {
            self.look_again(wanted).await;
        }
    }

    /// Finds what NGINX refuses and has it quarantined.
    pub(super) async fn blame(&mut self, fixed: &Fixed, running: Option<&Fixed>, wanted: &Arc<Built>, error: ApplyError) -> TurnOutcome {
        let message = error.to_string();
        let running = running.filter(|_| !self.down());
        let mut search = Search { nginx: &mut self.nginx, built: wanted, running };
        match search.fault(fixed, error).await {
            Err(error) => self.failed(&error.to_string()).await,
            Ok(Fault::Settings(message)) => self.suspend(wanted, message).await,
            Ok(Fault::Parts(faulty)) => {
                if self.quarantine(wanted, faulty, &message).await {
                    TurnOutcome::Quarantined
                } else {
                    self.failed(&message).await
                }
            }
        }
    }

    /// Leaves out the keys of the ConfigMap that changed since NGINX confirmed it, and begins to look for those that it refuses.
    async fn suspend(&mut self, wanted: &Arc<Built>, message: String) -> TurnOutcome {
        let values = wanted.basis.values();
        let is_confirmed = |key: &str, value: &KeyValue| self.confirmed.get(key).as_ref() == Some(value);
        let mut suspects: Vec<Setting> =
            values.iter().filter(|(key, value)| !is_confirmed(key, value)).map(|(key, value)| (key.to_owned(), value)).collect();
        if suspects.is_empty() {
            // What was confirmed together with something that is gone now need not stand without it.
            suspects = values.iter().map(|(key, value)| (key.to_owned(), value)).collect();
        }
        if suspects.len() == 1 {
            let faulty =
                suspects.into_iter().map(|(key, value)| Faulty { part: Piece::Setting(key, value), message: message.clone(), slow: false });
            self.quarantine(wanted, faulty.collect(), &message).await;
            return TurnOutcome::Quarantined;
        }
        if suspects.is_empty() {
            return self.failed(&message).await;
        }
        warn!(
            keys = suspects.len(),
            error = message,
            "nginx refuses the settings: those that changed are left out until it is known which it refuses"
        );
        self.report.reload(Err(&message));
        self.sound();
        match &mut self.keys {
            Some(search) => search.extend(suspects.clone()),
            None => self.keys = Some(KeySearch::new(suspects.clone(), message.clone())),
        }
        let _ = self.ends.feedback.send(Feedback::Suspend(suspects, message)).await;
        TurnOutcome::Quarantined
    }

    /// The next test of the search for refused keys; at its end those that are accepted are used again.
    pub(super) async fn look_for_keys(&mut self, wanted: &Arc<Built>) {
        let Some(mut keys) = self.keys.take() else { return };
        let Some(values) = keys.candidate(wanted.basis.values()) else { return self.end_search(wanted, keys.finish()).await };
        let running = self.ends.loaded.borrow().fixed.clone();
        let mut search = Search { nginx: &mut self.nginx, built: wanted, running: running.as_ref() };
        match search.refusal_of(&values).await {
            Ok(refusal) => keys.judge(refusal),
            Err(error) => {
                debug!(%error, "a test of settings came to no result; it is tried again");
                keys.wait();
            }
        }
        self.keys = Some(keys);
    }

    async fn end_search(&mut self, wanted: &Arc<Built>, found: FoundKeys) {
        let to_faulty = |((key, value), message)| Faulty { part: Piece::Setting(key, value), message, slow: false };
        let faulty: Vec<Faulty> = found.refused.into_iter().map(to_faulty).collect();
        let why = faulty.iter().map(|faulty| faulty.message.as_str()).collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join("; ");
        self.quarantine(wanted, faulty, &why).await;
        if !found.accepted.is_empty() {
            let accepted = found.accepted.into_iter().map(|(key, value)| Subject::Setting(key, value)).collect();
            let _ = self.ends.feedback.send(Feedback::Release(accepted)).await;
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
                    Subject::Setting(key, _) => {
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
                    self.held.remove(&part);
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
