//! The annotations, and how their values are read.

use std::num::NonZeroU32;

use ngx_value::{HeaderName, Invalid, Seconds, parse_bool, parse_integer};

use super::super::common::{BOOL, DIRECTIVES, LOCATION, SECONDS, is_basic, object, set, snippet, without_blanks};
use crate::table::*;

const NEEDS: Option<Needs> = Some(Needs { what: "auth-url", met: |spec| spec.external_auth.auth_url.is_some() });

/// What all but two of them have in common.
const WITH_URL: Entry = Entry { needs: NEEDS, companions: &[("auth-url", "http://auth.default.svc/check")], ..LOCATION };

/// Of those about connections that are kept, without the one that asks for them.
const KEPT: Entry =
    Entry { companions: &[("auth-url", "http://auth.default.svc/check"), ("auth-keepalive", "16")], applies: Applies::Profile, ..WITH_URL };

pub(super) static ENTRIES: &[Entry] = &[
    Entry {
        name: "auth-always-set-cookie",
        value: BOOL,
        doc: "Cookies of the service's answer go to the client whatever the status. Otherwise only with 200, 201, 204, 206, 301, 302, 303, 304, 307 and 308.",
        example: "true",
        on_invalid: OnInvalid::Deny,
        parse: |text, draft| set(&mut draft.spec.external_auth.auth_always_set_cookie, parse_bool(text)),
        ..WITH_URL
    },
    Entry {
        name: "auth-cache-duration",
        risk: Risk::Medium,
        value: "rules between commas: statuses, or `any`, and one time",
        doc: "How long answers are kept; without it `200 202 401 5m`. Needs `auth-cache-key`.",
        example: "200 202 401 10m",
        companions: &[("auth-url", "http://auth.default.svc/check"), ("auth-cache-key", "$remote_user")],
        on_invalid: OnInvalid::Deny,
        guard: Guard::Protects,
        parse: |text, draft| {
            let blank = text.trim().is_empty();
            set(&mut draft.spec.external_auth.auth_cache_duration, if blank { Ok(None) } else { text.parse().map(Some) })
        },
        ..WITH_URL
    },
    Entry {
        name: "auth-cache-key",
        risk: Risk::Medium,
        value: "letters, digits, `-`, `_` and variables",
        doc: "Keep the service's answers, per host and location, by this key.",
        example: "$remote_user$http_authorization",
        guard: Guard::Shapes,
        parse: |text, draft| set(&mut draft.spec.external_auth.auth_cache_key, expression(text)),
        ..WITH_URL
    },
    Entry {
        name: "auth-keepalive",
        applies: Applies::Profile,
        value: "a whole number; 0 is none",
        doc: "How many idle connections to the service are kept. Not where the URL's host has variables, and not with `use-http2`.",
        example: "16",
        parse: |text, draft| set(&mut draft.spec.external_auth.auth_keepalive, count(text).map(NonZeroU32::new)),
        ..WITH_URL
    },
    Entry {
        name: "auth-keepalive-requests",
        value: "a whole number; 0 keeps no connection",
        doc: "How many requests such a connection serves; without it 1000.",
        example: "500",
        parse: |text, draft| set(&mut draft.spec.external_auth.auth_keepalive_requests, count(text).map(Some)),
        ..KEPT
    },
    Entry {
        name: "auth-keepalive-share-vars",
        applies: Applies::Route,
        value: BOOL,
        doc: "Whether the request and the one to the service share variables.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.external_auth.auth_keepalive_share_vars, parse_bool(text)),
        ..KEPT
    },
    Entry {
        name: "auth-keepalive-timeout",
        value: SECONDS,
        doc: "How long such a connection may be idle; without it 60, 0 keeps none.",
        example: "30",
        parse: |text, draft| set(&mut draft.spec.external_auth.auth_keepalive_timeout, count(text).map(Seconds).map(Some)),
        ..KEPT
    },
    Entry {
        name: "auth-method",
        value: "GET, HEAD, POST, PUT, PATCH, DELETE, CONNECT, OPTIONS or TRACE",
        doc: "Method of the request to the service. It also gets `X-Original-URI` and `X-Scheme` then.",
        example: "POST",
        on_invalid: OnInvalid::Deny,
        guard: Guard::Protects,
        parse: |text, draft| set(&mut draft.spec.external_auth.auth_method, without_blanks(text)),
        ..WITH_URL
    },
    Entry {
        name: "auth-proxy-set-headers",
        applies: Applies::Profile,
        risk: Risk::Medium,
        value: "`namespace/name` of a ConfigMap",
        doc: "Further headers of the request to the service, from a ConfigMap; variables are expanded. One in another namespace needs `allow-cross-namespace-resources`.",
        example: "default/auth-headers",
        on_invalid: OnInvalid::Deny,
        guard: Guard::Protects,
        parse: |text, draft| {
            draft.spec.external_auth.auth_proxy_set_headers = object(text, draft, true)?;
            Ok(())
        },
        ..WITH_URL
    },
    Entry {
        name: "auth-request-redirect",
        risk: Risk::Medium,
        value: "a URL",
        doc: "The header `X-Auth-Request-Redirect` of the request to the service; without it the URI of the request.",
        example: "https://www.example.com/start",
        on_invalid: OnInvalid::Deny,
        guard: Guard::Protects,
        parse: request_redirect,
        ..WITH_URL
    },
    Entry {
        name: "auth-response-headers",
        risk: Risk::Medium,
        value: "names of headers, between commas",
        doc: "Headers of the service's answer that replace those of the request to the backend. One that the answer lacks is removed.",
        example: "X-Auth-User,X-Auth-Groups",
        on_invalid: OnInvalid::Deny,
        guard: Guard::Protects,
        parse: |text, draft| set(&mut draft.spec.external_auth.auth_response_headers, headers(text)),
        ..WITH_URL
    },
    Entry {
        name: "auth-signin",
        applies: Applies::Ready,
        risk: Risk::High,
        value: "a URL or a path, perhaps with variables",
        doc: "Where clients are sent instead of a 401. The original URL is added as the parameter `rd`.",
        example: "https://$host/oauth2/start",
        parse: |text, draft| set(&mut draft.spec.external_auth.auth_signin, without_blanks(text)),
        ..WITH_URL
    },
    Entry {
        name: "auth-signin-redirect-param",
        risk: Risk::Medium,
        value: "letters, digits and `- . _ ~`",
        doc: "Another name for the parameter with the original URL.",
        example: "next",
        companions: &[("auth-url", "http://auth.default.svc/check"), ("auth-signin", "https://auth.example.com/login")],
        parse: |text, draft| set(&mut draft.spec.external_auth.auth_signin_redirect_param, without_blanks(text)),
        ..WITH_URL
    },
    Entry {
        name: "auth-snippet",
        risk: Risk::Critical,
        applies: Applies::Profile,
        value: DIRECTIVES,
        doc: "Text for the location of the request to the service. It must be balanced: it can't close the block it stands in.",
        example: "proxy_set_header X-Test 1;",
        on_invalid: OnInvalid::Deny,
        guard: Guard::Protects,
        parse: |text, draft| set(&mut draft.spec.external_auth.auth_snippet, snippet(text)),
        ..WITH_URL
    },
    Entry {
        name: "auth-url",
        applies: Applies::Ready,
        risk: Risk::High,
        config_key: Some("global-auth-url"),
        value: "a URL with http or https, perhaps with variables",
        doc: "The service that each request is put before first. Without it the global one is asked, if there is one. Locations below `no-auth-locations` are not checked.",
        example: "http://auth.default.svc.cluster.local/check",
        companions: &[],
        on_invalid: OnInvalid::Deny,
        needs: None,
        guard: Guard::Protects,
        parse: |text, draft| set(&mut draft.spec.external_auth.auth_url, without_blanks(text)),
        ..WITH_URL
    },
    Entry {
        name: "enable-global-auth",
        value: BOOL,
        doc: "`false`: the global service is not asked about these locations.",
        example: "false",
        guard: Guard::Shapes,
        parse: |text, draft| set(&mut draft.spec.external_auth.enable_global_auth, parse_bool(text).map(Some)),
        ..LOCATION
    },
];

fn request_redirect(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let text = text.replace(' ', "");
    if !text.bytes().all(|byte| is_basic(byte) || matches!(byte, b',' | b'?' | b'&' | b'=')) {
        return Err(Invalid::new("a URL of letters, digits, - . _ ~ / : , ? & ="));
    }
    set(&mut draft.spec.external_auth.auth_request_redirect, if text.is_empty() { Ok(None) } else { text.parse().map(Some) })
}

fn expression(text: &str) -> Result<Option<ngx_value::Expression>, Invalid> {
    let text = text.trim_matches(' ');
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

fn headers(text: &str) -> Result<Vec<HeaderName>, Invalid> {
    let names = text.split(',').map(|name| name.trim_matches(' ')).filter(|name| !name.is_empty());
    names
        .map(str::parse)
        .collect::<Result<_, _>>()
        .map_err(|_: Invalid| Invalid::new("names of headers between commas, of letters, digits, - and _"))
}

/// A whole number; what is below 0 is 0.
fn count(text: &str) -> Result<u32, Invalid> {
    let number = parse_integer(text)?;
    u32::try_from(number.max(0)).map_err(|_| Invalid::new("a whole number up to 4294967295"))
}
