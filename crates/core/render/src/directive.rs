//! Directives that are one setting and nothing else.

use serde::Serialize;
use settings::{CONFIG_KEYS, Config};

use crate::RenderError;
use crate::print::Printed;

/// Directives of TLS in the stream block that are those of the `http` block.
const STREAM_TLS: [&str; 3] = ["ssl_protocols", "ssl_ecdh_curve", "ssl_session_tickets"];

/// What `directives.conf` prints: a name and its arguments.
#[derive(Serialize)]
pub(crate) struct DirectiveView {
    name: Printed,
    value: Printed,
}

impl DirectiveView {
    /// Those of the `http` block, as the rows of the keys say.
    pub(crate) fn http(config: &Config) -> Result<Vec<Self>, RenderError> {
        let directives = CONFIG_KEYS.iter().filter_map(|key| key.directive.as_ref());
        Self::all(directives.map(|directive| (directive.name, (directive.arguments)(config))))
    }

    /// Those of them that are about TLS and that the stream block has as well.
    pub(crate) fn stream_tls(config: &Config) -> Result<Vec<Self>, RenderError> {
        let directives = CONFIG_KEYS.iter().filter_map(|key| key.directive.as_ref());
        let shared = directives.filter(|directive| STREAM_TLS.contains(&directive.name));
        Self::all(shared.map(|directive| (directive.name, (directive.arguments)(config))))
    }

    /// Those that have arguments.
    pub(crate) fn all(directives: impl Iterator<Item = (&'static str, Vec<String>)>) -> Result<Vec<Self>, RenderError> {
        let view = |(name, arguments): (_, Vec<String>)| {
            Ok(Self { name: Printed::fixed(name), value: Printed::arguments(arguments.iter().map(String::as_str))? })
        };
        directives.filter(|(_, arguments)| !arguments.is_empty()).map(view).collect()
    }
}
