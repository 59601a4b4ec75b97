//! TLS to the backend.

use ngx_value::{CipherList, Invalid, TlsProtocol, VhostTemplate, parse_integer};

use super::common::{self, LOCATION, ON_OFF, object, set, trimmed, without_blanks};
use crate::rare::Rare;
use crate::reference::Reference;
use crate::table::{Applies, Entry, Group, Guard, Needs, OnInvalid, Risk};

pub(super) static GROUP: Group = Group {
    title: "TLS to the backend",
    doc: "For `backend-protocol: HTTPS`, `AUTO_HTTP` and `GRPCS`. All of it needs `proxy-ssl-secret`; without it endpoints get no certificate and no name, and theirs are \
        not verified. Unless the setting `proxy-ssl-location-only` is true, the oldest Ingress with such a Secret decides for the rest of the host, too.",
    entries: ENTRIES,
    clear: |spec| spec.backend_tls = Rare::default(),
    ..common::GROUP
};

/// What these annotations ask for. Empty without `secret`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BackendTls {
    /// `proxy-ssl-secret`: always with a namespace. Trusted CAs (`ca.crt`), certificate and key towards endpoints (`tls.crt`, `tls.key`). A Secret
    /// that is out of reach or unusable closes the locations.
    pub proxy_ssl_secret: Option<Reference>,
    /// `proxy-ssl-ciphers`. `None`: `DEFAULT`.
    pub proxy_ssl_ciphers: Option<CipherList>,
    /// `proxy-ssl-protocols`: 1.2 and 1.3 only, ascending, without duplicates. Empty: 1.2.
    pub proxy_ssl_protocols: Vec<TlsProtocol>,
    /// `proxy-ssl-name`: the name that is sent (SNI) and verified.
    pub proxy_ssl_name: Option<VhostTemplate>,
    /// `proxy-ssl-verify`: the endpoint's certificate is verified.
    pub proxy_ssl_verify: bool,
    /// `proxy-ssl-verify-depth`, at least 1. `None`: 1.
    pub proxy_ssl_verify_depth: Option<u32>,
    /// `proxy-ssl-server-name`: a name is sent (SNI).
    pub proxy_ssl_server_name: bool,
}

const TLS: Entry = Entry {
    applies: Applies::Profile,
    companions: &[("proxy-ssl-secret", "shop/backend-tls")],
    needs: Some(Needs { what: "proxy-ssl-secret", met: |spec| spec.backend_tls.proxy_ssl_secret.is_some() }),
    ..LOCATION
};

static ENTRIES: &[Entry] = &[
    Entry {
        name: "proxy-ssl-ciphers",
        risk: Risk::Medium,
        value: "a list of ciphers as OpenSSL writes it: letters, digits and `+ : _ - !`",
        doc: "Ciphers up to TLS 1.2. Without it: `DEFAULT`.",
        example: "HIGH:!aNULL",
        parse: |text, draft| set(&mut draft.spec.backend_tls.proxy_ssl_ciphers, ciphers(text)),
        ..TLS
    },
    Entry {
        name: "proxy-ssl-name",
        risk: Risk::High,
        value: "a host name, or text with variables such as `$host`, without spaces",
        doc: "The name that the endpoint's certificate must have, and that is sent with `proxy-ssl-server-name: on`. Without it: `service.namespace.svc`.",
        example: "backend.example.com",
        parse: |text, draft| set(&mut draft.spec.backend_tls.proxy_ssl_name, trimmed(text)),
        ..TLS
    },
    Entry {
        name: "proxy-ssl-protocols",
        value: "TLSv1.2, TLSv1.3 or both, separated by spaces",
        doc: "Versions of TLS. Without it: TLSv1.2.",
        example: "TLSv1.2 TLSv1.3",
        parse: |text, draft| set(&mut draft.spec.backend_tls.proxy_ssl_protocols, protocols(text)),
        ..TLS
    },
    Entry {
        name: "proxy-ssl-secret",
        risk: Risk::Medium,
        value: "a Secret: namespace and name",
        doc: "The CAs that are trusted (`ca.crt`), and the certificate that endpoints get (`tls.crt`, `tls.key`). Without `ca.crt` the certificate is \
            not used. Another namespace needs the setting `allow-cross-namespace-resources`. A Secret that is missing or unusable: the locations answer 503.",
        example: "shop/backend-tls",
        companions: &[],
        needs: None,
        on_invalid: OnInvalid::Deny,
        guard: Guard::Protects,
        parse: |text, draft| {
            draft.spec.backend_tls.proxy_ssl_secret = object(text, draft, true)?;
            Ok(())
        },
        ..TLS
    },
    Entry {
        name: "proxy-ssl-server-name",
        value: ON_OFF,
        doc: "Send the name (SNI).",
        example: "on",
        parse: |text, draft| set(&mut draft.spec.backend_tls.proxy_ssl_server_name, on_off(text)),
        ..TLS
    },
    Entry {
        name: "proxy-ssl-verify",
        value: ON_OFF,
        doc: "Verify the endpoint's certificate.",
        example: "on",
        parse: |text, draft| set(&mut draft.spec.backend_tls.proxy_ssl_verify, on_off(text)),
        ..TLS
    },
    Entry {
        name: "proxy-ssl-verify-depth",
        value: "a whole number; 0 means 1",
        doc: "How long the chain of certificates may be. Without it: 1.",
        example: "2",
        parse: |text, draft| set(&mut draft.spec.backend_tls.proxy_ssl_verify_depth, depth(text)),
        ..TLS
    },
];

