//! Basic and digest authentication.

use std::str::FromStr;

use ngx_value::{Invalid, Realm};

use super::common::{self, LOCATION, object, set, trimmed, without_blanks};
use crate::rare::Rare;
use crate::reference::Reference;
use crate::table::*;

pub(super) static GROUP: Group = Group {
    title: "Basic and digest authentication",
    doc: "Whatever is wrong here closes the locations; they are never served without the password.",
    entries: ENTRIES,
    finish,
    clear: |spec| spec.basic_auth = Rare::default(),
    ..common::GROUP
};

/// What these annotations ask for. With `scheme` and without `secret` the locations are closed.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BasicAuth {
    /// `auth-type`. `None`: no password is asked for.
    pub auth_type: Option<AuthScheme>,
    /// `auth-secret`: the Secret with the users.
    pub auth_secret: Option<Reference>,
    /// `auth-secret-type`: what that Secret looks like.
    pub auth_secret_type: SecretLayout,
    /// `auth-realm`. `None`: empty.
    pub auth_realm: Option<Realm>,
}

/// How a password is asked for (`auth-type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AuthScheme {
    /// RFC 7617.
    Basic,
    /// RFC 7616, with MD5.
    Digest,
}

/// What a Secret with users looks like (`auth-secret-type`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum SecretLayout {
    /// The key `auth` holds a password file.
    #[default]
    File,
    /// Every key is a user, its value the hashed password.
    Map,
}

impl FromStr for AuthScheme {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "basic" => Ok(Self::Basic),
            "digest" => Ok(Self::Digest),
            _ => Err(Invalid::new("basic or digest")),
        }
    }
}

impl FromStr for SecretLayout {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        match text {
            "auth-file" => Ok(Self::File),
            "auth-map" => Ok(Self::Map),
            _ => Err(Invalid::new("auth-file or auth-map")),
        }
    }
}

const NEEDS: Option<Needs> = Some(Needs { what: "auth-type", met: |spec| spec.basic_auth.auth_type.is_some() });

static ENTRIES: &[Entry] = &[
    Entry {
        name: "auth-realm",
        risk: Risk::Medium,
        value: "letters, digits, `- . _ ~ / :` and spaces; not `off`",
        doc: "What the browser shows when it asks for the password.",
        example: "Members only",
        companions: COMPANIONS,
        on_invalid: OnInvalid::Deny,
        needs: NEEDS,
        guard: Guard::Protects,
        parse: |text, draft| set(&mut draft.spec.basic_auth.auth_realm, trimmed(text)),
        ..LOCATION
    },
    Entry {
        name: "auth-secret",
        risk: Risk::Medium,
        value: "`name` or `namespace/name` of a Secret",
        doc: "The Secret with the users. One in another namespace needs `allow-cross-namespace-resources`.",
        example: "users",
        companions: &[("auth-type", "basic")],
        on_invalid: OnInvalid::Deny,
        on_empty: OnEmpty::Value,
        needs: NEEDS,
        guard: Guard::Protects,
        parse: |text, draft| {
            draft.spec.basic_auth.auth_secret = Some(object(text, draft, false)?.ok_or(SECRET)?);
            Ok(())
        },
        ..LOCATION
    },
    Entry {
        name: "auth-secret-type",
        value: "auth-file or auth-map",
        doc: "`auth-file`: the Secret's key `auth` holds a password file. `auth-map`: each key is a user, its value the hashed password. \
            Hashes: bcrypt up to the cost 12, SHA-crypt (`$5$`, `$6$`) up to 100000 rounds, MD5 (`$apr1$`, `$1$`), yescrypt (`$y$j9T$`), DES, `{SHA}`, `{SSHA}`, `{PLAIN}`; a user with another one can't log in.",
        example: "auth-map",
        companions: COMPANIONS,
        on_invalid: OnInvalid::Deny,
        needs: NEEDS,
        guard: Guard::Protects,
        parse: |text, draft| set(&mut draft.spec.basic_auth.auth_secret_type, without_blanks(text).map(Option::unwrap_or_default)),
        ..LOCATION
    },
    Entry {
        name: "auth-type",
        value: "basic or digest",
        doc: "Ask for a password. `auth-secret` names the users. Locations below `no-auth-locations` are not asked.",
        example: "basic",
        companions: &[("auth-secret", "users")],
        on_invalid: OnInvalid::Deny,
        guard: Guard::Protects,
        parse: |text, draft| set(&mut draft.spec.basic_auth.auth_type, without_blanks(text)),
        ..LOCATION
    },
];

/// What the examples stand beside.
const COMPANIONS: &[(&str, &str)] = &[("auth-type", "basic"), ("auth-secret", "users")];

const SECRET: Invalid = Invalid::new("the name of a Secret, as auth-type is set");

fn finish(draft: &mut Draft) {
    if draft.spec.basic_auth.auth_type.is_some() && draft.spec.basic_auth.auth_secret.is_none() && !draft.has_failed("auth-secret") {
        draft.fault_on("auth-secret", OnInvalid::Deny, &SECRET);
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{bad, good};
    use super::*;
    use crate::parse::FindingKind::{Invalid, Surprise};
    use crate::parse::ParseVerdict::{Accepted, Denied};

    #[test]
    fn a_scheme_needs_a_secret() {
        let auth = good(&[("auth-type", " basic"), ("auth-secret", "ns/users"), ("auth-realm", "test auth")]).basic_auth;
        assert_eq!((auth.auth_type, auth.auth_secret_type), (Some(AuthScheme::Basic), SecretLayout::File));
        assert_eq!(
            (auth.auth_secret.clone().unwrap().to_string().as_str(), auth.auth_realm.clone().unwrap().as_str()),
            ("ns/users", "test auth")
        );
        let auth = good(&[("auth-type", "digest"), ("auth-secret", "users"), ("auth-secret-type", "auth-map")]).basic_auth;
        assert_eq!((auth.auth_type, auth.auth_secret_type), (Some(AuthScheme::Digest), SecretLayout::Map));
        let missing = [("auth-secret", Invalid, "expected the name of a Secret, as auth-type is set; because it protects")];
        for pairs in [
            vec![("auth-type", "basic")],
            vec![("auth-type", "basic"), ("auth-secret", "")],
            vec![("auth-type", "basic"), ("auth-secret", " ")],
        ] {
            assert_eq!(bad(&pairs, Denied, &missing).basic_auth.auth_secret, None);
        }
    }

    #[test]
    fn what_is_wrong_never_opens() {
        let with = |name, value| vec![("auth-type", "basic"), ("auth-secret", "users"), (name, value)];
        for (name, value) in [
            ("auth-realm", "off"),
            ("auth-realm", "a\"; return 200"),
            ("auth-realm", "a\n"),
            ("auth-secret-type", "auth"),
            ("auth-secret-type", "auth-file2"),
        ] {
            bad(&with(name, value), Denied, &[(name, Invalid, "expected ")]);
        }
        for secret in ["a/b/c", "a;b", "../a", "A"] {
            bad(&[("auth-type", "basic"), ("auth-secret", secret)], Denied, &[("auth-secret", Invalid, "expected a name")]);
        }
        for scheme in ["Basic", "bearer", "mybasic", "basic;"] {
            bad(&[("auth-type", scheme)], Denied, &[("auth-type", Invalid, "expected basic or digest; because it protects")]);
        }
    }

    #[test]
    fn without_a_scheme_the_others_are_not_read() {
        let spec = bad(&[("auth-realm", "\"")], Accepted, &[("auth-realm", Surprise, "it has no effect without auth-type")]);
        assert_eq!(spec.basic_auth, BasicAuth::default());
    }
}
