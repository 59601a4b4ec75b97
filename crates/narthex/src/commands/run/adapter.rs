//! The NGINX of the `nginx` crate behind the controller's ports.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use cluster::chain;
use controller::port::{Loss, Old};
use controller::{Adopted, Applied, ApplyError, Channel, Journal, LiveError, LiveState, Locations, Nginx, Posted};
use model::dictionaries::{Dictionaries, Place};
use model::live::Medium;
use model::{ConfigValues, Data, Fixed, ProfileId, StreamPort, Table};
use nginx::{Complaint, LiveClient, Supervisor};
use ngx_value::Size;
use render::{Capabilities, FileSet, Paths, RenderError};
use tracing::warn;

use super::ports;

/// The note of the accepted ConfigMap in the work directory.
const CONFIRMED: &str = "confirmed-configmap";

/// Renders and applies.
pub(super) struct NginxPort {
    supervisor: Supervisor,
    capabilities: Capabilities,
    paths: Paths,
    journal: Journal,
    /// A loss that ended a test.
    noticed: Option<Loss>,
}

impl NginxPort {
    pub(super) fn new(supervisor: Supervisor, capabilities: Capabilities, paths: Paths, journal: Journal) -> Self {
        Self { supervisor, capabilities, paths, journal, noticed: None }
    }

    fn render(&self, fixed: &Fixed) -> Result<FileSet, ApplyError> {
        render::render(fixed, &self.capabilities, &self.paths).map_err(unrenderable)
    }
}

impl Nginx for NginxPort {
    /// A TCP or UDP service whose port can't be opened is left out: it must not keep all others from theirs.
    async fn apply(&mut self, fixed: &Fixed) -> Result<Applied, ApplyError> {
        let (mut fixed, mut closed) = (Cow::Borrowed(fixed), BTreeMap::new());
        loop {
            let files = self.render(&fixed)?;
            let error = match self.supervisor.apply(&files).await {
                Ok(done) => {
                    self.journal.text(&done.revision, files.conf());
                    return Ok(Applied { closed, ..applied(done) });
                }
                Err(error) => error,
            };
            let unopened: Vec<StreamPort> =
                fixed.stream_services.keys().filter(|port| Some(port.number) == unopened(&error)).copied().collect();
            if unopened.is_empty() {
                return Err(refine(error, &files));
            }
            for port in unopened {
                closed.insert(port, chain(&error));
                fixed.to_mut().stream_services.remove(&port);
            }
        }
    }

    async fn is_free(&mut self, fixed: &Fixed, port: StreamPort) -> bool {
        ports::is_free(&fixed.globals.config.bind_address, port)
    }

    async fn reload(&mut self, fixed: &Fixed) -> Result<Applied, ApplyError> {
        let files = self.render(fixed)?;
        let done = self.supervisor.reload(&files).await.map_err(|error| refine(error, &files))?;
        self.journal.text(&done.revision, files.conf());
        Ok(applied(done))
    }

    fn patience(&self) -> Duration {
        self.supervisor.patience()
    }

    async fn test(&mut self, fixed: &Fixed, limit: Duration) -> Result<Duration, ApplyError> {
        let files = self.render(fixed)?;
        let missing = self.supervisor.workers_missing();
        tokio::select! {
            biased;
            () = missing => {
                self.noticed = Some(Loss::Workers);
                Err(ApplyError::Failed("workers of nginx ended for good while a configuration was tested".into()))
            }
            tested = self.supervisor.test(&files, limit) => tested.map_err(|error| refine(error, &files)),
        }
    }

    async fn restore(&mut self, loss: Loss) -> Result<bool, ApplyError> {
        let restored = match loss {
            Loss::Master => self.supervisor.restart().await,
            Loss::Workers => self.supervisor.replenish().await,
        };
        restored.map(|applied| applied.started).map_err(|error| ApplyError::Failed(chain(&error)))
    }

    fn adopted(&self) -> Option<Adopted> {
        let state = self.supervisor.adopted()?;
        let ids = |names: &[String]| names.iter().map(|id| ProfileId(id.as_str().into())).collect();
        let locations = state.host_servers.values().fold(Locations::new(ids(&state.profiles)), |locations, host_server| {
            locations.with_host_server(host_server.names.iter().map(|name| name.as_str().into()), ids(&host_server.profiles))
        });
        Some(Adopted { revision: state.revision.clone(), format: state.format.clone(), locations, dictionaries: dictionaries(state) })
    }

    fn keep(&mut self, confirmed: &ConfigValues) {
        let text = serde_json::to_vec(confirmed).expect("maps of texts");
        if let Err(error) = self.supervisor.keep_note(CONFIRMED, &text) {
            warn!(error = chain(&error), "the accepted ConfigMap could not be kept on disk");
        }
    }

    async fn runs(&mut self) -> bool {
        self.supervisor.pid().await.is_some()
    }

