//! The access logs as JSON (`log-format-preset`): one object a line.
//!
//! NGINX escapes the values for JSON. What clients write may be no UTF-8: these values come from variables of `log_json.conf`.

use ngx_value::Template;
use settings::Config;
use settings::groups::LogPreset;

/// A field: a text, or a number, which NGINX always has.
enum Field {
    Text(&'static str, &'static str),
    Number(&'static str, &'static str),
}

use Field::{Number, Text};

/// Of requests, in order. `docs/logs.md` describes each.
const HTTP: &[Field] = &[
    Text("time", "$time_iso8601"),
    Number("msec", "$msec"),
    Text("request_id", "$narthex_json_id"),
    Text("trace_id", "$opentelemetry_trace_id"),
    Text("span_id", "$opentelemetry_span_id"),
    Text("trace_flags", "$narthex_trace_flags"),
    Text("client", "$remote_addr"),
    Text("user", "$narthex_json_user"),
    Text("method", "$request_method"),
    Text("scheme", "$scheme"),
    Text("host", "$narthex_json_host"),
    Text("path", "$narthex_json_path"),
    Text("protocol", "$server_protocol"),
    Number("status", "$narthex_json_status"),
    Text("reason", "$narthex_json_reason"),
    Text("namespace", "$namespace"),
    Text("ingress", "$ingress_name"),
    Text("service", "$service_name"),
    Text("service_port", "$service_port"),
    Text("rule_path", "$location_path"),
    Text("backend", "$proxy_upstream_name"),
    Text("canary", "$proxy_alternative_upstream_name"),
    Text("upstream_addr", "$upstream_addr"),
    Text("upstream_status", "$upstream_status"),
    Text("upstream_connect_seconds", "$upstream_connect_time"),
    Text("upstream_header_seconds", "$upstream_header_time"),
    Text("upstream_seconds", "$upstream_response_time"),
    Text("upstream_bytes", "$upstream_response_length"),
    Number("seconds", "$request_time"),
    Number("bytes_received", "$request_length"),
    Number("bytes_sent", "$bytes_sent"),
    Number("body_bytes_sent", "$body_bytes_sent"),
    Text("referer", "$narthex_json_referer"),
    Text("user_agent", "$narthex_json_agent"),
];

/// Of connections and UDP sessions.
const STREAM: &[Field] = &[
    Text("time", "$time_iso8601"),
    Number("msec", "$msec"),
    Text("client", "$remote_addr"),
    Text("protocol", "$protocol"),
    Text("port", "$server_port"),
    Text("backend", "$proxy_upstream_name"),
    Text("status", "$status"),
    Text("upstream_addr", "$upstream_addr"),
    Text("upstream_seconds", "$upstream_session_time"),
    Number("seconds", "$session_time"),
    Number("bytes_received", "$bytes_received"),
    Number("bytes_sent", "$bytes_sent"),
];

/// Whether the access logs have this form.
pub(super) fn is_chosen(config: &Config) -> bool {
    config.observability.log_format_preset == Some(LogPreset::Json)
}

/// The format of requests.
pub(super) fn http() -> Template {
    template(HTTP)
}

/// The format of connections and UDP sessions.
pub(super) fn stream() -> Template {
    template(STREAM)
}

fn template(fields: &[Field]) -> Template {
    let written = fields.iter().map(|field| match field {
        Text(name, value) => format!("\"{name}\":\"{value}\""),
        Number(name, value) => format!("\"{name}\":{value}"),
    });
    let text = format!("{{{}}}", written.collect::<Vec<_>>().join(","));
    text.parse().expect("every $ of the fields begins a variable")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    const DOCS: &str = include_str!("../../../../../docs/logs.md");

    #[test]
    fn each_field_is_there_once_and_documented() {
        for fields in [HTTP, STREAM] {
            let mut seen = BTreeSet::new();
            for Text(name, _) | Number(name, _) in fields {
                assert!(seen.insert(name), "{name} is there twice");
                assert!(DOCS.contains(&format!("\n| `{name}` |")), "docs/logs.md has no row for {name}");
            }
        }
    }

    #[test]
    fn a_format_is_one_object() {
        assert!(stream().as_str().starts_with(r#"{"time":"$time_iso8601","msec":$msec,"client":"$remote_addr","#));
        assert!(http().as_str().ends_with(r#","user_agent":"$narthex_json_agent"}"#));
    }
}
