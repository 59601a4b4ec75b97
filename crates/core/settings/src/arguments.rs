//! Values as arguments of a directive.

use ngx_value::{GroupList, HttpVersion, NextUpstream, Regex, Seconds, Size, Time, TlsProtocol, Word};

use crate::config::HeaderBuffers;

/// A value that stands behind the name of a directive.
pub trait Arguments {
    /// The arguments, without quotes. Empty: there is no value.
    fn arguments(&self) -> Vec<String>;
}

impl Arguments for bool {
    fn arguments(&self) -> Vec<String> {
        vec![if *self { "on" } else { "off" }.to_owned()]
    }
}

impl Arguments for Seconds {
    fn arguments(&self) -> Vec<String> {
        vec![format!("{self}s")]
    }
}

impl Arguments for Word {
    fn arguments(&self) -> Vec<String> {
        vec![self.to_string()]
    }
}

impl Arguments for GroupList {
    fn arguments(&self) -> Vec<String> {
        vec![self.to_string()]
    }
}

impl Arguments for Regex {
    fn arguments(&self) -> Vec<String> {
        vec![self.to_string()]
    }
}

impl<T: Arguments> Arguments for Vec<T> {
    fn arguments(&self) -> Vec<String> {
        self.iter().flat_map(T::arguments).collect()
    }
}

impl<T: Arguments> Arguments for Option<T> {
    fn arguments(&self) -> Vec<String> {
        self.iter().flat_map(T::arguments).collect()
    }
}

macro_rules! printed {
    ($($type:ty),*) => {
        $(impl Arguments for $type {
            fn arguments(&self) -> Vec<String> {
                self.to_string().split(' ').map(str::to_owned).collect()
            }
        })*
    };
}

printed!(u16, u32, Size, Time, TlsProtocol, HttpVersion, NextUpstream, HeaderBuffers);
