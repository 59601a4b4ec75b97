//! References to objects of the cluster.

use std::fmt;
use std::str::FromStr;

use ngx_value::Invalid;

/// The name of a Secret, ConfigMap or Service, perhaps in another namespace: `name` or `namespace/name`.
///
/// Both are DNS names in lower case: letters, digits, `-` and `.`, at most 253 characters. Whether another namespace may be named is
/// decided by [`Reference::resolve`]; there is no other way to a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Reference {
    namespace: Option<String>,
    name: String,
}

const EXPECTED: Invalid = Invalid::new("the name of an object, or a namespace and a name such as shop/ca");

impl Reference {
    /// The name of the object.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether a namespace is written.
    pub const fn is_qualified(&self) -> bool {
        self.namespace.is_some()
    }

    /// Namespace and name, seen from an object in the namespace `home`.
    ///
    /// # Errors
    /// Another namespace is named, and `cross_namespace` (the setting `allow-cross-namespace-resources`) is false.
    pub fn resolve<'a>(&'a self, home: &'a str, cross_namespace: bool) -> Result<(&'a str, &'a str), Invalid> {
        match self.namespace.as_deref() {
            Some(other) if other != home && !cross_namespace => Err(Invalid::because(format!(
                "an object in the namespace {home} of the Ingress, because allow-cross-namespace-resources is false"
            ))),
            Some(namespace) => Ok((namespace, &self.name)),
            None => Ok((home, &self.name)),
        }
    }
}

impl FromStr for Reference {
    type Err = Invalid;

    fn from_str(text: &str) -> Result<Self, Invalid> {
        let (namespace, name) = match text.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, text),
        };
        if !namespace.is_none_or(is_object_name) || !is_object_name(name) {
            return Err(EXPECTED);
        }
        Ok(Self { namespace: namespace.map(str::to_owned), name: name.to_owned() })
    }
}

fn is_object_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let label = |label: &str| !label.is_empty() && !label.starts_with('-') && !label.ends_with('-') && label.bytes().all(inner);
    text.len() <= 253 && text.split('.').all(label)
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}", self.name),
            None => f.write_str(&self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_is_a_name_or_a_namespace_and_a_name() {
        for text in ["ca", "shop/ca", "a.b-c/d.e", "1"] {
            assert_eq!(text.parse::<Reference>().unwrap().to_string(), text);
        }
        for text in ["", "/", "a/", "/a", "a/b/c", "A", "a b", "-a", "a-", "a..b", "../a", "a_b", "a\n"] {
            assert!(text.parse::<Reference>().is_err(), "{text:?}");
        }
        assert!("a".repeat(254).parse::<Reference>().is_err());
    }

    #[test]
    fn another_namespace_is_reached_only_where_that_is_allowed() {
        let own: Reference = "ca".parse().unwrap();
        let other: Reference = "shop/ca".parse().unwrap();
        assert_eq!(own.resolve("home", false), Ok(("home", "ca")));
        assert_eq!(other.resolve("shop", false), Ok(("shop", "ca")));
        assert_eq!(other.resolve("home", true), Ok(("shop", "ca")));
        assert!(other.resolve("home", false).is_err());
    }
}
