//! Groups that few Ingresses use, in little memory.

use std::ops::{Deref, DerefMut};
use std::sync::LazyLock;

use crate::groups::{
    Affinity, BackendTls, BasicAuth, Canary, ClientTls, Errors, ExternalAuth, Fastcgi, Firewall, Hashing, Headers, Mirror, Names,
    Observability, Snippets,
};

/// A group of annotations: what it is where none of them is there.
pub trait Group: Default + PartialEq + 'static {
    /// Its default, for all who have none of their own.
    fn unset() -> &'static Self;
}

macro_rules! group {
    ($($name:ty),* $(,)?) => {$(
        impl Group for $name {
            fn unset() -> &'static Self {
                static UNSET: LazyLock<$name> = LazyLock::new(<$name>::default);
                &UNSET
            }
        }
    )*};
}

group!(
    Affinity,
    BackendTls,
    BasicAuth,
    Canary,
    ClientTls,
    Errors,
    ExternalAuth,
    Fastcgi,
    Firewall,
    Hashing,
    Mirror,
    Names,
    Observability,
    Snippets,
    Headers,
);

/// A group that takes no memory unless something of it was set: there is one of each kind for each of thousands of Ingresses.
#[derive(Debug, Clone)]
pub struct Rare<T>(Option<Box<T>>);

impl<T> Default for Rare<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T: Group> From<T> for Rare<T> {
    fn from(group: T) -> Self {
        Self((group != *T::unset()).then(|| group.into()))
    }
}

impl<T: Group> Deref for Rare<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().unwrap_or_else(|| T::unset())
    }
}

impl<T: Group> DerefMut for Rare<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.0.get_or_insert_default()
    }
}

impl<T: Group> PartialEq for Rare<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Group> PartialEq<T> for Rare<T> {
    fn eq(&self, other: &T) -> bool {
        **self == *other
    }
}
