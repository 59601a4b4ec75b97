//! Keys of TLS session tickets.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ngx_value::Invalid;

use super::grammar::{Grammar, items};

/// A key that tickets are encrypted with, as NGINX reads it from a file: 48 bytes, or 80 with AES of 256 bits. `Display` is its base64; no `Debug` of it.
#[derive(Clone, PartialEq, Eq)]
pub struct TicketKey(Arc<[u8]>);

impl TicketKey {
    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl FromStr for TicketKey {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let bytes = STANDARD.decode(text).ok().filter(|bytes| matches!(bytes.len(), 48 | 80));
        bytes.map(|bytes| Self(bytes.into())).ok_or(Invalid::new("48 or 80 bytes in base64"))
    }
}

impl fmt::Display for TicketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&STANDARD.encode(&self.0))
    }
}

impl fmt::Debug for TicketKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TicketKey(..)")
    }
}

/// Keys between commas. All of them are usable or none is used: a ticket that some replicas can't decrypt would be no use.
pub(crate) const TICKET_KEYS: Grammar<Vec<TicketKey>> = Grammar {
    value: "48 or 80 bytes in base64, or several of that between commas, or empty",
    read: |text, _| items(text).map(str::parse).collect(),
    print: |keys| keys.iter().map(TicketKey::to_string).collect::<Vec<_>>().join(","),
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_48_or_80_bytes_and_is_never_shown() {
        for length in [48, 80] {
            let text = STANDARD.encode(vec![7; length]);
            let key: TicketKey = text.parse().unwrap();
            assert_eq!((key.bytes().len(), key.to_string(), format!("{key:?}").as_str()), (length, text, "TicketKey(..)"));
        }
        for text in ["", "AAAA", "not base64", &STANDARD.encode([7; 47])] {
            assert!(text.parse::<TicketKey>().is_err(), "{text}");
        }
        let read = |text: &str| (TICKET_KEYS.read)(text, &mut Vec::new());
        let key = STANDARD.encode([1; 48]);
        assert_eq!((read("").unwrap().len(), read(&format!("{key}, {key}")).unwrap().len()), (0, 2));
        assert!(read(&format!("{key},AAAA")).is_err());
    }
}
