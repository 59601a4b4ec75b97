//! TLS towards clients: ciphers, passthrough, client certificates.

use std::fmt;
use std::str::FromStr;

use ngx_value::{CipherList, Invalid, LocationName, Pattern, RedirectTemplate, parse_bool, parse_integer};

use super::common::{self, BOOL, LOCATION, is_basic, object, set, without_blanks};
use crate::config::Config;
use crate::effective::Effective;
use crate::parse::FindingKind;
use crate::rare::Rare;
use crate::reference::Reference;
use crate::table::*;

pub(super) static GROUP: Group = Group {
    title: "TLS towards clients and client certificates",
    doc: "All of them hold for the whole host: the oldest Ingress of the host that sets something decides. Client certificates are checked on TLS connections only, so plain HTTP should be redirected.",
    entries: ENTRIES,
    settle,
    clear: |spec| spec.client_tls = Rare::default(),
    ..common::GROUP
};

/// What these annotations ask for.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ClientTls {
    /// `ssl-passthrough`: connections go to the backend of `/` as they are.
    pub ssl_passthrough: bool,
    /// `ssl-ciphers`.
    pub ssl_ciphers: Option<CipherList>,
    /// `ssl-prefer-server-ciphers`.
    pub ssl_prefer_server_ciphers: Option<bool>,
    /// `auth-tls-secret`. `None`: no client certificates; the fields below are then not set either.
    pub auth_tls_secret: Option<ClientCa>,
    /// `auth-tls-verify-client`.
    pub auth_tls_verify_client: VerifyClient,
    /// `auth-tls-verify-depth`: longest chain of certificates. `None`: 1. Never 0.
    pub auth_tls_verify_depth: Option<u16>,
    /// `auth-tls-error-page`: where clients go whose certificate is missing or bad. `None`: they get 400.
    pub auth_tls_error_page: Option<TlsErrorPage>,
    /// `auth-tls-pass-certificate-to-upstream`: as the header `ssl-client-cert`.
    pub auth_tls_pass_certificate_to_upstream: bool,
    /// `auth-tls-match-cn`: searched in the subject; others get 403.
    pub auth_tls_match_cn: Option<Pattern>,
}

/// Whose certificates clients must have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClientCa {
    /// The Secret with the CA's certificate. A namespace is always written.
    Secret(Reference),
    /// What must hold of clients is not known: the whole host must stay closed (403).
    Unusable,
}

/// What is asked of clients (`auth-tls-verify-client`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum VerifyClient {
    /// A valid certificate.
    #[default]
    On,
    /// Nothing.
    Off,
    /// A valid certificate or none.
    Optional,
    /// Any certificate or none; the backend decides.
    OptionalNoCa,
}

impl FromStr for VerifyClient {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "on" => Ok(Self::On),
            "off" => Ok(Self::Off),
            "optional" => Ok(Self::Optional),
            "optional_no_ca" => Ok(Self::OptionalNoCa),
            _ => Err(Invalid::new("on, off, optional or optional_no_ca")),
        }
    }
}

/// Where clients go whose certificate is missing or bad (`auth-tls-error-page`).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TlsErrorPage {
    /// A named location that a `server-snippet` defines.
    Location(LocationName),
    /// A URL without variables and query, or a path of the same host.
    Url(RedirectTemplate),
}

const ERROR_PAGE: Invalid = Invalid::new("a URL or a path of letters, digits, - . _, or @ and the name of a location of a server-snippet");

impl fmt::Display for TlsErrorPage {
    /// As the annotation has it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Location(name) => write!(f, "@{name}"),
            Self::Url(url) => f.write_str(url.as_str()),
        }
    }
}

impl FromStr for TlsErrorPage {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        if let Some(name) = text.strip_prefix('@') {
            return name.parse().map(Self::Location);
        }
        if !text.bytes().all(|byte| is_basic(byte) && byte != b'~') {
            return Err(ERROR_PAGE);
        }
        text.parse().map(Self::Url).map_err(|_| ERROR_PAGE)
    }
}

