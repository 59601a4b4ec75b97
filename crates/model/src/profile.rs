//! Profiles: the location-level directives that NGINX can't vary per request.
//!
//! Distinct combinations are few, so each is one named location `@<id>` and a route only names it.
//! A field that is `None` inherits the `http` block's value, which comes from the ConfigMap: so the commonest profile is
//! [`Profile::default`], always rendered, and a changed ConfigMap does not rename every profile.

use std::fmt;
use std::sync::Arc;

use ngx_value::{Size, Snippet};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// Content address of a profile: `base` for the default one, else 16 hexadecimal digits. The named location is `@` + this.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ProfileId(pub Arc<str>);

impl fmt::Display for ProfileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Directives of one named location. Equal content, equal [`ProfileId`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Profile {
    /// `client_max_body_size`; 0 = unlimited. The Content-Length check itself is done in Lua, this one catches chunked bodies.
    pub body_size: Option<Size>,
    /// `proxy_buffering`.
    pub buffering: Option<bool>,
    /// `proxy_buffer_size`, and the size in `proxy_buffers`.
    pub buffer_size: Option<Size>,
    /// The number in `proxy_buffers`.
    pub buffers_number: Option<u32>,
    /// `proxy_request_buffering`.
    pub request_buffering: Option<bool>,
    /// `configuration-snippet`: allowed by the risk level, balanced, parsed.
    pub snippet: Option<Snippet>,
}

impl Profile {
    /// The content address.
    pub fn id(&self) -> ProfileId {
        if *self == Self::default() {
            return ProfileId("base".into());
        }
        let digest = Sha256::digest(self.canonical().as_bytes());
        ProfileId(digest.iter().take(8).map(|byte| format!("{byte:02x}")).collect::<String>().into())
    }

    /// What is special about it, in words: `proxy-body-size 8m, a configuration-snippet`. Empty for the default profile.
    pub fn describe(&self) -> String {
        self.parts()
            .into_iter()
            .map(
                |(name, value)| {
                    if name == "configuration-snippet" { "a configuration-snippet".to_owned() } else { format!("{name} {value}") }
                },
            )
            .collect::<Vec<_>>()
            .join(", ")
    }

    /// Every set field as (setting name, value), in a fixed order.
    fn parts(&self) -> Vec<(&'static str, String)> {
        let on_off = |value: bool| if value { "on" } else { "off" }.to_owned();
        // Destructured so that a new field can't be forgotten in the digest.
        let Self { body_size, buffering, buffer_size, buffers_number, request_buffering, snippet } = self;
        [
            ("proxy-body-size", body_size.map(|size| size.to_string())),
            ("proxy-buffering", buffering.map(on_off)),
            ("proxy-buffer-size", buffer_size.map(|size| size.to_string())),
            ("proxy-buffers-number", buffers_number.map(|number| number.to_string())),
            ("proxy-request-buffering", request_buffering.map(on_off)),
            ("configuration-snippet", snippet.as_ref().map(|snippet| snippet.as_str().to_owned())),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
    }

    /// An unambiguous text of the content: every value is preceded by its length.
    fn canonical(&self) -> String {
        self.parts().into_iter().map(|(name, value)| format!("{name} {} {value}\n", value.len())).collect()
    }
}
