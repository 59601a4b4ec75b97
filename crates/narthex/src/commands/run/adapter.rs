//! The NGINX of the `nginx` crate behind the controller's ports.

use cluster::chain;
use controller::port::Culprit;
use controller::{Applied, ApplyError, LiveError, LiveNginx, LiveState, Nginx};
use model::Fixed;
use nginx::{LiveClient, Supervisor};
use render::{Capabilities, FileSet, OriginKind, Paths};

/// Renders and applies.
pub(super) struct NginxPort {
    pub(super) supervisor: Supervisor,
    pub(super) capabilities: Capabilities,
    pub(super) paths: Paths,
}

impl NginxPort {
    fn render(&self, fixed: &Fixed) -> Result<FileSet, ApplyError> {
        render::render(fixed, &self.capabilities, &self.paths).map_err(|error| ApplyError::Failed(chain(&error)))
    }
}

impl Nginx for NginxPort {
    async fn apply(&mut self, fixed: &Fixed) -> Result<Applied, ApplyError> {
        let files = self.render(fixed)?;
        self.supervisor.apply(&files).await.map(applied).map_err(|error| refine(error, &files))
    }

    async fn reload(&mut self, fixed: &Fixed) -> Result<Applied, ApplyError> {
        let files = self.render(fixed)?;
        self.supervisor.reload(&files).await.map(applied).map_err(|error| refine(error, &files))
    }

    async fn test(&mut self, fixed: &Fixed) -> Result<(), ApplyError> {
        let files = self.render(fixed)?;
        self.supervisor.test(&files).await.map(drop).map_err(|error| refine(error, &files))
    }

    async fn restart(&mut self) -> Result<(), ApplyError> {
        self.supervisor.restart().await.map(drop).map_err(|error| ApplyError::Failed(chain(&error)))
    }

    fn runs(&self) -> bool {
        self.supervisor.pid().is_some()
    }

    async fn exited(&mut self) {
        self.supervisor.exited().await;
    }
}

fn applied(applied: nginx::Applied) -> Applied {
    let nginx::Applied { revision, started, reloaded, duration, .. } = applied;
    Applied { revision, started, unchanged: !started && !reloaded, duration }
}

/// Names the part of the text that a refusal points at.
fn refine(error: nginx::ApplyError, files: &FileSet) -> ApplyError {
    let nginx::ApplyError::Refused { message, file, line, .. } = &error else { return ApplyError::Failed(chain(&error)) };
    let culprit = line.filter(|_| file == "nginx.conf").and_then(|line| match files.origin(line) {
        OriginKind::Profile(id) => Some(Culprit::Profile(id.clone())),
        OriginKind::Shell(host) => Some(Culprit::Shell(host.clone())),
        OriginKind::Stream(ingress) => Some(Culprit::Stream(ingress.clone())),
        OriginKind::Globals => None,
    });
    ApplyError::Refused { message: message.clone(), culprit }
}

/// Posts.
#[derive(Clone)]
pub(super) struct LivePort(pub(super) LiveClient);

impl LiveNginx for LivePort {
    async fn audit(&self) -> Result<LiveState, LiveError> {
        self.0.audit().await.map(live_state).map_err(live_error)
    }

    async fn post(&self, lines: String) -> Result<LiveState, LiveError> {
        self.0.post(lines).await.map(live_state).map_err(live_error)
    }

    async fn keys(&self) -> Result<Vec<String>, LiveError> {
        let keys = self.0.keys().await.map_err(live_error)?;
        Ok(keys.into_iter().map(|key| format!("{}\t{}", key.table, key.key)).collect())
    }

    async fn set_generation(&self, marker: &str) -> Result<(), LiveError> {
        self.0.set_generation(marker).await.map(drop).map_err(live_error)
    }
}

fn live_state(state: nginx::State) -> LiveState {
    LiveState { generation: state.generation, digest: state.digest, entries: state.entries }
}

fn live_error(error: nginx::LiveError) -> LiveError {
    match error {
        nginx::LiveError::Full { errors, .. } => LiveError::Full(errors.into_iter().map(|error| error.key).collect()),
        error => LiveError::Unreachable(chain(&error)),
    }
}