const NEEDS: Option<Needs> = Some(Needs { what: "auth-tls-secret", met: |spec| spec.client_tls.auth_tls_secret.is_some() });
const COMPANIONS: &[(&str, &str)] = &[("auth-tls-secret", "default/ca")];

/// What the annotations about client certificates have in common.
const CERTIFICATE: Entry = Entry { scope: Scope::Host, companions: COMPANIONS, needs: NEEDS, ..LOCATION };

static ENTRIES: &[Entry] = &[
    Entry {
        name: "auth-tls-error-page",
        applies: Applies::Route,
        risk: Risk::High,
        value: "a URL, a path, or `@name` of a location of a `server-snippet`",
        doc: "Where clients go whose certificate is missing or bad.",
        example: "https://www.example.com/certificates",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.client_tls.auth_tls_error_page, without_blanks(text)),
        ..CERTIFICATE
    },
    Entry {
        name: "auth-tls-match-cn",
        risk: Risk::High,
        value: "`CN=` and a regular expression",
        doc: "Searched in the subject of the client's certificate, with regard to letter case; others get 403, and so does plain HTTP.",
        example: "CN=(alice|bob)",
        on_invalid: OnInvalid::Deny,
        guard: Guard::Protects,
        parse: subject,
        ..CERTIFICATE
    },
    Entry {
        name: "auth-tls-pass-certificate-to-upstream",
        applies: Applies::Route,
        value: BOOL,
        doc: "Send the client's certificate to the backend: header `ssl-client-cert`, URL-encoded PEM.",
        example: "true",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.client_tls.auth_tls_pass_certificate_to_upstream, parse_bool(text)),
        ..CERTIFICATE
    },
    Entry {
        name: "auth-tls-secret",
        risk: Risk::Medium,
        applies: Applies::HostServer,
        value: "`namespace/name` of a Secret",
        doc: "Clients need a certificate of this CA: key `ca.crt`, perhaps `ca.crl`. A Secret that can't be used closes the whole host. One in another namespace needs `allow-cross-namespace-resources`.",
        example: "default/ca",
        companions: &[],
        on_invalid: OnInvalid::Deny,
        needs: None,
        guard: Guard::Protects,
        parse: secret,
        ..CERTIFICATE
    },
    Entry {
        name: "auth-tls-verify-client",
        risk: Risk::Medium,
        applies: Applies::HostServer,
        value: "on, off, optional or optional_no_ca",
        doc: "`on`: a valid certificate. `optional`: a valid one or none. `optional_no_ca`: any or none. `off`: nothing is asked.",
        example: "optional",
        guard: Guard::Shapes,
        parse: |text, draft| {
            draft.spec.client_tls.auth_tls_verify_client = without_blanks(text)?.unwrap_or_default();
            Ok(())
        },
        ..CERTIFICATE
    },
    Entry {
        name: "auth-tls-verify-depth",
        applies: Applies::HostServer,
        value: "a whole number from 0 to 100; 0 means 1",
        doc: "Longest chain of certificates from the client's to the CA's.",
        example: "2",
        guard: Guard::Shapes,
        parse: |text, draft| set(&mut draft.spec.client_tls.auth_tls_verify_depth, depth(text).map(Some)),
        ..CERTIFICATE
    },
    Entry {
        name: "ssl-ciphers",
        scope: Scope::Host,
        config_key: Some("ssl-ciphers"),
        applies: Applies::HostServer,
        value: "ciphers as OpenSSL lists them (ciphers(1)), between colons",
        doc: "Ciphers of the host up to TLS 1.2. Without effect on rules without a host.",
        example: "ECDHE-RSA-AES128-GCM-SHA256:HIGH:!aNULL",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| {
            draft.spec.client_tls.ssl_ciphers = if text.trim_matches(' ').is_empty() { None } else { Some(text.parse()?) };
            Ok(())
        },
        ..LOCATION
    },
    Entry {
        name: "ssl-passthrough",
        scope: Scope::Host,
        value: BOOL,
        doc: "TLS connections to this host, known by SNI, go undecrypted to the endpoints of the backend of `/`; everything that needs decryption, other paths included, has no effect on them. \
            Plain HTTP is served as usual. Wildcards and rules without a host can't be distinguished this way. \
            Needs the flag `--enable-ssl-passthrough` and the module ngx_stream_js_module; without them NGINX decrypts.",
        example: "true",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.client_tls.ssl_passthrough, parse_bool(text)),
        ..LOCATION
    },
    Entry {
        name: "ssl-prefer-server-ciphers",
        scope: Scope::Host,
        applies: Applies::HostServer,
        value: BOOL,
        doc: "Whether the order of the server's ciphers counts, not the client's. Without effect on rules without a host.",
        example: "false",
        parse: |text, draft| set(&mut draft.spec.client_tls.ssl_prefer_server_ciphers, parse_bool(text).map(Some)),
        ..LOCATION
    },
];

