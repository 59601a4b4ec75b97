//! The incremental build.

use std::sync::Arc;

use imbl::OrdMap;

use crate::Model;
use crate::key::ObjectKey;
use crate::problem::Problem;
use crate::profile::ProfileId;
use crate::settings::Settings;
use crate::snapshot::Snapshot;

/// Ingresses set aside because NGINX refused what they ask for.
pub type Quarantine = OrdMap<ObjectKey, Arc<str>>;

/// Keeps what the last build found, so that the next one costs what changed.
#[derive(Debug, Clone)]
pub struct Builder {
    settings: Arc<Settings>,
}

/// One build's result.
#[derive(Debug, Clone, Default)]
pub struct Built {
    /// The desired state.
    pub model: Model,
}

impl Builder {
    /// A builder that has seen nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self { settings: Arc::new(settings) }
    }

    /// The settings it builds with.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Brings the model up to `snapshot`. Cheap when little changed since the last call.
    pub fn build(&mut self, _snapshot: &Snapshot, _quarantine: &Quarantine) -> Built {
        Built::default()
    }
}

impl Built {
    /// Every finding, ordered by object. Cost: their number.
    pub fn problems(&self) -> Vec<Problem> {
        Vec::new()
    }

    /// The Ingresses whose routes use a profile, oldest first. Empty for one that is not in use.
    pub fn users_of_profile(&self, _id: &ProfileId) -> Vec<ObjectKey> {
        Vec::new()
    }

    /// The Ingresses that gave a host its server-level text.
    pub fn users_of_shell(&self, _host: &str) -> Vec<ObjectKey> {
        Vec::new()
    }

    /// Names that ExternalName Services point to and that must be resolved (IP literals excluded).
    pub fn external_names(&self) -> Vec<Arc<str>> {
        Vec::new()
    }
}
