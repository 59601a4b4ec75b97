//! Spans as Lua writes them (docs/live-protocol.md), and as the exporter takes them.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use opentelemetry::trace::{SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId, TraceState};
use opentelemetry::{InstrumentationScope, KeyValue};
use opentelemetry_sdk::trace::{SpanData, SpanEvents, SpanLinks};
use serde::Deserialize;

/// A request that NGINX answered.
#[derive(Debug, Deserialize)]
pub(super) struct Span {
    /// 32 hexadecimal digits.
    trace: String,
    /// 16 hexadecimal digits.
    span: String,
    /// The span of the client, where its trace goes on.
    parent: Option<String>,
    name: String,
    /// Milliseconds since 1970.
    began: u64,
    ended: u64,
    #[serde(default)]
    failed: bool,
    attributes: BTreeMap<String, Attribute>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Attribute {
    Number(i64),
    Text(String),
}

impl Span {
    /// `None` where an id is none.
    pub(super) fn into_data(self, scope: &InstrumentationScope) -> Option<SpanData> {
        let trace = TraceId::from_hex(&self.trace).ok()?;
        let span = SpanId::from_hex(&self.span).ok()?;
        let parent = self.parent.as_deref().map_or(Ok(SpanId::INVALID), SpanId::from_hex).ok()?;
        let attribute = |(key, value)| match value {
            Attribute::Number(number) => KeyValue::new(key, number),
            Attribute::Text(text) => KeyValue::new(key, text),
        };
        Some(SpanData {
            span_context: SpanContext::new(trace, span, TraceFlags::SAMPLED, false, TraceState::NONE),
            parent_span_id: parent,
            parent_span_is_remote: parent != SpanId::INVALID,
            span_kind: SpanKind::Server,
            name: self.name.into(),
            start_time: time(self.began),
            end_time: time(self.ended),
            attributes: self.attributes.into_iter().map(attribute).collect(),
            dropped_attributes_count: 0,
            events: SpanEvents::default(),
            links: SpanLinks::default(),
            status: if self.failed { Status::error("") } else { Status::Unset },
            instrumentation_scope: scope.clone(),
        })
    }
}

fn time(millis: u64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<SpanData> {
        serde_json::from_str::<Span>(text).expect("it is a span").into_data(&InstrumentationScope::builder("narthex").build())
    }

    #[test]
    fn what_lua_writes_is_what_is_exported() {
        let text = r#"{"trace":"0af7651916cd43dd8448eb211c80319c","span":"b7ad6b7169203331","parent":"00f067aa0ba902b7","name":"GET /",
            "began":1700000000123,"ended":1700000000223,"failed":true,"attributes":{"http.response.status_code":503,"url.path":"/a"}}"#;
        let span = read(text).expect("its ids are valid");
        assert_eq!(span.span_context.trace_id().to_string(), "0af7651916cd43dd8448eb211c80319c");
        assert_eq!(span.span_context.span_id().to_string(), "b7ad6b7169203331");
        assert_eq!(span.parent_span_id.to_string(), "00f067aa0ba902b7");
        assert_eq!(span.end_time.duration_since(span.start_time).expect("it ends later"), Duration::from_millis(100));
        assert_eq!(span.attributes, [KeyValue::new("http.response.status_code", 503), KeyValue::new("url.path", "/a")]);
        assert_eq!((span.span_kind, span.status), (SpanKind::Server, Status::error("")));
    }

    #[test]
    fn a_span_without_a_parent_is_the_first_of_its_trace_and_one_without_an_id_is_none() {
        let text = r#"{"trace":"TRACE","span":"b7ad6b7169203331","name":"","began":1,"ended":1,"attributes":{}}"#;
        let span = read(&text.replace("TRACE", "0af7651916cd43dd8448eb211c80319c")).expect("its ids are valid");
        assert_eq!((span.parent_span_id, span.parent_span_is_remote, span.status), (SpanId::INVALID, false, Status::Unset));
        assert!(read(text).is_none());
    }
}
