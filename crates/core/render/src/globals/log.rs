//! The access log.

use ngx_value::{LogTarget, Template};
use serde::Serialize;
use settings::Config;

use super::client::map_keys;
use super::json;
use crate::RenderError;
use crate::print::Printed;

/// What `log.conf` prints.
#[derive(Serialize)]
pub(super) struct LogView {
    /// The format is that of JSON, whose variables are defined.
    json: bool,
    escape: Option<Printed>,
    format: Printed,
    target: Option<Printed>,
    /// Behind the name of the format, each with a space before it.
    params: Printed,
    /// URIs of requests that are not logged, as keys of a map.
    skipped: Vec<Printed>,
    /// Where the error log of HTTP goes, if elsewhere than that of the process, and its level.
    errors: Option<ErrorLog>,
}

#[derive(Serialize)]
struct ErrorLog {
    target: Printed,
    level: Printed,
}

/// Where the predecessor's image links its access log to.
const STDOUT_LINK: &str = "/var/log/nginx/access.log";

impl LogView {
    pub(super) fn new(config: &Config) -> Result<Self, RenderError> {
        let observability = &config.observability;
        let json = json::is_chosen(config).then(json::http);
        let escape = match (config.log_format_escape_none, config.log_format_escape_json) {
            _ if json.is_some() => Some("json"),
            (true, _) => Some("none"),
            (false, true) => Some("json"),
            (false, false) => escape(&config.log_format_upstream),
        };
        let own = observability.http_access_log_path.as_ref();
        let target = target(config, observability.disable_http_access_log, own)?;
        let syslog = syslog(config)?;
        let errors = syslog.clone().map(|target| Ok::<_, RenderError>(ErrorLog { target, level: Printed::word(config.error_log_level)? }));
        Ok(Self {
            json: json.is_some(),
            escape: escape.map(Printed::fixed),
            format: Printed::template(json.as_ref().unwrap_or(&config.log_format_upstream)),
            params: if syslog.is_some() { Printed::fixed("") } else { in_blocks(config, own)? },
            target: target.map(|target| syslog.unwrap_or(target)),
            skipped: map_keys(&observability.skip_access_log_urls)?,
            errors: errors.transpose()?,
        })
    }
}

/// Where `enable-syslog` sends the logs of HTTP.
fn syslog(config: &Config) -> Result<Option<Printed>, RenderError> {
    let observability = &config.observability;
    let host = observability.syslog_host.as_ref().filter(|_| observability.enable_syslog);
    host.map(|host| Printed::prefixed("syslog:server=", format!("{}:{}", host.authority(), observability.syslog_port))).transpose()
}

/// How access logs are written unless `access-log-params` says otherwise: a write for each request or connection costs more than its line.
/// NGINX never splits a line between blocks, and a pipe takes up to 4 KiB (`PIPE_BUF`) at once, so that workers don't mix theirs.
const BLOCKS: &str = " buffer=4k flush=100ms";

/// How one of the access logs is written: in blocks unless the settings say otherwise. Lines to syslog are packets of their own.
pub(super) fn in_blocks(config: &Config, own: Option<&LogTarget>) -> Result<Printed, RenderError> {
    let takes_buffers = own.unwrap_or(&config.access_log_path).takes_buffers();
    if config.observability.access_log_params.is_empty() && takes_buffers { Ok(Printed::fixed(BLOCKS)) } else { params(config, own) }
}

/// How values in a format are escaped where nothing else is said: NGINX would read a format that begins like this parameter as one.
pub(super) fn escape(format: &Template) -> Option<&'static str> {
    format.as_str().starts_with("escape=").then_some("default")
}

/// How an access log is written. NGINX refuses to collect lines for some.
fn params(config: &Config, own: Option<&LogTarget>) -> Result<Printed, RenderError> {
    let target = own.unwrap_or(&config.access_log_path);
    Printed::options(config.observability.access_log_params.iter().filter(|_| target.takes_buffers()))
}

/// Where one of the access logs goes, if anywhere.
pub(super) fn target(config: &Config, disabled: bool, own: Option<&LogTarget>) -> Result<Option<Printed>, RenderError> {
    let target = own.unwrap_or(&config.access_log_path);
    if disabled || config.disable_access_log || target.is_off() {
        return Ok(None);
    }
    match target.as_str() {
        STDOUT_LINK => Ok(Some(Printed::fixed("/dev/stdout"))),
        target => Printed::argument(target).map(Some),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[track_caller]
    fn check(data: &[(&str, &str)], expected: &str) {
        let data: BTreeMap<String, String> = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let (config, findings) = Config::parse(&data);
        assert!(findings.is_empty(), "{findings:?}");
        let own = config.observability.stream_access_log_path.as_ref();
        assert_eq!(format!("{:?}", in_blocks(&config, own).unwrap()), expected);
    }

    #[test]
    fn access_logs_are_written_in_blocks_but_for_those_that_go_to_syslog() {
        check(&[], BLOCKS);
        check(&[("access-log-params", "buffer=16k flush=1m")], " buffer=16k flush=1m");
        let syslog = "syslog:server=192.0.2.1";
        check(&[("access-log-path", syslog), ("access-log-params", "buffer=16k")], "");
        check(&[("stream-access-log-path", syslog)], "");
        check(&[("access-log-path", syslog), ("stream-access-log-path", "/tmp/stream.log")], BLOCKS);
    }
}