fn secret(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let reference = object(text, draft, true).inspect_err(|_| close(draft))?;
    draft.spec.client_tls.auth_tls_secret = reference.map(ClientCa::Secret);
    Ok(())
}

/// Other Ingresses of the host count on what this one says.
fn close(draft: &mut Draft) {
    draft.spec.client_tls.auth_tls_secret = Some(ClientCa::Unusable);
}

fn subject(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let text = text.trim_matches(' ');
    let parsed = match text {
        "" => Ok(None),
        text if text.starts_with("CN=") => text.parse().map(Some),
        _ => Err(Invalid::new("CN= and a regular expression")),
    };
    let parsed = parsed.inspect_err(|_| close(draft));
    set(&mut draft.spec.client_tls.auth_tls_match_cn, parsed)
}

fn depth(text: &str) -> Result<u16, Invalid> {
    let depth = parse_integer(text).ok().and_then(|depth| u16::try_from(depth).ok()).filter(|depth| *depth <= 100);
    depth.map(|depth| depth.max(1)).ok_or(Invalid::new("a whole number from 0 to 100"))
}

fn settle(draft: &mut Draft, config: &Config) {
    let https = &draft.spec.https;
    let redirected = *Effective::new(&https.ssl_redirect, &config.https.ssl_redirect).value()
        || *Effective::new(&https.force_ssl_redirect, &config.https.force_ssl_redirect).value();
    if draft.spec.client_tls.auth_tls_match_cn.is_some() && !redirected {
        let detail = "plain HTTP has no certificate and gets 403, as it is not redirected";
        draft.note_on("auth-tls-match-cn", FindingKind::Surprise, detail);
    }
    if draft.spec.client_tls.ssl_passthrough && draft.spec.client_tls.auth_tls_secret.is_some() {
        let detail = "with ssl-passthrough connections are not decrypted here; no client certificate is asked for on them";
        draft.note_on("auth-tls-secret", FindingKind::Surprise, detail);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good};
    use super::*;
    use crate::parse::FindingKind::{Invalid, Surprise};
    use crate::parse::ParseVerdict::{Accepted, Denied, Refused};

    const CA: (&str, &str) = ("auth-tls-secret", "default/authtls.foo.com");

    #[test]
    fn a_ca_is_named_with_its_namespace() {
        let tls = good(&[("auth-tls-secret", " default / authtls.foo.com")]).client_tls;
        let Some(ClientCa::Secret(secret)) = tls.auth_tls_secret.clone() else { panic!("{tls:?}") };
        assert_eq!(secret.to_string(), "default/authtls.foo.com");
        assert_eq!((tls.auth_tls_verify_client, tls.auth_tls_verify_depth), (VerifyClient::On, None));
        for value in ["ca", "a/b/c", "/ca", "a/b;c", "$a/b", "a/b\n"] {
            let spec = bad(&[("auth-tls-secret", value)], Denied, &[("auth-tls-secret", Invalid, "expected a namespace and a name")]);
            assert_eq!(spec.client_tls.auth_tls_secret, Some(ClientCa::Unusable), "{value}");
        }
        assert_eq!(good(&[("auth-tls-secret", " ")]).client_tls.auth_tls_secret, None);
    }

    #[test]
    fn details_are_typed() {
        let pairs =
            [CA, ("auth-tls-verify-client", "optional_no_ca"), ("auth-tls-verify-depth", "0"), ("auth-tls-match-cn", "CN=a.*;\"b\"")];
        let tls = good(&pairs).client_tls;
        assert_eq!((tls.auth_tls_verify_client, tls.auth_tls_verify_depth), (VerifyClient::OptionalNoCa, Some(1)));
        assert_eq!(tls.auth_tls_match_cn.clone().unwrap().as_str(), "CN=a.*;\"b\"");
        for (name, value, verdict) in [
            ("auth-tls-verify-client", "maybe", Accepted),
            ("auth-tls-verify-depth", "-1", Accepted),
            ("auth-tls-match-cn", "O=a", Denied),
            ("auth-tls-match-cn", "CN=(", Denied),
            ("auth-tls-match-cn", "CN=a\nb", Denied),
            ("auth-tls-pass-certificate-to-upstream", "yes", Refused),
        ] {
            let tls = bad(&[CA, (name, value)], verdict, &[(name, Invalid, "expected ")]).client_tls;
            assert_eq!(
                (tls.auth_tls_verify_client, tls.auth_tls_verify_depth, tls.auth_tls_match_cn.clone()),
                (VerifyClient::On, None, None),
                "{name}"
            );
            assert_eq!(tls.auth_tls_secret == Some(ClientCa::Unusable), verdict == Denied, "{name}");
        }
    }

    #[test]
    fn an_error_page_is_a_url_a_path_or_a_location() {
        let page = |value| good(&[CA, ("auth-tls-error-page", value)]).client_tls.auth_tls_error_page.clone();
        for value in ["http://10.0.0.1/error", "https://www.example.com:8443/a/b.html", "/error"] {
            assert_eq!(page(value), Some(TlsErrorPage::Url(value.parse().unwrap())));
        }
        assert_eq!(page("@oops"), Some(TlsErrorPage::Location("oops".parse().unwrap())));
        for value in ["@base", "@0123456789abcdef", "@a-b", "http://$host/", "/a?b=c", "javascript:x", "a b;c", "//evil.com"] {
            bad(&[CA, ("auth-tls-error-page", value)], Refused, &[("auth-tls-error-page", Invalid, "expected ")]);
        }
    }

    #[test]
    fn without_a_ca_nothing_is_checked() {
        let spec =
            bad(&[("auth-tls-match-cn", "(")], Accepted, &[("auth-tls-match-cn", Surprise, "it has no effect without auth-tls-secret")]);
        assert_eq!(spec.client_tls, ClientTls::default());
    }

    #[test]
    fn ciphers_and_passthrough_may_not_be_wrong() {
        let ciphers = "ALL:!aNULL:!EXPORT56:RC4+RSA:+HIGH:+MEDIUM:+LOW:+SSLv2:+EXP";
        let tls = good(&[("ssl-ciphers", ciphers), ("ssl-prefer-server-ciphers", "false"), ("ssl-passthrough", "true")]).client_tls;
        assert_eq!(
            (tls.ssl_ciphers.clone().unwrap().as_str(), tls.ssl_prefer_server_ciphers, tls.ssl_passthrough),
            (ciphers, Some(false), true)
        );
        bad(&[("ssl-ciphers", "A;B")], Refused, &[("ssl-ciphers", Invalid, "expected ")]);
        bad(&[("ssl-passthrough", "on")], Refused, &[("ssl-passthrough", Invalid, "expected ")]);
        bad(&[("ssl-prefer-server-ciphers", "on")], Accepted, &[("ssl-prefer-server-ciphers", Invalid, "expected ")]);
    }

    #[test]
    fn surprises_are_told() {
        let redirect = [CA, ("auth-tls-match-cn", "CN=a"), ("ssl-redirect", "false")];
        bad(&redirect, Accepted, &[("auth-tls-match-cn", Surprise, "plain HTTP has no certificate")]);
        bad(&[CA, ("ssl-passthrough", "true")], Accepted, &[("auth-tls-secret", Surprise, "with ssl-passthrough")]);
    }
}
