//! The access log.

use ngx_value::Word;
use serde::Serialize;
use settings::Config;

use crate::RenderError;
use crate::print::Printed;

/// What `log.conf` prints.
#[derive(Serialize)]
pub(super) struct LogView {
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
        let escape = match (config.log_format_escape_none, config.log_format_escape_json) {
            (true, _) => Some("none"),
            (false, true) => Some("json"),
            (false, false) => None,
        };
        let observability = &config.observability;
        let target = target(config, observability.disable_http_access_log, observability.http_access_log_path.as_ref())?;
        let syslog = syslog(config)?;
        let errors = syslog.clone().map(|target| Ok::<_, RenderError>(ErrorLog { target, level: Printed::word(config.error_log_level)? }));
        let skipped = observability.skip_access_log_urls.iter().map(|pattern| Printed::quoted(&pattern.map_key()));
        Ok(Self {
            escape: escape.map(Printed::fixed),
            format: Printed::template(&config.log_format_upstream),
            params: if syslog.is_some() { Printed::fixed("") } else { in_blocks(config, observability.http_access_log_path.as_ref())? },
            target: target.map(|target| syslog.unwrap_or(target)),
            skipped: skipped.collect::<Result<_, _>>()?,
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

/// How one of the access logs is written. Lines to syslog are packets of their own.
pub(super) fn in_blocks(config: &Config, own: Option<&Word>) -> Result<Printed, RenderError> {
    let params = &config.observability.access_log_params;
    if path_of(config, own).starts_with("syslog:") {
        return Ok(Printed::fixed(""));
    }
    if params.is_empty() { Ok(Printed::fixed(BLOCKS)) } else { Printed::options(params) }
}

fn path_of<'a>(config: &'a Config, own: Option<&'a Word>) -> &'a str {
    own.unwrap_or(&config.access_log_path).as_str()
}

/// Where one of the access logs goes, if anywhere.
pub(super) fn target(config: &Config, disabled: bool, own: Option<&Word>) -> Result<Option<Printed>, RenderError> {
    if disabled || config.disable_access_log {
        return Ok(None);
    }
    match path_of(config, own) {
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