    async fn old(&mut self) -> Old {
        let (workers, most) = self.supervisor.old_workers().await;
        Old { workers: workers.into_iter().collect(), most }
    }

    async fn lost(&mut self) -> Loss {
        if let Some(loss) = self.noticed.take() {
            return loss;
        }
        tokio::select! {
            biased;
            () = self.supervisor.exited() => Loss::Master,
            () = self.supervisor.workers_missing() => Loss::Workers,
        }
    }
}

/// Those that it says it has; a name of none is left out.
fn dictionaries(state: &nginx::NginxState) -> Dictionaries {
    let read = |(name, found): (&String, &nginx::Dictionary)| {
        let second = found.name.as_ref().is_some_and(|named| named != name);
        let place = Place { second, former: found.former.map(Size::new) };
        Some((name.parse().ok()?, (Size::new(found.capacity), place)))
    };
    Dictionaries(state.dicts.iter().filter_map(read).collect())
}

/// A text that can't be rendered never will be: what asks for it is searched for as for what NGINX refuses.
fn unrenderable(error: RenderError) -> ApplyError {
    let message = chain(&error);
    match error {
        RenderError::Text { .. } | RenderError::Word { .. } => ApplyError::Refused { message, culprit: None },
        _ => ApplyError::Failed(message),
    }
}

fn applied(applied: nginx::Applied) -> Applied {
    let nginx::Applied { revision, started, reloaded, duration, .. } = applied;
    Applied { revision, started, unchanged: !started && !reloaded, duration, closed: BTreeMap::new() }
}

/// The values of the ConfigMap that an earlier controller of the work directory had confirmed. A damaged note is none.
pub(super) fn confirmed(supervisor: &Supervisor) -> ConfigValues {
    supervisor.note(CONFIRMED).and_then(|text| values(&text)).unwrap_or_default()
}

/// Older versions noted the data alone.
fn values(note: &[u8]) -> Option<ConfigValues> {
    let data = || serde_json::from_slice::<Data>(note).ok().map(ConfigValues::from);
    serde_json::from_slice(note).ok().or_else(data)
}

/// The port that NGINX could not open.
fn unopened(error: &nginx::ApplyError) -> Option<u16> {
    match error {
        nginx::ApplyError::PortTaken { port, .. } | nginx::ApplyError::PortDenied { port, .. } => Some(*port),
        _ => None,
    }
}

/// Names the part of the text that a complaint points at.
fn refine(error: nginx::ApplyError, files: &FileSet) -> ApplyError {
    let culprit = |complaint: &Complaint| {
        let line = complaint.line.filter(|_| complaint.file == "nginx.conf")?;
        Some(files.origin(line).clone())
    };
    match &error {
        nginx::ApplyError::Refused(complaint) => ApplyError::Refused { message: complaint.message.clone(), culprit: culprit(complaint) },
        nginx::ApplyError::Doubtful(complaint) => ApplyError::Doubtful { message: complaint.message.clone(), culprit: culprit(complaint) },
        nginx::ApplyError::TestTimeout(_) | nginx::ApplyError::Unconfirmed { .. } => ApplyError::Slow(chain(&error)),
        error => ApplyError::Failed(chain(error)),
    }
}

/// Posts.
#[derive(Clone)]
pub(super) struct LivePort(pub(super) LiveClient);

impl Channel for LivePort {
    const NAME: &'static str = "shared dictionaries";
    const LOST_WITH_NGINX: bool = true;
    const AUDIT_EVERY: Option<Duration> = None;

    fn carries(table: Table) -> bool {
        matches!(table.row().medium, Medium::Dictionary(_))
    }

    async fn audit(&self) -> Result<LiveState, LiveError> {
        self.0.audit().await.map(live_state).map_err(|error| live_error(&error))
    }

    async fn post(&self, lines: String) -> Result<Posted, LiveError> {
        match self.0.post(lines).await {
            Ok(state) => Ok(Posted { state: live_state(state), refused: Vec::new() }),
            Err(nginx::LiveError::Full { state: Some(state), errors }) => {
                Ok(Posted { state: live_state(*state), refused: errors.into_iter().map(|error| error.key).collect() })
            }
            Err(error) => Err(live_error(&error)),
        }
    }

    async fn keys(&self) -> Result<Vec<String>, LiveError> {
        let keys = self.0.keys().await.map_err(|error| live_error(&error))?;
        Ok(keys.into_iter().map(|key| format!("{}\t{}", key.table, key.key)).collect())
    }

    async fn set_generation(&self, marker: &str) -> Result<(), LiveError> {
        self.0.set_generation(marker).await.map(drop).map_err(|error| live_error(&error))
    }
}

fn live_state(state: nginx::NginxState) -> LiveState {
    LiveState { generation: state.generation, digest: state.digest, entries: state.entries }
}

fn live_error(error: &nginx::LiveError) -> LiveError {
    LiveError::Unreachable(chain(error))
}
