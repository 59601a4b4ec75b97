//! Entries of the ConfigMaps of TCP and UDP services: `port: namespace/service:port[:PROXY[:PROXY]]`. Blanks are not trimmed.

use crate::fixed::{StreamPort, StreamService};
use crate::key::{BackendId, BackendPort, ObjectKey};
use crate::object::Protocol;

/// The word for the PROXY protocol, in any letter case.
const PROXY: &str = "PROXY";

/// A port of the machine, the key of an entry.
///
/// # Errors
/// What is wrong with it, and what was expected.
pub(crate) fn port(protocol: Protocol, key: &str) -> Result<StreamPort, String> {
    let number = key.parse().ok().filter(|number| *number > 0 && key.bytes().all(|byte| byte.is_ascii_digit()));
    number.map(|number| StreamPort { protocol, number }).ok_or_else(|| "expected a port from 1 to 65535 as the key".to_owned())
}

/// The value of an entry, and what of it has no effect.
///
/// # Errors
/// What is wrong with it, and what was expected.
pub(crate) fn service(protocol: Protocol, value: &str) -> Result<(StreamService, Option<String>), String> {
    let expected = || "expected namespace/service:port, then :PROXY or nothing, then :PROXY or nothing".to_owned();
    let mut fields = value.split(':');
    let service = fields.next().and_then(ObjectKey::parse).filter(|key| is_name(&key.namespace) && is_name(&key.name));
    let (service, port) = service.zip(fields.next().filter(|port| is_name(port))).ok_or_else(expected)?;
    let port = match port.parse() {
        Ok(number) => BackendPort::Number(number),
        Err(_) => BackendPort::Name(port.into()),
    };
    let words: Vec<&str> = fields.collect();
    let is_tcp = protocol == Protocol::Tcp;
    let means_proxy = |at: usize| is_tcp && words.get(at).is_some_and(|word| word.eq_ignore_ascii_case(PROXY));
    let found = StreamService {
        backend: BackendId { service, port },
        accepts_proxy: means_proxy(0),
        sends_proxy: words.len() == 2 && means_proxy(1),
        certificate: None,
    };
    let odd = |word: &&&str| !word.is_empty() && !word.eq_ignore_ascii_case(PROXY);
    let remark = match words.iter().find(odd) {
        Some(word) => Some(format!("{word:?} is ignored, expected PROXY or nothing there")),
        None if words.len() > 2 => Some("what follows the fourth field is ignored, and so is that field".to_owned()),
        None if !is_tcp && words.iter().any(|word| !word.is_empty()) => {
            Some("UDP services don't speak the PROXY protocol; the word is ignored".to_owned())
        }
        None => None,
    };
    Ok((found, remark))
}

/// Whether a text may be the name of an object or a port; whether it is one the cluster says.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= 253 && text.bytes().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-' || c == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(protocol: Protocol, value: &str, backend: &str, (accepts_proxy, sends_proxy): (bool, bool), remark: &str) {
        let (found, said) = service(protocol, value).unwrap();
        assert_eq!((found.backend.to_string(), found.accepts_proxy, found.sends_proxy), (backend.to_owned(), accepts_proxy, sends_proxy));
        assert!(said.as_deref().unwrap_or("-").contains(if remark.is_empty() { "-" } else { remark }), "{said:?}");
    }

    #[test]
    fn the_third_field_is_about_clients_and_the_fourth_about_endpoints() {
        let tcp = Protocol::Tcp;
        check(tcp, "a/b:80", "a/b:80", (false, false), "");
        check(tcp, "a/b:web:proxy", "a/b:web", (true, false), "");
        check(tcp, "a/b:80:PROXY:Proxy", "a/b:80", (true, true), "");
        check(tcp, "a/b:80::PROXY", "a/b:80", (false, true), "");
        check(tcp, "a/b:80:", "a/b:80", (false, false), "");
        check(tcp, "a/b:80:v2", "a/b:80", (false, false), "\"v2\" is ignored");
        check(tcp, "a/b:80:PROXY:PROXY:PROXY", "a/b:80", (true, false), "follows the fourth");
        check(Protocol::Udp, "a/b:53:PROXY:PROXY", "a/b:53", (false, false), "UDP services don't");
    }

    #[test]
    fn what_is_no_entry_says_what_was_expected() {
        for value in ["", "a/b", "a/b:", "b:80", "a/b/c:80", "/b:80", "a/:80", " a/b:80", "a/b :80", "a/b:$x", "a/B:80"] {
            assert!(service(Protocol::Tcp, value).unwrap_err().starts_with("expected namespace/service:port"), "{value:?}");
        }
        for key in ["", "0", "65536", "-1", "+80", "http", "80 "] {
            assert!(port(Protocol::Tcp, key).is_err(), "{key:?}");
        }
        assert_eq!(port(Protocol::Udp, "53").unwrap().to_string(), "udp-53");
    }
}
