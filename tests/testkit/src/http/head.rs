//! The head of a response, and how its body is framed.

use anyhow::Context;

use super::Response;

/// The end of a response's body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Framing {
    /// After this many bytes.
    Length(usize),
    /// After the chunk of length 0 and its trailers.
    Chunked,
    /// With the connection.
    Close,
}

/// Reads a status line and headers, the empty line not included.
///
/// # Errors
/// When it isn't HTTP/1; the error quotes the line.
pub(super) fn parse(head: &str) -> anyhow::Result<Response> {
    let mut lines = head.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    let mut words = status_line.splitn(3, ' ');
    let version =
        words.next().filter(|v| v.starts_with("HTTP/1.")).with_context(|| format!("status line {status_line:?} is not HTTP/1"))?;
    let status = words.next().and_then(|code| code.parse().ok()).with_context(|| format!("status line {status_line:?} has no status"))?;
    let headers = lines
        .map(|line| {
            let (name, value) = line.split_once(':').with_context(|| format!("header line {line:?} has no ':'"))?;
            Ok((name.to_owned(), value.trim().to_owned()))
        })
        .collect::<anyhow::Result<_>>()?;
    Ok(Response { status, version: version.to_owned(), headers, ..Response::default() })
}

/// The framing of the body after this head, for a request of `method`.
///
/// # Errors
/// The length is not a number.
pub(super) fn framing(method: &str, head: &Response) -> anyhow::Result<Framing> {
    if method == "HEAD" || head.status < 200 || matches!(head.status, 204 | 304) {
        return Ok(Framing::Length(0));
    }
    if head.header_all("transfer-encoding").any(|value| value.eq_ignore_ascii_case("chunked")) {
        return Ok(Framing::Chunked);
    }
    match head.header("content-length") {
        Some(length) => Ok(Framing::Length(length.parse().with_context(|| format!("content-length {length:?} is not a number"))?)),
        None => Ok(Framing::Close),
    }
}

/// Whether the connection can carry another request after this response.
pub(super) fn keeps_alive(framing: Framing, head: &Response) -> bool {
    let said = head.header("connection").unwrap_or(if head.version == "HTTP/1.0" { "close" } else { "keep-alive" });
    framing != Framing::Close && !said.eq_ignore_ascii_case("close")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &str, head: &str, expected: Framing, alive: bool) {
        let head = parse(head).unwrap();
        let framing = framing(method, &head).unwrap();
        assert_eq!((framing, keeps_alive(framing, &head)), (expected, alive));
    }

    #[test]
    fn the_end_of_a_body_is_known() {
        check("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5", Framing::Length(5), true);
        check("GET", "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nConnection: close", Framing::Chunked, false);
        check("GET", "HTTP/1.0 200 OK", Framing::Close, false);
        check("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5", Framing::Length(0), true);
        check("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5", Framing::Length(0), true);
    }

    #[test]
    fn the_reason_may_be_missing_and_names_keep_their_case() {
        let head = parse("HTTP/1.1 503\r\nX-One:  a \r\nx-one: b").unwrap();
        assert_eq!((head.status, head.headers), (503, vec![("X-One".into(), "a".into()), ("x-one".into(), "b".into())]));
    }

    #[test]
    fn what_is_not_http_is_quoted() {
        assert!(parse("SSH-2.0").unwrap_err().to_string().contains("SSH-2.0"));
    }
}
