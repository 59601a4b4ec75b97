//! One request in, one answer out.

use std::net::SocketAddr;
use std::time::Duration;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::header::{ACCEPT, CONTENT_TYPE, HOST, HeaderName, HeaderValue, SERVER};
use hyper::{HeaderMap, Request, Response, StatusCode};
use parking_lot::Mutex;

use super::{Format, Identity, Seen};

/// Why a connection ends without an answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Silence {
    #[error("the request asked for it")]
    Asked,
    #[error("the request body could not be read")]
    Body(#[from] hyper::Error),
}

/// The options of a request beyond the echo; unusable values count as absent.
struct EchoOptions {
    status: StatusCode,
    delay: Duration,
    size: Option<usize>,
    close: bool,
}

impl EchoOptions {
    fn of(path: &str, query: Option<&str>, headers: &HeaderMap) -> Self {
        let ask = |parameter: &str, header: &str| {
            let pairs = query.unwrap_or_default().split('&').filter_map(|pair| pair.split_once('='));
            let in_query = pairs.filter(|(name, _)| *name == parameter).map(|(_, value)| value).next();
            in_query.or_else(|| headers.get(header)?.to_str().ok()).and_then(|value| value.parse::<u64>().ok())
        };
        let in_path = path.strip_prefix("/status/").and_then(|code| code.parse::<u64>().ok());
        let status =
            in_path.or_else(|| ask("status", "x-echo-status")).and_then(|code| StatusCode::from_u16(u16::try_from(code).ok()?).ok());
        Self {
            status: status.unwrap_or(StatusCode::OK),
            delay: Duration::from_millis(ask("delay_ms", "x-echo-delay-ms").unwrap_or(0)),
            size: ask("size", "x-echo-size").and_then(|size| usize::try_from(size).ok()).or(in_path.map(|_| 0)),
            close: ask("close", "x-echo-close") == Some(1),
        }
    }
}

/// Answers one request that came over the connection `client` → `address`, and keeps what was seen of it.
pub(super) async fn answer(
    request: Request<Incoming>,
    identity: &Identity,
    (address, client): (SocketAddr, SocketAddr),
    last: &Mutex<Option<Seen>>,
) -> Result<Response<Full<Bytes>>, Silence> {
    let (parts, mut body) = request.into_parts();
    let options = EchoOptions::of(parts.uri.path(), parts.uri.query(), &parts.headers);
    let mut body_bytes = 0_u64;
    while let Some(frame) = body.frame().await {
        body_bytes += frame?.data_ref().map_or(0, |data| data.len() as u64);
    }
    let seen = see(&parts, body_bytes, identity, address, client);
    *last.lock() = Some(seen.clone());
    if options.close {
        return Err(Silence::Asked);
    }
    if !options.delay.is_zero() {
        tokio::time::sleep(options.delay).await;
    }

    let json = identity.format == Format::Json || parts.headers.get(ACCEPT).is_some_and(|accept| accept == "application/json");
    let (content_type, content) = match options.size {
        Some(size) => ("text/plain", Bytes::from(vec![b'x'; size])),
        None => {
            if json {
                ("application/json", Bytes::from(serde_json::to_vec(&seen).expect("strings and numbers are always JSON")))
            } else {
                ("text/plain", Bytes::from(seen.to_string()))
            }
        }
    };
    let mut response = Response::new(Full::new(content));
    *response.status_mut() = options.status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(SERVER, HeaderValue::from_static("echo"));
    for line in parts.headers.get_all("x-echo-header") {
        if let Some((name, value)) = response_header(line) {
            // An answer has one type.
            if name == CONTENT_TYPE {
                response.headers_mut().remove(CONTENT_TYPE);
            }
            response.headers_mut().append(name, value);
        }
    }
    Ok(response)
}

fn response_header(line: &HeaderValue) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = line.to_str().ok()?.split_once(':')?;
    Some((name.trim().parse().ok()?, value.trim().parse().ok()?))
}

fn see(parts: &hyper::http::request::Parts, body_bytes: u64, identity: &Identity, address: SocketAddr, client: SocketAddr) -> Seen {
    let mut headers = std::collections::BTreeMap::<String, Vec<String>>::new();
    for (name, value) in &parts.headers {
        headers.entry(name.as_str().to_owned()).or_default().push(String::from_utf8_lossy(value.as_bytes()).into_owned());
    }
    Seen {
        server: identity.name.clone(),
        service: identity.service.clone(),
        namespace: identity.namespace.clone(),
        pod: identity.name.clone(),
        address: address.to_string(),
        client: client.to_string(),
        method: parts.method.to_string(),
        request_uri: parts.uri.to_string(),
        path: parts.uri.path().to_owned(),
        host: parts.headers.get(HOST).map(|host| String::from_utf8_lossy(host.as_bytes()).into_owned()).unwrap_or_default(),
        proto: format!("{:?}", parts.version),
        headers,
        body_bytes,
    }
}
