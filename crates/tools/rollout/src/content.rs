//! The content of a ConfigMap or Secret as one digest. Names, labels and annotations don't count.
//!
//! The digest is that of newer Reloaders (SHA-512/256 over the sorted `key=value` pairs, joined by `;`); where that text is ambiguous, because a value
//! holds `;key=` itself, the lengths are hashed along. What older and newer Reloaders would have written for the same content is known as well, so that
//! taking over from any of them restarts nothing.

use std::collections::BTreeMap;
use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::ByteString;
use serde::{Deserialize, Serialize};
use sha1::Sha1;
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

    /// The digest of nothing at all: what an object that is gone counts as.
    pub(crate) fn of_nothing() -> Self {
        of(&[]).ours
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

/// The digests of one content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Digests {
    /// By which we know it.
    pub(crate) ours: Digest,
    /// Others that a Reloader may have written for it.
    pub(crate) theirs: Box<[Digest]>,
}

/// The digests of a ConfigMap.
pub(crate) fn of_config_map(data: Option<&BTreeMap<String, String>>, binary: Option<&BTreeMap<String, ByteString>>) -> Digests {
    let text = data.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_bytes().to_vec()));
    let binary = binary.into_iter().flatten().map(|(key, value)| (key.as_str(), STANDARD.encode(&value.0).into_bytes()));
    of(&text.chain(binary).collect::<Vec<_>>())
}

/// The digests of a Secret.
pub(crate) fn of_secret(data: Option<&BTreeMap<String, ByteString>>) -> Digests {
    of(&data.into_iter().flatten().map(|(key, value)| (key.as_str(), value.0.clone())).collect::<Vec<_>>())
}

fn of(pairs: &[(&str, Vec<u8>)]) -> Digests {
    let mut joined: Vec<Vec<u8>> = pairs.iter().map(|(key, value)| [key.as_bytes(), b"=", value].concat()).collect();
    joined.sort();
    let text = joined.join(&b';');
    // Every Reloader before 2026, and the coming Reloader 2.
    let mut theirs = vec![hex(&Sha1::digest(&text))];
    let mut hash = Sha512_256::new_with_prefix(&text);
    if pairs.iter().any(|(_, value)| is_ambiguous(value)) {
        theirs.push(hex(&hash.clone().finalize()));
        for pair in &joined {
            hash.update(pair.len().to_be_bytes());
        }
    }
    Digests { ours: hex(&hash.finalize()), theirs: theirs.into() }
}

fn hex(bytes: &[u8]) -> Digest {
    Digest(const_hex::encode(bytes))
}

/// `true` if a value reads like more pairs: `;`, the characters of a key, `=`.
fn is_ambiguous(value: &[u8]) -> bool {
    let is_key = |c: &u8| c.is_ascii_alphanumeric() || b"-._".contains(c);
    value.split(|c| *c == b';').skip(1).any(|part| part.iter().position(|c| !is_key(c)).is_some_and(|end| end > 0 && part[end] == b'='))
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
        const_hex::encode(Sha512_256::digest(joined))
    }

    #[test]
    fn the_digest_is_reloaders() {
        let map = of_config_map(Some(&text(&[("b", "2"), ("a", "1")])), Some(&bytes(&[("c", &[255, 0, 1, 2])])));
        assert_eq!(map.ours.as_str(), plain("a=1;b=2;c=/wABAg=="));
        assert_eq!(of_secret(Some(&bytes(&[("password", b"x")]))).ours.as_str(), plain("password=x"));
        assert_eq!(Digest::of_nothing().as_str(), plain(""));
        assert_eq!(of_config_map(None, None).ours, Digest::of_nothing());
    }

    #[test]
    fn what_any_reloader_wrote_is_known() {
        // `printf %s key=1 | sha1sum`
        let one = of_config_map(Some(&text(&[("key", "1")])), None);
        assert_eq!(one.theirs.iter().map(Digest::as_str).collect::<Vec<_>>(), ["a4b089606e6a6d1521a502924c50cbce8e584798"]);
        let ambiguous = of_config_map(Some(&text(&[("a", "1;b=2")])), None);
        assert_eq!((ambiguous.theirs.len(), ambiguous.theirs[1].as_str()), (2, plain("a=1;b=2").as_str()));
    }

    #[test]
    fn values_that_read_like_pairs_are_told_apart() {
        let one = of_config_map(Some(&text(&[("a", "1;b=2")])), None);
        let two = of_config_map(Some(&text(&[("a", "1"), ("b", "2")])), None);
        assert_ne!(one.ours, two.ours);
        let nginx = "server { listen 80; server_name x; set $a b=c; }";
        assert_eq!(of_config_map(Some(&text(&[("n.conf", nginx)])), None).ours.as_str(), plain(&format!("n.conf={nginx}")));
    }
}
