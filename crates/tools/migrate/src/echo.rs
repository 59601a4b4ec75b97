//! The backend that answered and the request that it got, as the usual echo servers say it in their bodies.

/// The content of an echo server's body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Echoed {
    /// The Service, with its namespace where it is said; else the server's own name.
    pub backend: Option<String>,
    /// The target that it saw.
    pub target: Option<String>,
}

/// Reads a body: JSON with `service`, `pod`, `path` and the like, or lines `name=value` or `name: value`.
pub fn read(body: &[u8]) -> Echoed {
    let text = String::from_utf8_lossy(body);
    let find = |names: &[&str]| names.iter().find_map(|name| in_json(&text, name).or_else(|| in_lines(&text, name)));
    let named = find(&["service"]).map(|service| match find(&["namespace"]) {
        Some(namespace) => format!("{namespace}/{service}"),
        None => service,
    });
    let backend = named.or_else(|| find(&["pod", "hostname", "server"]));
    Echoed { backend, target: find(&["request_uri", "real path", "path"]).or_else(|| request_line(&text)) }
}

fn in_json(text: &str, name: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text.trim_start().starts_with('{').then_some(text)?).ok()?;
    let fields = value.as_object()?;
    let found = fields.iter().find(|(key, _)| key.eq_ignore_ascii_case(name))?.1.as_str()?;
    (!found.is_empty()).then(|| found.to_owned())
}

/// Only lines before the first one about the request's headers: a client could write the others.
fn in_lines(text: &str, name: &str) -> Option<String> {
    let head = text.split("\n\n").take(3).flat_map(str::lines).take_while(|line| !line.to_ascii_lowercase().contains("header"));
    head.filter_map(|line| {
        let at = line.find(['=', ':'])?;
        let (key, value) = (line[..at].trim(), line[at + 1..].trim());
        (key.eq_ignore_ascii_case(name) && !value.is_empty()).then(|| value.to_owned())
    })
    .next()
}

/// `GET /path HTTP/1.1` on a line of its own.
fn request_line(text: &str) -> Option<String> {
    text.lines().find_map(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        matches!(words.as_slice(), [_, target, version] if version.trim().starts_with("HTTP/") && target.starts_with('/'))
            .then(|| words[1].to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, backend: Option<&str>, target: Option<&str>) {
        let echoed = read(body.as_bytes());
        assert_eq!((echoed.backend.as_deref(), echoed.target.as_deref()), (backend, target), "{body}");
    }

    #[test]
    fn the_usual_echo_servers_are_understood() {
        check("server=a-0\nservice=a\nnamespace=n\npod=a-0\nrequest_uri=/x?y\npath=/x\n\nhost=h\n", Some("n/a"), Some("/x?y"));
        check("Hostname: whoami-7\nIP: 127.0.0.1\nGET /x HTTP/1.1\nHost: h\n", Some("whoami-7"), Some("/x"));
        check(
            "\n\nHostname: echo-1\n\nRequest Information:\n\treal path=/x?y\n\nRequest Headers:\n\tservice=no\n",
            Some("echo-1"),
            Some("/x?y"),
        );
        check(r#"{"path":"/x","host":"h","namespace":"n","service":"s","pod":"p"}"#, Some("n/s"), Some("/x"));
    }

    #[test]
    fn another_body_tells_nothing() {
        check("<html>not found</html>", None, None);
        check("{\"a\": [1]}", None, None);
    }
}
