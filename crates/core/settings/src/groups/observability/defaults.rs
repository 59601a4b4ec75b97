//! Logs and traces of all Ingresses.

use std::fmt;
use std::str::FromStr;

use ngx_value::{
    HeaderPattern, Invalid, LogParameter, LogTarget, Part, SyslogHost, Template, Word, is_built_in_variable, is_stream_variable,
};

use crate::config::Config;
use crate::config::grammar::{BOOL, COUNT, Grammar, HEADER_PATTERNS, LOG_PARAMETERS, optional, own};
use crate::config::table::{default, settings};

settings! {
    /// Logs and traces.
    ObservabilityDefaults in observability;

    /// Write no access log of HTTP.
    disable_http_access_log: bool = false, BOOL, "true", [Text];
    /// Write no access log of TCP and UDP.
    disable_stream_access_log: bool = false, BOOL, "true", [Text];
    /// Where the access log of HTTP goes, instead of `access-log-path`.
    http_access_log_path: Option<LogTarget> = None, optional("a path, syslog:server=..., off, or empty"), "/var/log/nginx/http.log", [Text];
    /// Where the access log of TCP and UDP goes, instead of `access-log-path`.
    stream_access_log_path: Option<LogTarget> = None, optional("a path, syslog:server=..., off, or empty"), "/var/log/nginx/stream.log", [Text];
    /// Buffering of the access logs, not of those that go to syslog or have variables in their path: `buffer=`, `flush=` and `gzip`.
    access_log_params: Vec<LogParameter> = Vec::new(), LOG_PARAMETERS, "buffer=16k flush=1m", [Text];
    /// Requests that are not logged, by their URI with the query: exact texts, or `~` or `~*` and a regular expression.
    skip_access_log_urls: Vec<HeaderPattern> = Vec::new(), HEADER_PATTERNS, "/healthz,~*^/static/", [Text];
    /// Send the logs of HTTP to `syslog-host` instead. Those of TCP and UDP stay where they are.
    enable_syslog: bool = false, BOOL, "true", [Text];
    /// Where syslog listens.
    syslog_host: Option<SyslogHost> = None, optional("a host name, an IP address, or empty"), "127.0.0.1", [Text];
    /// The UDP port there.
    syslog_port: u16 = 514, PORT, "5514", [Text];
    /// Format of the access log of TCP and UDP.
    log_format_stream: Template = default("[$remote_addr] [$time_local] $protocol $status $bytes_sent $bytes_received $session_time"), own("text with NGINX variables"), "$remote_addr $protocol $status", [Text];
    /// A form of the access logs that is ready: `json` is one JSON object a line ([fields](../logs.md#json)), escaped for JSON. It takes the place of
    /// `log-format-upstream`, `log-format-stream` and of how these are escaped. Empty: what those keys say.
    log_format_preset: Option<LogPreset> = None, optional("json, or empty"), "json", [Text] since Narthex;
    /// Write to the error log why a request is refused or has no endpoint: one line a minute, in each worker, for each route and
    /// [reason](../logs.md#reasons).
    log_reasons: bool = true, BOOL, "false", [Text] since Narthex;
    /// Answers that Narthex or NGINX makes itself have the header `X-Narthex-Reason` with the [reason](../logs.md#reasons), which clients see. Such a
    /// header of a backend is removed.
    enable_reason_header: bool = false, BOOL, "true", [Text] since Narthex;
    /// Log the requests to authentication services as well.
    enable_auth_access_log: bool = false, BOOL, "true", [Text];

    /// Trace requests.
    enable_opentelemetry: bool = false, BOOL, "true", [Text, Routes];
    /// The file with the settings of NGINX's own module for traces, which is not used here: no effect.
    opentelemetry_config: Word = default("/etc/ingress-controller/telemetry/opentelemetry.toml"), own("a path"), "/etc/otel.toml", [] inert "it is read by NGINX's own module for traces, which is not used";
    /// Name of the span. Empty: method and path of the rule.
    opentelemetry_operation_name: Option<Template> = None, optional("text with NGINX variables, or empty"), "HTTP $request_method $uri", [Text];
    /// A trace that the client began goes on here.
    opentelemetry_trust_incoming_span: bool = true, BOOL, "false", [Text, Routes];
    /// Host of the collector, which takes OTLP over gRPC. Empty: none; then traces are passed on, and no span is recorded.
    otlp_collector_host: Option<Word> = None, optional("a host, or empty"), "otel-collector.observability", [Text];
    /// Port of the collector for OTLP over gRPC.
    otlp_collector_port: u16 = 4317, PORT, "4319", [] inert "the exporter in the controller reads it";
    /// The service's name in traces.
    otel_service_name: Word = default("nginx"), own("one word"), "shop", [] inert "the exporter in the controller reads it";
    /// Which requests are traced.
    otel_sampler: Sampler = Sampler::AlwaysOn, own("AlwaysOn, AlwaysOff or TraceIdRatioBased"), "TraceIdRatioBased", [Text];
    /// The share of requests that `TraceIdRatioBased` traces.
    otel_sampler_ratio: Ratio = Ratio::from_millionths(10_000), own("a number from 0 to 1"), "0.25", [Text];
    /// Trace a request that belongs to a trace whatever the sampler says.
    otel_sampler_parent_based: bool = true, BOOL, "false", [Text];
    /// Spans that may wait for the exporter.
    otel_max_queuesize: u32 = 2048, COUNT, "4096", [Text];
    /// Milliseconds between two exports.
    otel_schedule_delay_millis: u32 = 5000, COUNT, "1000", [] inert "the exporter in the controller reads it";
    /// Spans of one export.
    otel_max_export_batch_size: u32 = 512, COUNT, "1024", [] inert "the exporter in the controller reads it";
}

