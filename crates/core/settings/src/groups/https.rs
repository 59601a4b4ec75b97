//! HTTPS.

use ngx_value::parse_bool;

use super::common::{self, BOOL, LOCATION, set};
use crate::config::grammar::{self, REDIRECT};
use crate::config::table::settings;
use crate::table::{Entry, Group, Risk, Since};

const DOC: &str = "Plain HTTP is redirected after redirects, and before limits and authentication. Any `tls` section of any Ingress of the host \
    makes it a host with a certificate. Paths of the setting `no-tls-redirect-locations` are never redirected.";

pub(super) static GROUP: Group =
    Group { title: "HTTPS", doc: DOC, entries: ENTRIES, keys: KEYS, clear: |spec| spec.https = Https::default(), ..common::GROUP };

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Https {
    /// `force-ssl-redirect`: the same without a certificate.
    pub force_ssl_redirect: Option<bool>,
    /// `http-redirect-code`: the status of that redirect: 301, 302, 307 or 308.
    pub http_redirect_code: Option<u16>,
    /// `preserve-trailing-slash`: that redirect keeps the slash at the end of the URI.
    pub preserve_trailing_slash: Option<bool>,
    /// `ssl-redirect`: plain HTTP is redirected to HTTPS if the host has a certificate.
    pub ssl_redirect: Option<bool>,
    /// `use-port-in-redirects`: redirects carry the port.
    pub use_port_in_redirects: Option<bool>,
}

settings! {
    /// The same for all Ingresses.
    HttpsDefaults in https;

    /// Redirect plain HTTP to HTTPS on hosts that have a certificate.
    ssl_redirect: bool = true, grammar::BOOL, "false", [Text, Ingresses];
    /// Redirect plain HTTP to HTTPS, certificate or not.
    force_ssl_redirect: bool = false, grammar::BOOL, "true", [Text, Ingresses];
    /// Status of the redirect to HTTPS.
    http_redirect_code: u16 = 308, REDIRECT, "301", [Text, Routes];
    /// Keep the slash at the end of the URI in the redirect to HTTPS.
    preserve_trailing_slash: bool = false, grammar::BOOL, "true", [Text, Routes];
    /// Put the port into redirects.
    use_port_in_redirects: bool = false, grammar::BOOL, "true", [Text, Routes] => "port_in_redirect";
}

static ENTRIES: &[Entry] = &[
    Entry {
        name: "force-ssl-redirect",
        risk: Risk::Medium,
        config_key: Some("force-ssl-redirect"),
        value: BOOL,
        doc: "Redirect plain HTTP to HTTPS even if the host has no certificate.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.https.force_ssl_redirect, parse_bool(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "http-redirect-code",
        config_key: Some("http-redirect-code"),
        value: REDIRECT.value,
        doc: "Status of the redirect to HTTPS. With 307 and 308 clients send the same method and body again.",
        example: "301",
        since: Since::Narthex,
        parse: |text, draft| set(&mut draft.spec.https.http_redirect_code, (REDIRECT.read)(text.trim(), &mut Vec::new()).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "preserve-trailing-slash",
        risk: Risk::Medium,
        config_key: Some("preserve-trailing-slash"),
        value: BOOL,
        doc: "Keep the slash at the end of the URI in the redirect to HTTPS.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.https.preserve_trailing_slash, parse_bool(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "ssl-redirect",
        config_key: Some("ssl-redirect"),
        value: BOOL,
        doc: "Redirect plain HTTP to HTTPS if the host has a certificate.",
        example: "false",
        parse: |text, draft| set(&mut draft.spec.https.ssl_redirect, parse_bool(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "use-port-in-redirects",
        config_key: Some("use-port-in-redirects"),
        value: BOOL,
        doc: "Put the port into redirects of NGINX itself, and the HTTPS port into the redirect to HTTPS.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.https.use_port_in_redirects, parse_bool(text).map(Some)),
        ..LOCATION
    },
];

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good};
    use crate::parse::FindingKind::Invalid;
    use crate::parse::ParseVerdict::Accepted;

    #[test]
    fn http_redirect_code_is_the_status_of_a_redirect() {
        assert_eq!(good(&[("http-redirect-code", " 301 ")]).https.http_redirect_code, Some(301));
        for value in ["303", "200", "x"] {
            let found = [("http-redirect-code", Invalid, "expected 301, 302, 307 or 308; the global setting 308 is used")];
            assert_eq!(bad(&[("http-redirect-code", value)], Accepted, &found).https.http_redirect_code, None);
        }
    }
}
