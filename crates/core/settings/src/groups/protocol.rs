//! Protocol to the backend.

use ngx_value::{Invalid, VhostTemplate};
use serde::Serialize;

use super::common::{self, LOCATION, set, trimmed};
use crate::table::{Applies, Entry, Group, OnInvalid};

pub(super) static GROUP: Group =
    Group { title: "Protocol to the backend", entries: ENTRIES, clear: |spec| spec.protocol = Protocol::default(), ..common::GROUP };

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Protocol {
    /// `backend-protocol`.
    pub backend_protocol: BackendProtocol,
    /// `upstream-vhost`: the Host header to the backend.
    pub upstream_vhost: Option<VhostTemplate>,
    /// `connection-proxy-header`. `None`: computed from what the client sends.
    pub connection_proxy_header: Option<ConnectionHeader>,
}

/// How endpoints are spoken to (`backend-protocol`).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum BackendProtocol {
    /// HTTP.
    #[default]
    Http,
    /// HTTP over TLS.
    Https,
    /// What the client speaks: HTTP, or HTTP over TLS.
    AutoHttp,
    /// gRPC.
    Grpc,
    /// gRPC over TLS.
    Grpcs,
    /// FastCGI.
    Fcgi,
}

/// The header `Connection` to endpoints (`connection-proxy-header`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConnectionHeader {
    /// `close`.
    Close,
    /// `keep-alive`.
    KeepAlive,
}

impl ConnectionHeader {
    /// As it stands in the header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Close => "close",
            Self::KeepAlive => "keep-alive",
        }
    }
}

static ENTRIES: &[Entry] = &[
    Entry {
        name: "backend-protocol",
        applies: Applies::Ready,
        value: "HTTP, HTTPS, AUTO_HTTP, GRPC, GRPCS or FCGI, in any letter case",
        doc: "How endpoints are spoken to. AUTO_HTTP is HTTPS where the client came over TLS. Certificates of endpoints are not verified without \
            `proxy-ssl-verify`. The first use of each but HTTP adds a profile.",
        example: "HTTPS",
        parse: |text, draft| set(&mut draft.spec.protocol.backend_protocol, protocol(text)),
        ..LOCATION
    },
    Entry {
        name: "connection-proxy-header",
        value: "close or keep-alive",
        doc: "The header `Connection` to the endpoint. Without it: `upgrade` where the client asks for it, otherwise what keeps connections open.",
        example: "keep-alive",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.protocol.connection_proxy_header, connection(text)),
        ..LOCATION
    },
    Entry {
        name: "upstream-vhost",
        value: "a host name, or text with variables such as `$host`, without spaces",
        doc: "The Host header to the endpoint. Without it: the one received.",
        example: "internal.example.com",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.protocol.upstream_vhost, trimmed(text)),
        ..LOCATION
    },
];

fn protocol(text: &str) -> Result<BackendProtocol, Invalid> {
    match text.trim().to_ascii_uppercase().as_str() {
        "HTTP" | "" => Ok(BackendProtocol::Http),
        "HTTPS" => Ok(BackendProtocol::Https),
        "AUTO_HTTP" => Ok(BackendProtocol::AutoHttp),
        "GRPC" => Ok(BackendProtocol::Grpc),
        "GRPCS" => Ok(BackendProtocol::Grpcs),
        "FCGI" => Ok(BackendProtocol::Fcgi),
        _ => Err(Invalid::new("HTTP, HTTPS, AUTO_HTTP, GRPC, GRPCS or FCGI")),
    }
}

fn connection(text: &str) -> Result<Option<ConnectionHeader>, Invalid> {
    match text.replace(' ', "").as_str() {
        "close" => Ok(Some(ConnectionHeader::Close)),
        "keep-alive" => Ok(Some(ConnectionHeader::KeepAlive)),
        "" => Ok(None),
        _ => Err(Invalid::new("close or keep-alive")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::testing::{bad, good};
    use crate::parse::FindingKind::Invalid as Bad;
    use crate::parse::ParseVerdict::{Accepted, Refused};

    #[test]
    fn a_protocol_may_have_any_letter_case() {
        for (text, protocol) in [
            ("HTTP", BackendProtocol::Http),
            ("https", BackendProtocol::Https),
            (" Auto_Http", BackendProtocol::AutoHttp),
            ("GRPC", BackendProtocol::Grpc),
            ("grpcs", BackendProtocol::Grpcs),
            ("FCGI", BackendProtocol::Fcgi),
        ] {
            assert_eq!(good(&[("backend-protocol", text)]).protocol.backend_protocol, protocol, "{text}");
        }
        bad(&[("backend-protocol", "AJP")], Accepted, &[("backend-protocol", Bad, "expected HTTP, HTTPS")]);
    }

    #[test]
    fn the_connection_header_is_one_of_two() {
        assert_eq!(good(&[("connection-proxy-header", "keep-alive")]).protocol.connection_proxy_header, Some(ConnectionHeader::KeepAlive));
        assert_eq!(good(&[("connection-proxy-header", "close ")]).protocol.connection_proxy_header.unwrap().as_str(), "close");
        for text in ["a;}", "Close", "keep-alive\n"] {
            bad(&[("connection-proxy-header", text)], Refused, &[("connection-proxy-header", Bad, "expected close or keep-alive")]);
        }
    }
}
