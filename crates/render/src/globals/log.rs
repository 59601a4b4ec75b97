//! The access log.

use annotations::Config;
use serde::Serialize;

use crate::RenderError;
use crate::print::Printed;

/// What `log.conf` prints.
#[derive(Serialize)]
pub(super) struct LogView {
    escape: Option<Printed>,
    format: Printed,
    target: Option<Printed>,
}

/// Where the predecessor's image links its access log to.
const STDOUT_LINK: &str = "/var/log/nginx/access.log";

impl LogView {
    pub(super) fn new(config: &Config) -> Result<Self, RenderError> {
        let escape = match (config.log_format_escape_none, config.log_format_escape_json) {
            (true, _) => Some("none"),
            (false, true) => Some("json"),
            (false, false) => None,
        };
        let target = match config.access_log_path.as_str() {
            _ if config.disable_access_log => None,
            STDOUT_LINK => Some(Printed::fixed("/dev/stdout")),
            target => Some(Printed::argument(target)?),
        };
        Ok(Self { escape: escape.map(Printed::fixed), format: Printed::template(&config.log_format_upstream), target })
    }
}
