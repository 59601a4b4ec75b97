//! The access log.

use annotations::Config;
use ngx_value::Word;
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
        let watching = &config.watching;
        let target = target(config, watching.disable_http_access_log, watching.http_access_log_path.as_ref())?;
        Ok(Self { escape: escape.map(Printed::fixed), format: Printed::template(&config.log_format_upstream), target })
    }
}

/// Where one of the access logs goes, if anywhere.
pub(super) fn target(config: &Config, disabled: bool, own: Option<&Word>) -> Result<Option<Printed>, RenderError> {
    if disabled || config.disable_access_log {
        return Ok(None);
    }
    match own.unwrap_or(&config.access_log_path).as_str() {
        STDOUT_LINK => Ok(Some(Printed::fixed("/dev/stdout"))),
        target => Printed::argument(target).map(Some),
    }
}
