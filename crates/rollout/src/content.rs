//! What a ConfigMap or Secret holds, as one digest. Names, labels and annotations don't count.
//!
//! The digest is Reloader's (SHA-512/256 over the sorted `key=value` pairs, joined by `;`), so that what Reloader wrote into workloads stays valid and taking
//! over restarts nothing. Where that text is ambiguous, because a value holds `;key=` itself, the lengths are hashed along.

use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha512_256};

/// A digest of content: 64 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Digest(String);

impl Digest {
    /// One that was stored somewhere.
    pub(crate) fn stored(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// Of nothing at all: what an object that is gone counts as.
    pub(crate) fn of_nothing() -> Self {
        of(&[])
    }

    /// The digits.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Of a ConfigMap.
pub(crate) fn of_config_map(data: Option<&BTreeMap<String, String>>, binary: Option<&BTreeMap<String, ByteString>>) -> Digest {
    let text = data.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_bytes().to_vec()));
    let binary = binary.into_iter().flatten().map(|(key, value)| (key.as_str(), base64(&value.0).into_bytes()));
    of(&text.chain(binary).collect::<Vec<_>>())
}

/// Of a Secret.
pub(crate) fn of_secret(data: Option<&BTreeMap<String, ByteString>>) -> Digest {
    of(&data.into_iter().flatten().map(|(key, value)| (key.as_str(), value.0.clone())).collect::<Vec<_>>())
}

fn of(pairs: &[(&str, Vec<u8>)]) -> Digest {
    let mut joined: Vec<Vec<u8>> = pairs.iter().map(|(key, value)| [key.as_bytes(), b"=", value].concat()).collect();
    joined.sort();
    let mut hash = Sha512_256::new();
    hash.update(joined.join(&b';'));
    if pairs.iter().any(|(_, value)| is_ambiguous(value)) {
        for pair in &joined {
            hash.update(pair.len().to_be_bytes());
        }
    }
    Digest(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Whether a value reads like more pairs: `;`, the characters of a key, `=`.
fn is_ambiguous(value: &[u8]) -> bool {
    let is_key = |c: &u8| c.is_ascii_alphanumeric() || b"-._".contains(c);
    value.split(|c| *c == b';').skip(1).any(|part| part.iter().position(|c| !is_key(c)).is_some_and(|end| end > 0 && part[end] == b'='))
}

/// Standard base64 with padding.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let bits = chunk.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            match place <= chunk.len() {
                true => text.push(char::from(DIGITS[(bits >> (18 - 6 * place)) as usize & 63])),
                false => text.push('='),
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    fn bytes(pairs: &[(&str, &[u8])]) -> BTreeMap<String, ByteString> {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), ByteString(value.to_vec()))).collect()
    }

    fn plain(joined: &str) -> String {
        Sha512_256::digest(joined).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_digest_is_reloaders() {
        let map = of_config_map(Some(&text(&[("b", "2"), ("a", "1")])), Some(&bytes(&[("c", &[255, 0, 1, 2])])));
        assert_eq!(map.as_str(), plain("a=1;b=2;c=/wABAg=="));
        assert_eq!(of_secret(Some(&bytes(&[("password", b"x")]))).as_str(), plain("password=x"));
        assert_eq!(Digest::of_nothing().as_str(), plain(""));
        assert_eq!(of_config_map(None, None), Digest::of_nothing());
    }

    #[test]
    fn values_that_read_like_pairs_are_told_apart() {
        let one = of_config_map(Some(&text(&[("a", "1;b=2")])), None);
        let two = of_config_map(Some(&text(&[("a", "1"), ("b", "2")])), None);
        assert_ne!(one, two);
        let nginx = "server { listen 80; server_name x; set $a b=c; }";
        assert_eq!(of_config_map(Some(&text(&[("n.conf", nginx)])), None).as_str(), plain(&format!("n.conf={nginx}")));
    }

    #[test]
    fn base64_is_padded() {
        for (bytes, expected) in [(&b""[..], ""), (b"f", "Zg=="), (b"fo", "Zm8="), (b"foo", "Zm9v"), (b"foob", "Zm9vYg==")] {
            assert_eq!(base64(bytes), expected);
        }
    }
}
