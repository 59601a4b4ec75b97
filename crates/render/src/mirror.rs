//! Copies of requests that go elsewhere too.

use std::collections::BTreeMap;

use model::live::HostRecord;
use model::{Model, Profile, Route};
use serde::Serialize;

use crate::RenderError;
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
    /// In the router, where all copies go through the same locations.
    pub(crate) fn router(body: bool) -> Self {
        Self { uri: Printed::fixed(if body { WITH_BODY } else { WITHOUT_BODY }), body: Printed::switch(body) }
    }

    /// In the equivalent text, where each Ingress has a location for its copies.
    pub(crate) fn text(profile: &Profile, route: &Route) -> Result<Option<Self>, RenderError> {
        let (Some(body), Some(mirror)) = (profile.mirror, &route.mirror) else { return Ok(None) };
        Ok(Some(Self { uri: Printed::quoted(&uri(&mirror.id))?, body: Printed::switch(body) }))
    }
}

/// What `mirror.conf` prints: a location to which copies go.
#[derive(Serialize)]
pub(crate) struct MirrorLocation {
    uri: Printed,
    body: bool,
    host: Printed,
    /// The target, where Lua does not say it.
    text: Option<Printed>,
}

/// The locations that a server of the router needs: none while its profiles copy nothing.
pub(crate) fn locations(profiles: &[(&str, &Profile)]) -> Vec<MirrorLocation> {
    if profiles.iter().all(|(_, profile)| profile.mirror.is_none()) {
        return Vec::new();
    }
    let location = |uri, body| MirrorLocation { uri: Printed::fixed(uri), body, host: Printed::fixed("$narthex_mirror_host"), text: None };
    vec![location(WITH_BODY, true), location(WITHOUT_BODY, false)]
}

/// The locations that one host's routes need in the equivalent text.
pub(crate) fn of_host(model: &Model, record: &HostRecord) -> Result<Vec<MirrorLocation>, RenderError> {
    let mut found = BTreeMap::new();
    for route in &record.routes {
        let body = model.fixed.profiles.get(&route.profile).and_then(|profile| profile.mirror);
        if let (Some(body), Some(mirror)) = (body, &route.mirror) {
            found.insert(&mirror.id, (body, mirror));
        }
    }
    let location = |(body, mirror): (bool, &std::sync::Arc<model::live::Mirror>)| {
        // Variables of both are meant.
        let (host, text) = (Printed::quoted(&mirror.mirror_host)?, Some(Printed::quoted(&mirror.mirror_target)?));
        Ok(MirrorLocation { uri: Printed::quoted(&uri(&mirror.id))?, body, host, text })
    };
    found.into_values().map(location).collect()
}

fn uri(id: &str) -> String {
    format!("/_mirror-{id}")
}