const PORT: Grammar<u16> = Grammar {
    value: "a number from 1 to 65535",
    read: |text, _| match text.parse() {
        Ok(port) if port > 0 && text.bytes().all(|byte| byte.is_ascii_digit()) => Ok(port),
        _ => Err(Invalid::new("a number from 1 to 65535")),
    },
    print: u16::to_string,
};

/// What is wrong with keys together: key, and what happens instead.
pub(crate) fn unsendable_logs(config: &Config) -> Option<(&'static str, String)> {
    let observability = &config.observability;
    let lost = observability.enable_syslog && observability.syslog_host.is_none();
    lost.then(|| ("enable-syslog", "syslog-host does not say where to; the logs stay where they are".to_owned()))
}

/// Puts the default in the place of log formats and paths with a variable that nothing can define: NGINX would refuse the whole configuration. Says of
/// each key what is wrong with it. Where there are snippets, one of them may define it, and NGINX decides.
pub(crate) fn withdraw_unknown(config: &mut Config) -> Vec<(&'static str, String)> {
    let defaults = Config::default();
    let snippets = &config.snippets;
    let in_http = [&snippets.main_snippet, &snippets.http_snippet, &snippets.server_snippet, &snippets.location_snippet];
    let defined_here = config.allow_snippet_annotations || in_http.iter().any(|snippet| snippet.is_some());
    let defined_in_stream = defined_here || snippets.stream_snippet.is_some();
    let in_http = |name: &str| defined_here || is_built_in_variable(name);
    let in_stream = |name: &str| defined_in_stream || is_stream_variable(name);
    let mut withdrawn = Vec::new();
    let mut report = |key, name: String| {
        withdrawn.push((key, format!("NGINX has no variable ${name} there, and no snippet defines one; the default is used")));
    };
    if let Some(name) = unknown(&config.log_format_upstream, in_http) {
        config.log_format_upstream = defaults.log_format_upstream;
        report("log-format-upstream", name);
    }
    let observability = &mut config.observability;
    if let Some(name) = unknown(&observability.log_format_stream, in_stream) {
        observability.log_format_stream = defaults.observability.log_format_stream;
        report("log-format-stream", name);
    }
    let unknown_in = |target: &LogTarget, known: &dyn Fn(&str) -> bool| target.variables().find(|name| !known(name)).map(str::to_owned);
    let in_both = |name: &str| in_http(name) && in_stream(name);
    if let Some(name) = unknown_in(&config.access_log_path, &in_both) {
        config.access_log_path = defaults.access_log_path;
        report("access-log-path", name);
    }
    if let Some(name) = observability.http_access_log_path.as_ref().and_then(|target| unknown_in(target, &in_http)) {
        observability.http_access_log_path = None;
        report("http-access-log-path", name);
    }
    if let Some(name) = observability.stream_access_log_path.as_ref().and_then(|target| unknown_in(target, &in_stream)) {
        observability.stream_access_log_path = None;
        report("stream-access-log-path", name);
    }
    withdrawn
}

/// The first variable of a text that is not known. Captures are none.
fn unknown(format: &Template, is_known: impl Fn(&str) -> bool) -> Option<String> {
    format.parts().into_iter().find_map(|part| match part {
        Part::Variable(name) if !is_known(name) => Some(name.to_owned()),
        Part::Capture(digit) => Some(digit.to_string()),
        Part::Variable(_) | Part::Literal(_) => None,
    })
}

/// A form of the access logs (`log-format-preset`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum LogPreset {
    /// A JSON object in each line.
    Json,
}

impl FromStr for LogPreset {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if text == "json" { Ok(Self::Json) } else { Err(Invalid::new("json, or empty")) }
    }
}

impl fmt::Display for LogPreset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Json => "json",
        })
    }
}

/// Which requests are traced (`otel-sampler`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Sampler {
    /// All.
    AlwaysOn,
    /// None.
    AlwaysOff,
    /// A share.
    TraceIdRatioBased,
}

