//! One line of an access log that is an object of JSON.

use serde_json::{Map, Value};

use super::format::{Fields, Part};
use super::line::{Line, unescape};

/// Reads a line; `None` for what is no object, and for what was no HTTP request.
pub(super) fn parse(text: &str, fields: &Fields) -> Option<Line> {
    let object = object(text)?;
    // As runtimes of containers wrap the lines of a program.
    if let Some(Value::String(inner)) = object.get("log")
        && inner != text
    {
        return Line::read(inner.trim_end(), &super::LogFormat::Auto);
    }
    let value = |part| fields.names(part).find_map(|name| look(&object, name));
    let (method, target) = match (value(Part::Method), value(Part::Target), value(Part::Request)) {
        // The request line is what was sent.
        (.., Some(request)) if request.contains(' ') => {
            let mut words = request.split(' ').filter(|word| !word.is_empty());
            (words.next()?.to_owned(), words.next()?.to_owned())
        }
        (method, Some(target), _) => (method.unwrap_or_else(|| "GET".into()), target),
        _ => return None,
    };
    let target = match value(Part::Query) {
        Some(query) if !target.contains('?') => format!("{target}?{}", query.trim_start_matches('?')),
        _ => target,
    };
    let host = fields.names(Part::Host).filter_map(|name| look(&object, name)).find(|host| is_host(host));
    Line::of(&method, &target, host.as_deref(), value(Part::Backend))
}

/// Logs whose escapes are those of text (`\xHH`) are no JSON as they stand.
fn object(text: &str) -> Option<Map<String, Value>> {
    let read = |text: &str| serde_json::from_str::<Map<String, Value>>(text).ok();
    read(text).or_else(|| {
        let mut object = read(&text.replace("\\x", "\\\\x"))?;
        for value in object.values_mut() {
            if let Value::String(text) = value {
                *text = unescape(text);
            }
        }
        Some(object)
    })
}

/// The value of a field, or of one in an object, that says something.
fn look(object: &Map<String, Value>, name: &str) -> Option<String> {
    let found = object.get(name).or_else(|| {
        let (first, rest) = name.split_once('.')?;
        let mut found = object.get(first)?;
        for part in rest.split('.') {
            found = found.get(part)?;
        }
        Some(found)
    })?;
    match found {
        Value::String(text) if !text.is_empty() && text != "-" => Some(text.clone()),
        _ => None,
    }
}

/// `$server_name` may be a pattern, or the name of no host.
fn is_host(text: &str) -> bool {
    !text.starts_with(['~', '_']) && !text.contains('*')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, fields: &Fields, expected: Option<(&str, &str, Option<&str>, Option<&str>)>) {
        let line = parse(text, fields);
        let line = line.as_ref().map(|line| (line.method.as_str(), line.target.as_str(), line.host.as_deref(), line.backend.as_deref()));
        assert_eq!(line, expected, "{text}");
    }

    #[test]
    fn the_usual_names_are_found() {
        let usual = Fields::default();
        let plain = r#"{"time_local":"21/Nov/2026:18:00:00 +0000","request_method":"HEAD","request_uri":"/a?b=1","uri":"/x","host":"Shop.example.com:80","server_name":"_","status":200}"#;
        check(plain, &usual, Some(("HEAD", "/a?b=1", Some("shop.example.com"), None)));
        let documented = r#"{"vhost":"shop.example.com","path":"/a b","request_query":"c=d","method":"GET","duration":0.1}"#;
        check(documented, &usual, Some(("GET", "/a%20b?c=d", Some("shop.example.com"), None)));
        let line = r#"{"request":"POST /x HTTP/1.1","server_name":"*.example.com","proxy_upstream_name":"n-a-80","uri":"/y"}"#;
        check(line, &usual, Some(("POST", "/x", None, Some("n-a-80"))));
        let nested = r#"{"url":{"original":"/x","domain":"a.example.com"},"http":{"request":{"method":"GET"}}}"#;
        check(nested, &usual, Some(("GET", "/x", Some("a.example.com"), None)));
    }

    #[test]
    fn fields_can_be_named() {
        let crate::traffic::LogFormat::Json(named) = "json:host=site,target=u,method=m".parse().unwrap() else { panic!("JSON") };
        check(r#"{"site":"a.example.com","u":"/x","m":"GET","host":"other"}"#, &named, Some(("GET", "/x", Some("a.example.com"), None)));
    }

    #[test]
    fn escapes_of_text_within_json_are_read() {
        let text = r#"{"request":"GET /\x22a\xC3\xA9 HTTP/1.1","host":"a.example.com","agent":"say \x22hi\x22"}"#;
        check(text, &Fields::default(), Some(("GET", "/%22a%C3%A9", Some("a.example.com"), None)));
    }

    #[test]
    fn a_line_that_a_container_runtime_has_wrapped_is_unwrapped() {
        let inner = r#"10.0.0.1 - - [21/Nov/2026:18:00:00 +0000] \"GET /a HTTP/1.1\" 200 1 \"-\" \"-\" 1 0.1 [n-a-80] [] - - - - a\n"#;
        let text = format!(r#"{{"log":"{inner}","stream":"stdout","time":"2026-11-21T18:00:00Z"}}"#);
        check(&text, &Fields::default(), Some(("GET", "/a", None, Some("n-a-80"))));
    }

    #[test]
    fn what_says_nothing_of_a_request_is_no_line() {
        for text in ["{}", "{", "[]", r#"{"host":"a"}"#, r#"{"uri":"x"}"#, r#"{"uri":"/","method":"get"}"#, r#"{"request":"\x16\x03"}"#] {
            check(text, &Fields::default(), None);
        }
    }
}
