//! Copies of requests that go elsewhere too.

use model::Profile;
use serde::Serialize;

use crate::print::Printed;

/// The locations of copies. No request from outside reaches them, as slashes are merged before a location is looked up.
const WITH_BODY: &str = "//narthex/mirror";
const WITHOUT_BODY: &str = "//narthex/mirror-head";

/// What a location prints that copies its requests.
#[derive(Serialize)]
pub(crate) struct MirrorView {
    uri: Printed,
    body: Printed,
}

impl MirrorView {
    /// All copies go through the same locations.
    pub(crate) fn new(body: bool) -> Self {
        Self { uri: Printed::fixed(if body { WITH_BODY } else { WITHOUT_BODY }), body: Printed::switch(body) }
    }
}

/// What `mirror.conf` prints: a location to which copies go.
#[derive(Serialize)]
pub(crate) struct MirrorLocation {
    uri: Printed,
    body: bool,
}

/// The locations that a server needs: none while its profiles copy nothing.
pub(crate) fn locations(profiles: &[(&str, &Profile)]) -> Vec<MirrorLocation> {
    if profiles.iter().all(|(_, profile)| profile.mirror.is_none()) {
        return Vec::new();
    }
    [(WITH_BODY, true), (WITHOUT_BODY, false)].map(|(uri, body)| MirrorLocation { uri: Printed::fixed(uri), body }).into()
}
