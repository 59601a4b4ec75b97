//! The choice of requests from a log: some of every shape rather than many of the commonest.

use crate::request::Request;

/// A request without what differs between requests of one kind: numbers, hashes and values become `*`.
pub(super) fn shape(request: &Request) -> String {
    let (path, query) = request.target.split_once('?').unwrap_or((&request.target, ""));
    let segments: Vec<&str> = path.split('/').map(|segment| if is_identity(segment) { "*" } else { segment }).collect();
    let names: Vec<&str> = query.split('&').map(|pair| pair.split('=').next().unwrap_or_default()).collect();
    format!("{} {} {} {}?{}", request.scheme.label(), request.method, request.host, segments.join("/"), names.join("&"))
}

/// Numbers, hexadecimal identities and UUIDs, and anything with many digits.
fn is_identity(segment: &str) -> bool {
    let digits = segment.bytes().filter(u8::is_ascii_digit).count();
    let hexadecimal = segment.len() >= 8 && segment.bytes().all(|c| c.is_ascii_hexdigit() || c == b'-');
    digits > 0 && (digits == segment.len() || digits >= 4 || hexadecimal)
}

/// One of each, then a second of each, up to `most`.
pub(super) fn round_robin(shapes: &mut [Vec<Request>], most: usize) -> Vec<Request> {
    let longest = shapes.iter().map(Vec::len).max().unwrap_or(0);
    let rounds = (0..longest).flat_map(|round| shapes.iter().filter_map(move |shape| shape.get(round)));
    rounds.take(most).cloned().collect()
}
