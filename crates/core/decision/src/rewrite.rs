//! `rewrite-target`: the directive `rewrite` of NGINX with `break`.

use crate::pattern::{self, Captured};
use crate::variables::{Escape, Variables};

/// What becomes of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Rewritten {
    /// The backend gets this path and query.
    To(Vec<u8>),
    /// The client is redirected there.
    Redirect(Vec<u8>),
    /// Captures make segments of dots, which a backend would resolve to a path that the rule is not for: NGINX answers 400.
    Dots,
    /// Nothing is left: NGINX answers 500.
    Empty,
}

/// Whether a target is a redirect.
pub(crate) fn is_redirect(target: &str) -> bool {
    ["http://", "https://", "$scheme"].iter().any(|start| target.starts_with(start))
}

/// Applies a target. `None`: the path does not match. `captured` gets what it captures.
pub(crate) fn apply(path: &str, target: &str, variables: &Variables<'_>, captured: &mut Option<Captured>) -> Option<Rewritten> {
    let captures = Captured::of(&pattern::caseless(path)?, &variables.seen.path)?;
    *captured = Some(captures.clone());
    let request = variables.seen.request;
    let redirects = is_redirect(target);
    // The `?` at the end leaves out the query of the request.
    let (target, adds_query) = target.strip_suffix('?').map_or((target, true), |target| (target, false));
    let (target, query) = target.split_once('?').map_or((target, None), |(target, query)| (target, Some(query)));
    let quoted = is_quoted(&request.target);
    let escape = |wanted: bool| (quoted && wanted).then_some(escape_args as Escape);
    let mut uri = variables.expand(target, Some(&captures), escape(redirects));
    let own = query.map(|query| variables.expand(query, Some(&captures), escape(true)));
    if redirects {
        uri = unescaped(uri);
    } else if uri.is_empty() {
        return Some(Rewritten::Empty);
    } else if has_dots(&uri) {
        return Some(Rewritten::Dots);
    } else {
        uri = escape_path(&uri);
    }
    let given = Some(request.args()).filter(|args| adds_query && !args.is_empty()).map(|args| args.as_bytes().to_vec());
    let parts: Vec<Vec<u8>> = own.into_iter().chain(given).collect();
    if !parts.is_empty() {
        uri.push(b'?');
        uri.extend(parts.join(&b'&'));
    }
    Some(if redirects { Rewritten::Redirect(uri) } else { Rewritten::To(uri) })
}

/// Whether the path of a target has escapes: only then NGINX escapes captures.
fn is_quoted(target: &str) -> bool {
    let end = target.find('?').unwrap_or(target.len());
    target[..end].contains(['%', '+'])
}

fn has_dots(path: &[u8]) -> bool {
    path.split(|byte| *byte == b'/').any(|segment| segment == b"." || segment == b"..")
}

fn escaped(text: &[u8], is_escaped: impl Fn(u8) -> bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    for byte in text {
        if is_escaped(*byte) {
            out.extend(format!("%{byte:02X}").bytes());
        } else {
            out.push(*byte);
        }
    }
    out
}

fn escape_args(text: &[u8]) -> Vec<u8> {
    escaped(text, |byte| byte <= 32 || byte >= 127 || b"\"#%&+<>?\\^`{|}".contains(&byte))
}

/// As NGINX writes a path, to a backend and in a redirect of its own.
pub(crate) fn escape_path(path: &[u8]) -> Vec<u8> {
    escaped(path, |byte| byte <= 32 || byte >= 127 || b"\"#%<>?\\^`{|}".contains(&byte))
}

/// Printable characters lose their escape up to the first `?`, an escaped one included.
fn unescaped(text: Vec<u8>) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text.as_slice());
    while let Some((&byte, after)) = rest.split_first() {
        let code =
            after.get(..2).filter(|_| byte == b'%').and_then(|digits| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        match code {
            _ if byte == b'?' => break,
            Some(code) if code > 0x25 && code < 0x7f => {
                out.push(code);
                rest = &after[2..];
                if code == b'?' {
                    break;
                }
            }
            _ => {
                out.push(byte);
                rest = after;
            }
        }
    }
    out.extend(rest);
    out
}
