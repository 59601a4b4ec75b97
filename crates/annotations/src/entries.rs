//! The annotations, one block each: a flat table, ordered by name.

use std::collections::BTreeSet;
use std::str::FromStr;

use ngx_value::{HostName, Invalid, Seconds, Size, Snippet, parse_bool, parse_integer, parse_on_off};

use crate::parse::FindingKind;
use crate::spec::LoadBalance;
use crate::table::{Applies, Draft, Entry, OnEmpty, OnInvalid, Risk, Scope};

const BOOL: &str = "true or false";
const ON_OFF: &str = "on or off";
const SECONDS: &str = "seconds, a whole number";
const DIRECTIVES: &str = "complete NGINX directives";

/// Every annotation that is supported, ordered by name.
pub static ANNOTATIONS: &[Entry] = &[
    Entry {
        name: "canary",
        scope: Scope::Ingress,
        applies: Applies::Backend,
        value: BOOL,
        doc: "The Ingress defines no hosts and no locations; its backends become alternatives of those that others define.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.canary, parse_bool(text)),
        ..LOCATION
    },
    Entry {
        name: "configuration-snippet",
        risk: Risk::Critical,
        applies: Applies::Profile,
        value: DIRECTIVES,
        doc: "Text for the locations. It must be balanced: it can't close the block it stands in.",
        example: "add_header X-Test 1;",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.configuration_snippet, snippet(text)),
        ..LOCATION
    },
    Entry {
        name: "enable-access-log",
        value: BOOL,
        doc: "Whether requests are logged. `true` has no effect where the log is switched off for all.",
        example: "false",
        parse: |text, draft| set(&mut draft.spec.enable_access_log, parse_bool(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "force-ssl-redirect",
        risk: Risk::Medium,
        config_key: Some("force-ssl-redirect"),
        value: BOOL,
        doc: "Redirect plain HTTP to HTTPS even if the host has no certificate.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.force_ssl_redirect, parse_bool(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "load-balance",
        scope: Scope::Backend,
        config_key: Some("load-balance"),
        applies: Applies::Backend,
        value: "round_robin or ewma",
        doc: "How the backend chooses an endpoint: in turn, or the one of two that answered quicker of late.",
        example: "ewma",
        on_invalid: OnInvalid::Refuse,
        parse: load_balance,
        ..LOCATION
    },
    Entry {
        name: "preserve-trailing-slash",
        risk: Risk::Medium,
        config_key: Some("preserve-trailing-slash"),
        value: BOOL,
        doc: "Keep the slash at the end of the URI in the redirect to HTTPS.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.preserve_trailing_slash, parse_bool(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "proxy-body-size",
        risk: Risk::Medium,
        config_key: Some("proxy-body-size"),
        value: "a size such as 8m; 0 is unlimited",
        doc: "Largest request body. Larger ones are answered with 413. Changing it is live; the first use of a size adds a profile, which catches chunked bodies.",
        example: "8m",
        parse: |text, draft| set(&mut draft.spec.proxy_body_size, size(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-buffer-size",
        config_key: Some("proxy-buffer-size"),
        applies: Applies::Profile,
        value: "a size such as 8k, from 1 byte to 1g",
        doc: "Size of the buffer for the first part of an answer, and of each of the others.",
        example: "8k",
        parse: |text, draft| set(&mut draft.spec.proxy_buffer_size, buffer_size(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-buffering",
        config_key: Some("proxy-buffering"),
        applies: Applies::Profile,
        value: ON_OFF,
        doc: "Whether answers are buffered.",
        example: "on",
        parse: |text, draft| set(&mut draft.spec.proxy_buffering, parse_on_off(text.trim()).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "proxy-buffers-number",
        config_key: Some("proxy-buffers-number"),
        applies: Applies::Profile,
        value: "a whole number from 3",
        doc: "Number of buffers for an answer.",
        example: "8",
        parse: |text, draft| set(&mut draft.spec.proxy_buffers_number, buffers(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "proxy-connect-timeout",
        config_key: Some("proxy-connect-timeout"),
        value: SECONDS,
        doc: "Longest wait for a connection to an endpoint.",
        example: "5",
        parse: |text, draft| set(&mut draft.spec.proxy_connect_timeout, seconds(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-read-timeout",
        config_key: Some("proxy-read-timeout"),
        value: SECONDS,
        doc: "Longest wait between two reads from an endpoint.",
        example: "120",
        parse: |text, draft| set(&mut draft.spec.proxy_read_timeout, seconds(text)),
        ..LOCATION
    },
    Entry {
        name: "proxy-request-buffering",
        config_key: Some("proxy-request-buffering"),
        applies: Applies::Profile,
        value: ON_OFF,
        doc: "Whether request bodies are buffered.",
        example: "off",
        parse: |text, draft| set(&mut draft.spec.proxy_request_buffering, parse_on_off(text.trim()).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "proxy-send-timeout",
        config_key: Some("proxy-send-timeout"),
        value: SECONDS,
        doc: "Longest wait between two writes to an endpoint.",
        example: "120",
        parse: |text, draft| set(&mut draft.spec.proxy_send_timeout, seconds(text)),
        ..LOCATION
    },
    Entry {
        name: "rewrite-target",
        risk: Risk::Medium,
        value: "a path of letters, digits and `- . _ ~ / :` with captures such as `$1`",
        doc: "What the URI becomes; the query stays. If it differs from the path, every location of the host is matched as a regular expression, anchored at its start only and whatever the letter case.",
        example: "/$2",
        parse: |text, draft| set(&mut draft.spec.rewrite_target, text.parse().map(Some)),
        ..LOCATION
    },
    Entry {
        name: "server-alias",
        scope: Scope::Host,
        risk: Risk::High,
        value: "host names between commas; `*.` for all sub-domains",
        doc: "Further names of the host. A name that is the host of a rule somewhere is dropped; the oldest Ingress of the host that lists any decides.",
        example: "www.example.com,*.example.org",
        on_invalid: OnInvalid::Refuse,
        parse: server_alias,
        ..LOCATION
    },
    Entry {
        name: "server-snippet",
        scope: Scope::Host,
        risk: Risk::Critical,
        applies: Applies::Shell,
        value: DIRECTIVES,
        doc: "Text for the server block; the oldest Ingress of the host that has any decides. It must be balanced: it can't close the block it stands in.",
        example: "location = /robots.txt { return 200; }",
        on_invalid: OnInvalid::Refuse,
        parse: |text, draft| set(&mut draft.spec.server_snippet, snippet(text)),
        ..LOCATION
    },
    Entry {
        name: "service-upstream",
        scope: Scope::Backend,
        config_key: Some("service-upstream"),
        applies: Applies::Backend,
        value: BOOL,
        doc: "Use the Service's own address and port as the only endpoint. Anything else, even nothing, counts as `false`.",
        example: "true",
        on_empty: OnEmpty::Value,
        parse: service_upstream,
        ..LOCATION
    },
    Entry {
        name: "ssl-redirect",
        config_key: Some("ssl-redirect"),
        value: BOOL,
        doc: "Redirect plain HTTP to HTTPS if the host has a certificate.",
        example: "false",
        parse: |text, draft| set(&mut draft.spec.ssl_redirect, parse_bool(text).map(Some)),
        ..LOCATION
    },
    Entry {
        name: "upstream-vhost",
        value: "a host name, or text with variables such as `$host`, without blanks",
        doc: "The Host header to the endpoint. Without it: the one received.",
        example: "internal.example.com",
        on_invalid: OnInvalid::Refuse,
        parse: upstream_vhost,
        ..LOCATION
    },
    Entry {
        name: "use-regex",
        value: BOOL,
        doc: "Match every location of the host, of all its Ingresses, as a regular expression, anchored at its start only and whatever the letter case.",
        example: "true",
        parse: |text, draft| set(&mut draft.spec.use_regex, parse_bool(text)),
        ..LOCATION
    },
];

/// What most entries have in common.
const LOCATION: Entry = Entry {
    name: "",
    aliases: &[],
    scope: Scope::Location,
    risk: Risk::Low,
    config_key: None,
    applies: Applies::Route,
    value: "",
    doc: "",
    example: "",
    on_invalid: OnInvalid::Ignore,
    on_empty: OnEmpty::Absent,
    parse: |_, _| Ok(()),
};

fn set<T>(field: &mut T, value: Result<T, Invalid>) -> Result<(), Invalid> {
    *field = value?;
    Ok(())
}

/// Reads a text whose blanks do not count, and which is not set if it holds nothing else.
fn without_blanks<T: FromStr<Err = Invalid>>(text: &str) -> Result<Option<T>, Invalid> {
    let text = text.replace(' ', "");
    if text.is_empty() { Ok(None) } else { text.parse().map(Some) }
}

fn size(text: &str) -> Result<Option<Size>, Invalid> {
    without_blanks(text)
}

/// Sizes outside lead to a configuration that NGINX refuses.
fn buffer_size(text: &str) -> Result<Option<Size>, Invalid> {
    match without_blanks::<Size>(text) {
        Ok(Some(size)) if !(1..=1 << 30).contains(&size.bytes) => Err(Invalid::new("a size from 1 byte to 1g, such as 8k")),
        other => other,
    }
}

/// With fewer, NGINX finds no room for the busy ones and refuses the configuration.
fn buffers(text: &str) -> Result<u32, Invalid> {
    parse_integer(text)
        .ok()
        .and_then(|number| u32::try_from(number).ok())
        .filter(|number| *number >= 3)
        .ok_or(Invalid::new("a whole number from 3 to 4294967295"))
}

fn seconds(text: &str) -> Result<Option<Seconds>, Invalid> {
    text.parse().map(Some)
}

fn snippet(text: &str) -> Result<Option<Snippet>, Invalid> {
    match Snippet::parse(text) {
        Ok(snippet) => Ok(Some(snippet).filter(|snippet| !snippet.as_str().is_empty())),
        Err(error) => Err(Invalid::because(format!("{DIRECTIVES}, but {}", error.reason()))),
    }
}

fn load_balance(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    draft.spec.load_balance = match text.trim() {
        // They exist for the annotations about hashing and cookies, and do nothing by themselves.
        "chash" | "chashsubset" | "sticky_balanced" | "sticky_persistent" => {
            draft.note(FindingKind::Unsupported, "expected round_robin or ewma; round_robin is used");
            Some(LoadBalance::RoundRobin)
        }
        text => Some(text.parse()?),
    };
    Ok(())
}

fn service_upstream(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let value = parse_bool(text).unwrap_or_else(|invalid| {
        draft.note(FindingKind::Invalid, format!("{invalid}; false is used"));
        false
    });
    draft.spec.service_upstream = Some(value);
    Ok(())
}

fn server_alias(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    let mut names = BTreeSet::new();
    for item in text.split(',').map(str::trim).filter(|item| !item.is_empty()) {
        match item.parse::<HostName>() {
            Ok(name) => drop(names.insert(name)),
            Err(invalid) if item.bytes().all(is_pattern) => {
                draft.note(FindingKind::Unsupported, format!("{item:?}: {invalid}; it is left out"));
            }
            Err(_) => return Err(Invalid::new("host names such as www.example.com or *.example.com, between commas")),
        }
    }
    draft.spec.server_alias = names.into_iter().collect();
    Ok(())
}

/// Whether a byte may stand in a name that is a regular expression.
const fn is_pattern(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'-' | b'.' | b'_' | b'~' | b'/' | b':' | b'^' | b'$' | b'[' | b']' | b'(' | b')' | b'{' | b'}')
        || matches!(byte, b'*' | b'+' | b'?' | b'&' | b'=' | b'\\' | b'|')
}

fn upstream_vhost(text: &str, draft: &mut Draft) -> Result<(), Invalid> {
    if text.contains(['\r', '\n']) {
        return Err(Invalid::new("one line"));
    }
    let text = text.trim();
    draft.spec.upstream_vhost = if text.is_empty() { None } else { Some(text.parse()?) };
    Ok(())
}
