//! Named locations: what of a route must be text.

use std::sync::Arc;

use annotations::Config;
use model::{Fixed, Profile, ProfileId};
use serde::Serialize;

use crate::RenderError;
use crate::print::Printed;

/// What `profile.conf` prints. What is not set is inherited from the `http` block.
#[derive(Serialize)]
pub(crate) struct ProfileView {
    name: Printed,
    body_size: Option<Printed>,
    buffering: Option<Printed>,
    buffer_size: Option<Printed>,
    buffers: Option<Printed>,
    request_buffering: Option<Printed>,
    snippet: Option<Printed>,
}

impl ProfileView {
    pub(crate) fn new(config: &Config, id: &str, profile: &Profile) -> Result<Self, RenderError> {
        // Destructured so that a new field can't be forgotten.
        let Profile { body_size, buffering, buffer_size, buffers_number, request_buffering, snippet } = profile;
        // One directive takes both, so one that is set brings the other along.
        let buffers = (buffer_size.is_some() || buffers_number.is_some()).then(|| {
            let number = buffers_number.unwrap_or(config.proxy_buffers_number);
            let size = buffer_size.unwrap_or(config.proxy_buffer_size);
            Printed::words([number.to_string(), size.to_string()])
        });
        Ok(Self {
            name: Printed::word(format!("@{id}"))?,
            body_size: body_size.map(Printed::word).transpose()?,
            buffering: buffering.map(Printed::switch),
            buffer_size: buffer_size.map(Printed::word).transpose()?,
            buffers: buffers.transpose()?,
            request_buffering: request_buffering.map(Printed::switch),
            snippet: snippet.as_ref().map(Printed::raw),
        })
    }
}

/// The profiles in order, the default one among them in any case: routes that Lua has no better one for go there.
pub(crate) fn complete(fixed: &Fixed) -> impl Iterator<Item = (&str, &Profile)> {
    static DEFAULT: Profile =
        Profile { body_size: None, buffering: None, buffer_size: None, buffers_number: None, request_buffering: None, snippet: None };
    let missing = !fixed.profiles.contains_key(&ProfileId::default());
    let profiles = fixed.profiles.iter().map(|(id, profile): (&ProfileId, &Arc<Profile>)| (&*id.0, &**profile));
    missing.then_some(("base", &DEFAULT)).into_iter().chain(profiles)
}
