//! Users and their hashed passwords.

use std::collections::BTreeMap;

use sha2::{Digest, Sha256};

/// One set of users. Its key in the table is the content address. No `Debug` of the content, no `Serialize`.
///
/// Basic: name to hash. Digest: `name:realm` to the 32 hexadecimal digits of HA1.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct UsersRecord(BTreeMap<String, String>);

impl UsersRecord {
    /// From names and hashes.
    pub(crate) const fn new(by_name: BTreeMap<String, String>) -> Self {
        Self(by_name)
    }

    /// Names and hashes, in the order of names.
    pub(crate) const fn by_name(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// The content address, 32 hexadecimal digits.
    pub(crate) fn id(&self) -> String {
        let mut digest = Sha256::new();
        for (name, hash) in &self.0 {
            for text in [name, hash] {
                digest.update(text.len().to_le_bytes());
                digest.update(text);
            }
        }
        const_hex::encode(&digest.finalize()[..16])
    }
}

impl std::fmt::Debug for UsersRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "UsersRecord({})", self.0.len())
    }
}
