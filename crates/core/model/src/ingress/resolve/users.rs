//! Secrets with users: password files, or a key for each user.

mod cost;

use std::collections::BTreeMap;
use std::sync::Arc;

use k8s_openapi::api::core::v1::Secret;
use settings::{AuthScheme, SecretLayout};

use super::{Lookup, Resolution};
use crate::key::ObjectKey;
use crate::live::{UsersRecord, bytes_of};
use crate::problem::ProblemKind;
use crate::rule::Users;

/// The key of a Secret that holds a password file.
const FILE_KEY: &str = "auth";

/// In the place of a hash: no password has it.
const NO_HASH: &str = "*";

/// Reads the users. `None` where no password is asked for, or the Ingress is denied.
pub(super) fn resolve(lookup: &Lookup<'_>, outcome: &mut Resolution<'_>) -> Option<Users> {
    let auth = &lookup.spec.basic_auth;
    let scheme = auth.auth_type?;
    // Without a reference that can be read the parser has denied the Ingress.
    let reference = auth.auth_secret.as_ref()?;
    let key = match lookup.key(reference) {
        Ok(key) => key,
        Err(invalid) => {
            outcome.deny("auth-secret", &invalid.to_string());
            return None;
        }
    };
    let Some(secret) = lookup.snapshot.secrets.get(&key) else {
        outcome.deny("auth-secret", &format!("expected a Secret that exists, but there is no {key}"));
        return None;
    };
    let lines = match auth.auth_secret_type {
        SecretLayout::File => match file(secret, &key) {
            Ok(lines) => lines,
            Err(what) => {
                outcome.deny("auth-secret", &what);
                return None;
            }
        },
        SecretLayout::Map => map(secret),
    };
    let record = Arc::new(read(&lines, scheme, &key, outcome));
    let id: Arc<str> = record.id().into();
    Some(Users { bytes: bytes_of(&id, &record), id, record, secret: key })
}

/// The lines of the password file, as bytes: comments and empty ones are left out.
fn file(secret: &Secret, key: &ObjectKey) -> Result<Vec<Vec<u8>>, String> {
    let data = secret.data.as_ref().and_then(|data| data.get(FILE_KEY));
    let data = data.ok_or_else(|| format!("expected a password file under the key {FILE_KEY:?}, which Secret {key} does not have"))?;
    let lines = data.0.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line));
    Ok(lines.filter(|line| !line.is_empty() && line[0] != b'#').map(<[u8]>::to_vec).collect())
}

/// The same of a Secret in which each key is a user.
fn map(secret: &Secret) -> Vec<Vec<u8>> {
    let data = secret.data.iter().flatten();
    data.map(|(user, hash)| [user.as_bytes(), b":", hash.0.trim_ascii()].concat()).collect()
}

/// Users and hashes; of two lines for one user the first counts.
fn read(lines: &[Vec<u8>], scheme: AuthScheme, key: &ObjectKey, outcome: &mut Resolution<'_>) -> UsersRecord {
    let mut users = BTreeMap::new();
    for (number, line) in lines.iter().enumerate() {
        match std::str::from_utf8(line).ok().and_then(|line| entry(line, scheme)) {
            Some((user, hash)) => {
                let fault = match scheme {
                    AuthScheme::Basic => cost::check(&hash).err(),
                    AuthScheme::Digest => None,
                };
                if let Some(fault) = &fault {
                    let detail = format!("user {} of Secret {key} has {fault}; it can't log in", number + 1);
                    outcome.problem("auth-secret", ProblemKind::InvalidValue, detail);
                }
                // A later line for the same user does not count either.
                users.entry(user).or_insert_with(|| fault.map_or(hash, |_| NO_HASH.to_owned()));
            }
            None => {
                let expected = match scheme {
                    AuthScheme::Basic => "name:hash",
                    AuthScheme::Digest => "name:realm:hash, the hash of 32 hexadecimal digits",
                };
                let detail = format!("user {} of Secret {key} is not {expected}; it can't log in", number + 1);
                outcome.problem("auth-secret", ProblemKind::InvalidValue, detail);
            }
        }
    }
    UsersRecord::new(users)
}

/// Name and hash of one line. What stands behind the hash is a comment.
fn entry(line: &str, scheme: AuthScheme) -> Option<(String, String)> {
    let (user, rest) = line.split_once(':')?;
    match scheme {
        AuthScheme::Basic => {
            let hash = rest.split(':').next().unwrap_or_default();
            (!hash.is_empty()).then(|| (user.to_owned(), hash.to_owned()))
        }
        AuthScheme::Digest => {
            let (realm, hash) = rest.split_once(':')?;
            let hash = hash.split(':').next().unwrap_or_default().to_ascii_lowercase();
            let valid = hash.len() == 32 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            valid.then(|| (format!("{user}:{realm}"), hash))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_name_and_a_hash() {
        let basic = |line| entry(line, AuthScheme::Basic).map(|(user, hash)| format!("{user} {hash}"));
        assert_eq!(basic("foo:$2y$05$abc").as_deref(), Some("foo $2y$05$abc"));
        assert_eq!(basic("foo:{PLAIN}x:a comment").as_deref(), Some("foo {PLAIN}x"));
        assert_eq!((basic("foo:"), basic("foo"), basic("foo::x")), (None, None, None));
        let hash = "0123456789ABCDEF0123456789abcdef";
        let digest = |line: &str| entry(line, AuthScheme::Digest).map(|(user, hash)| format!("{user} {hash}"));
        assert_eq!(digest(&format!("foo:here:{hash}")).as_deref(), Some("foo:here 0123456789abcdef0123456789abcdef"));
        assert_eq!((digest("foo:here:123"), digest("foo:here")), (None, None));
    }
}
