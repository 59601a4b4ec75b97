//! Settings on the wire: what becomes of their types.

use std::num::NonZeroU32;
use std::sync::Arc;

use ngx_value::{Seconds, Size, SpanName, VhostTemplate};
use settings::groups::ConnectionHeader;
use settings::{Config, Spec};

/// A record whose fields name the settings that they are.
pub(crate) trait FromSettings {
    /// These fields by the annotations of an Ingress and the ConfigMap; all others have their defaults.
    fn of(spec: &Spec, config: &Config) -> Self;
}

/// A setting that has a form on the wire.
pub(crate) trait Sent<T> {
    /// That form.
    fn sent(&self) -> T;
}

impl<T, S: Sent<T>> Sent<Option<T>> for Option<S> {
    fn sent(&self) -> Option<T> {
        self.as_ref().map(S::sent)
    }
}

macro_rules! sent {
    ($($setting:ty as $type:ty: $form:expr;)*) => {
        $(impl Sent<$type> for $setting {
            fn sent(&self) -> $type {
                let form: fn(&Self) -> $type = $form;
                form(self)
            }
        })*
    };
}

sent! {
    bool as bool: |flag| *flag;
    u16 as u16: |number| *number;
    u32 as u32: |number| *number;
    NonZeroU32 as u32: |number| number.get();
    Seconds as u32: |seconds| seconds.0;
    Size as u64: |size| size.bytes;
    ConnectionHeader as ConnectionHeader: |header| *header;
    VhostTemplate as Arc<str>: |template| template.as_str().into();
    SpanName as Arc<str>: |name| name.as_str().into();
}