impl FromStr for Sampler {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "AlwaysOn" => Ok(Self::AlwaysOn),
            "AlwaysOff" => Ok(Self::AlwaysOff),
            "TraceIdRatioBased" => Ok(Self::TraceIdRatioBased),
            _ => Err(Invalid::new("AlwaysOn, AlwaysOff or TraceIdRatioBased")),
        }
    }
}

impl fmt::Display for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AlwaysOn => "AlwaysOn",
            Self::AlwaysOff => "AlwaysOff",
            Self::TraceIdRatioBased => "TraceIdRatioBased",
        })
    }
}

/// A share from 0 to 1, kept in millionths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ratio(u32);

impl Ratio {
    const fn from_millionths(millionths: u32) -> Self {
        Self(millionths)
    }

    /// The share, 0 to 1.
    pub fn share(self) -> f64 {
        f64::from(self.0) / 1e6
    }
}

impl FromStr for Ratio {
    type Err = Invalid;

    /// Empty means 0.
    fn from_str(text: &str) -> Result<Self, Invalid> {
        let share: f64 = if text.is_empty() { 0.0 } else { text.parse().map_err(|_| Invalid::new("a number from 0 to 1"))? };
        if (0.0..=1.0).contains(&share) { Ok(Self((share * 1e6).round() as u32)) } else { Err(Invalid::new("a number from 0 to 1")) }
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.share())
    }
}

#[cfg(test)]
mod tests {
    use crate::config::Config;
    use crate::config::tests::check;

    #[test]
    fn logs_are_buffered_left_out_and_sent_away() {
        for (key, value, printed) in [
            ("access-log-params", "buffer=16k  flush=1m gzip", "buffer=16k flush=1m gzip"),
            ("access-log-params", "gzip=5", "gzip=5"),
            ("access-log-params", "", ""),
            ("skip-access-log-urls", "/healthz, ~*^/static/", "/healthz,~*^/static/"),
            ("syslog-host", "logs.example.com", "logs.example.com"),
            ("syslog-host", "fd00::1", "fd00::1"),
            ("syslog-port", "5514", "5514"),
            ("log-format-preset", "json", "json"),
            ("log-format-preset", "", ""),
        ] {
            check(key, value, printed, &[]);
        }
        for value in ["if=$x", "/dev/null", "buffer=", "buffer=1k;", "gzip=10", "flush=x"] {
            let expected = format!("{value:?}: expected buffer=SIZE, flush=TIME, gzip or gzip=LEVEL; it is left out");
            check("access-log-params", value, "", &[&expected]);
        }
        let unknown = "NGINX has no variable $nonsense there, and no snippet defines one; the default is used";
        let default = Config::default();
        check("log-format-upstream", "$remote_addr ${nonsense}", default.log_format_upstream.as_str(), &[unknown]);
        check("log-format-stream", "$nonsense", default.observability.log_format_stream.as_str(), &[unknown]);
        check("log-format-upstream", "$narthex_reason $opentelemetry_trace_id", "$narthex_reason $opentelemetry_trace_id", &[]);
        check("log-format-upstream", "$geoip2_city $request_id $http_x", "$geoip2_city $request_id $http_x", &[]);
        check("http-access-log-path", "/logs/$nonsense.log", "", &[unknown]);
        check("stream-access-log-path", "/logs/$protocol.log", "/logs/$protocol.log", &[]);
        let capture = "NGINX has no variable $1 there, and no snippet defines one; the default is used";
        check("log-format-upstream", "$1", default.log_format_upstream.as_str(), &[capture]);
        let of_stream = "NGINX has no variable $request there, and no snippet defines one; the default is used";
        check("log-format-stream", "$request", default.observability.log_format_stream.as_str(), &[of_stream]);
        check("access-log-params", "flush=1m", "", &["\"flush=1m\": without buffer=SIZE or gzip nothing is collected; it is left out"]);
        check("enable-syslog", "true", "true", &["syslog-host does not say where to; the logs stay where they are"]);
        check("log-format-preset", "xml", "", &["expected json, or empty; the default \"\" is used"]);
        check("syslog-host", "a:b;", "", &["expected a host name or an IP address; the default \"\" is used"]);
    }

    #[test]
    fn exporters_have_numbers_and_names() {
        for (key, value, printed) in [
            ("otel-sampler-ratio", "0.25", "0.25"),
            ("otel-sampler-ratio", "1e-2", "0.01"),
            ("otel-sampler-ratio", "", "0"),
            ("otel-sampler", "TraceIdRatioBased", "TraceIdRatioBased"),
            ("otlp-collector-port", "4318", "4318"),
            ("opentelemetry-operation-name", "HTTP $request_method $uri", "HTTP $request_method $uri"),
            ("modsecurity-snippet", "# modsecurity snippet", "# modsecurity snippet\n"),
        ] {
            check(key, value, printed, &[]);
        }
        check("otel-sampler-ratio", "2", "0.01", &["expected a number from 0 to 1; the default \"0.01\" is used"]);
        check("otlp-collector-port", "0", "4317", &["expected a number from 1 to 65535; the default \"4317\" is used"]);
    }
}