/// Without the `@` that other lists of ciphers may have.
fn ciphers(text: &str) -> Result<Option<CipherList>, Invalid> {
    if text.contains('@') {
        return Err(Invalid::new("a list of ciphers such as HIGH:!aNULL"));
    }
    without_blanks(text)
}

fn protocols(text: &str) -> Result<Vec<TlsProtocol>, Invalid> {
    const EXPECTED: Invalid = Invalid::new("TLSv1.2, TLSv1.3 or both, separated by spaces");
    if text.contains(['\r', '\n']) {
        return Err(EXPECTED);
    }
    let mut list = Vec::new();
    for word in text.split_ascii_whitespace() {
        match word.parse() {
            Ok(protocol @ (TlsProtocol::V1_2 | TlsProtocol::V1_3)) => list.push(protocol),
            _ => return Err(EXPECTED),
        }
    }
    list.sort_unstable();
    list.dedup();
    Ok(list)
}

fn on_off(text: &str) -> Result<bool, Invalid> {
    match text.replace(' ', "").as_str() {
        "" => Ok(false),
        text => ngx_value::parse_on_off(text),
    }
}

fn depth(text: &str) -> Result<Option<u32>, Invalid> {
    const EXPECTED: Invalid = Invalid::new("a whole number from 0 to 2147483647");
    let depth = parse_integer(text).ok().and_then(|depth| i32::try_from(depth).ok()).and_then(|depth| u32::try_from(depth).ok());
    depth.map(|depth| Some(depth.max(1))).ok_or(EXPECTED)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::groups::testing::{bad, good};
    use crate::parse::FindingKind::{Invalid as Bad, Surprise};
    use crate::parse::ParseVerdict::{Accepted, Denied};

    const SECRET: (&str, &str) = ("proxy-ssl-secret", "shop/ca");

    #[track_caller]
    fn tls(name: &str, value: &str) -> BackendTls {
        (*good(&[SECRET, (name, value)]).backend_tls).clone()
    }

    #[test]
    fn everything_goes_with_a_secret() {
        assert_eq!(tls("proxy-ssl-ciphers", "HIGH:!AES").proxy_ssl_ciphers.unwrap().as_str(), "HIGH:!AES");
        assert_eq!(tls("proxy-ssl-protocols", "TLSv1.3 TLSv1.2 TLSv1.3").proxy_ssl_protocols, [TlsProtocol::V1_2, TlsProtocol::V1_3]);
        assert_eq!(tls("proxy-ssl-name", " a.com ").proxy_ssl_name.unwrap().as_str(), "a.com");
        assert!(tls("proxy-ssl-verify", "on").proxy_ssl_verify && tls("proxy-ssl-server-name", " on").proxy_ssl_server_name);
        assert_eq!(
            [tls("proxy-ssl-verify-depth", "0"), tls("proxy-ssl-verify-depth", "3")].map(|tls| tls.proxy_ssl_verify_depth),
            [Some(1), Some(3)]
        );
        bad(&[("proxy-ssl-verify", "on")], Accepted, &[("proxy-ssl-verify", Surprise, "it has no effect without proxy-ssl-secret")]);
    }

    #[test]
    fn a_value_that_is_not_taken_is_ignored() {
        for (name, value) in [
            ("proxy-ssl-ciphers", "HIGH;"),
            ("proxy-ssl-ciphers", "@SECLEVEL=0"),
            ("proxy-ssl-protocols", "TLSv1.1 TLSv1.2"),
            ("proxy-ssl-name", "a b"),
            ("proxy-ssl-verify", "true"),
            ("proxy-ssl-verify-depth", "-1"),
            ("proxy-ssl-server-name", "off;"),
        ] {
            let spec = bad(&[SECRET, (name, value)], Accepted, &[(name, Bad, "expected ")]);
            assert_eq!(
                spec.backend_tls,
                BackendTls { proxy_ssl_secret: Some("shop/ca".parse().unwrap()), ..BackendTls::default() },
                "{name}"
            );
        }
    }

    #[test]
    fn a_secret_has_a_namespace_and_is_never_ignored() {
        for text in ["ca", "a/b/c", "/", "A/b"] {
            bad(
                &[("proxy-ssl-secret", text)],
                Denied,
                &[("proxy-ssl-secret", Bad, "expected a namespace and a name such as shop/ca; because it protects")],
            );
        }
        bad(&[("proxy-ssl-secret", "a/b;c")], Denied, &[("proxy-ssl-secret", Bad, "expected a namespace and a name")]);
    }
}
