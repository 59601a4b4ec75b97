//! How requests that exceed a limit are answered.

use annotations::Config;
use serde::Serialize;

/// Part of what `http.conf` prints.
#[derive(Serialize)]
pub(super) struct LimitsView {
    req_status: u16,
    conn_status: u16,
}

impl LimitsView {
    pub(super) fn new(config: &Config) -> Self {
        Self { req_status: config.answers.limit_req_status_code, conn_status: config.answers.limit_conn_status_code }
    }
}
