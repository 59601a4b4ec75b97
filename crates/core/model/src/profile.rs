//! Profiles: the location-level directives that NGINX can't vary per request.
//!
//! Distinct combinations are few, so each is one named location `@<id>` and a route only names it.
//! A field that is `None` inherits the `http` block's value, which comes from the ConfigMap: so the commonest profile is
//! [`Profile::default`], always rendered, and a changed ConfigMap does not rename every profile.

mod directives;
mod error_pages;
pub mod external_auth;
mod firewall;
mod prebuilt;
mod proxying;
mod transport;

use std::fmt;
use std::sync::Arc;

use ngx_value::Snippet;
use serde::Serialize;
use sha2::{Digest, Sha256};

use self::external_auth::AuthLocation;
pub use directives::Directives;
pub use error_pages::ErrorPages;
pub use firewall::FirewallText;
pub(crate) use prebuilt::prebuilt;
pub use proxying::{Proxying, Replacement, is_regex};
pub use transport::{BackendName, BackendTls, BackendTrust, TlsMaterial, Transport};

/// Content address of a profile: `base` for the default one, else 16 hexadecimal digits. The named location is `@` + this.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct ProfileId(pub Arc<str>);

impl ProfileId {
    /// Whether it is that of the default profile, which is always there.
    pub fn is_default(&self) -> bool {
        &*self.0 == "base"
    }
}

impl fmt::Display for ProfileId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Directives of one named location. Equal content, equal [`ProfileId`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Hash)]
pub struct Profile {
    /// Those that are one annotation each.
    pub directives: Directives,
    /// Buffers, retries and what happens to the headers of answers.
    pub proxying: Proxying,
    /// Protocol, TLS, FastCGI.
    pub transport: Transport,
    /// `mirror-target`: a copy of each request goes elsewhere too; true: with its body.
    pub mirror: Option<bool>,
    /// `custom-http-errors`, instead of the global list.
    pub error_pages: Option<ErrorPages>,
    /// ModSecurity, where it is not as the global settings say.
    pub firewall: Option<FirewallText>,
    /// `enable-rewrite-log`: for the directives of snippets; Lua logs its own rewrites.
    pub rewrite_log: bool,
    /// Another service is asked about each request.
    pub external_auth: Option<AuthLocation>,
    /// `configuration-snippet`: allowed by the risk level, balanced, parsed.
    pub snippet: Option<Snippet>,
}

impl Profile {
    /// The content address.
    pub fn id(&self) -> ProfileId {
        if *self == Self::default() {
            return ProfileId("base".into());
        }
        ProfileId(address(&canonical(self.parts())).into())
    }

    /// Bytes of what is special about it: about those that its location has beside the text that all have.
    pub fn text_bytes(&self) -> u64 {
        self.parts().into_iter().filter_map(|(_, value)| value).map(|value| value.len() as u64).sum()
    }

    /// What is special about it, in words: `proxy-body-size 8m, a configuration-snippet`. Empty for the default profile.
    pub fn describe(&self) -> String {
        self.parts().into_iter().filter_map(|(name, value)| value.map(|value| describe(name, &value))).collect::<Vec<_>>().join(", ")
    }

    /// Every field as (setting name, value if set), in a fixed order.
    fn parts(&self) -> Vec<(&'static str, Option<String>)> {
        let on_off = |value: bool| if value { "on" } else { "off" }.to_owned();
        // Destructured so that a new field can't be forgotten in the digest.
        let Self { directives, proxying, transport, mirror, error_pages, firewall, rewrite_log, external_auth, snippet } = self;
        let mut parts = directives.parts();
        parts.extend(proxying.parts());
        parts.extend(transport.parts());
        parts.extend([
            ("custom-http-errors", error_pages.as_ref().map(ErrorPages::canonical)),
            ("firewall", firewall.as_ref().map(FirewallText::canonical)),
            ("enable-rewrite-log", rewrite_log.then(|| "true".to_owned())),
            ("mirror-request-body", mirror.map(on_off)),
            ("configuration-snippet", snippet.as_ref().map(|snippet| snippet.as_str().to_owned())),
        ]);
        parts.extend(external_auth.iter().flat_map(AuthLocation::parts).map(|(name, value)| (name, Some(value))));
        parts
    }
}

fn describe(name: &str, value: &str) -> String {
    match name {
        "configuration-snippet" | "fastcgi-params-configmap" | "firewall" | "auth-snippet" | "auth-proxy-set-headers" => {
            format!("a {name}")
        }
        _ => format!("{name} {value}"),
    }
}

/// An unambiguous text: every value is preceded by its length.
fn canonical(parts: Vec<(&'static str, Option<String>)>) -> String {
    let set = parts.into_iter().filter_map(|(name, value)| Some((name, value?)));
    set.map(|(name, value)| format!("{name} {} {value}\n", value.len())).collect()
}

/// A content address: 16 hexadecimal digits.
fn address(text: &str) -> String {
    const_hex::encode(&Sha256::digest(text.as_bytes())[..8])
}
