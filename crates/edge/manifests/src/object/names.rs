//! Names as the API server checks them.

use std::net::IpAddr;

/// A DNS label of RFC 1123 in lower case: at most 63 letters, digits and inner dashes.
pub(super) fn is_label(text: &str) -> bool {
    let alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    (1..=63).contains(&bytes.len())
        && alphanumeric(bytes[0])
        && alphanumeric(bytes[bytes.len() - 1])
        && bytes.iter().all(|byte| alphanumeric(*byte) || *byte == b'-')
}

/// Labels joined by dots, at most 253 bytes. Unlike [`is_label`], a single one may be longer than 63, as in Kubernetes.
pub(super) fn is_subdomain(text: &str) -> bool {
    let label = |label: &str| {
        let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = label.as_bytes();
        bytes.first().is_some_and(alphanumeric)
            && bytes.last().is_some_and(alphanumeric)
            && bytes.iter().all(|byte| alphanumeric(byte) || *byte == b'-')
    };
    text.len() <= 253 && text.split('.').all(label)
}

/// A host of an Ingress: a name, or `*.` and a name; no address.
pub(super) fn is_host(text: &str) -> bool {
    is_subdomain(text.strip_prefix("*.").unwrap_or(text)) && text.len() <= 253 && text.parse::<IpAddr>().is_err()
}

/// The name of a port (RFC 6335): at most 15 letters, digits and inner single dashes, at least one letter.
pub(super) fn is_port_name(text: &str) -> bool {
    text.len() <= 15 && is_label(text) && !text.contains("--") && text.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// A key of a ConfigMap or a Secret.
pub(super) fn is_data_key(text: &str) -> bool {
    (1..=253).contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
        && text != "."
        && !text.starts_with("..")
}

/// A key of an annotation or a label: a name of at most 63 characters, perhaps after a DNS name and a slash.
pub(super) fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    let bytes = name.as_bytes();
    prefix.is_none_or(is_subdomain)
        && (1..=63).contains(&bytes.len())
        && bytes[0].is_ascii_alphanumeric()
        && bytes[bytes.len() - 1].is_ascii_alphanumeric()
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: fn(&str) -> bool, good: &[&str], bad: &[&str]) {
        for text in good {
            assert!(rule(text), "{text:?} is good");
        }
        for text in bad {
            assert!(!rule(text), "{text:?} is bad");
        }
    }

    #[test]
    fn names_follow_the_rules_of_the_api_server() {
        let long = "a".repeat(64);
        check(is_label, &["a", "a-b", "0", &long[..63]], &["", "A", "-a", "a-", "a.b", "a_b", &long, "\u{e4}"]);
        check(is_subdomain, &["a.b", &long, "a-b.c"], &["", ".a", "a..b", "a.", "A.b", "a.-b", &"a.".repeat(127)]);
        check(
            is_host,
            &["example.com", "*.example.com", "*.com"],
            &["*", "a.*.com", "*.*.com", "*.", "10.0.0.1", "::1", "Example.com", "a.com:80", "a_b.com"],
        );
        check(is_port_name, &["http", "a-1"], &["", "80", "a--b", "http-very-long-x", "HTTP"]);
        check(is_data_key, &["tls.crt", "A_b-c", ".htpasswd"], &["", ".", "..", "..data", "a/b", "a b"]);
        check(is_qualified_name, &["a", "nginx.ingress.kubernetes.io/x_Y.z"], &["", "/a", "a/", "a/b/c", "A.com/x", "a b", "-a", &long]);
    }
}
