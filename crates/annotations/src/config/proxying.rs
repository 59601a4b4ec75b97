//! Defaults of the annotations about endpoints and proxying.

use ngx_value::{CookieDomainReplacement, CookiePathReplacement, Invalid, LocationPart, Size};

use super::Config;
use super::grammar::{BOOL, BUFFER, COUNT, Grammar, own};
use super::table::{default, settings};
use crate::groups::Proxy;

settings! {
    /// Defaults of the annotations about endpoints and proxying.
    ProxyingDefaults in proxying;

    /// How much of an answer may be on its way to the client while the rest is still read: from `proxy-buffer-size` to that times one less than `proxy-buffers-number`. Empty: two buffers.
    busy_buffers_size: Option<Size> = None, "proxy-busy-buffers-size", OPTIONAL_BUFFER, "12k", [Text, Routes];
    /// How much of an answer may be put into a file when the buffers are full: at least `proxy-buffer-size`, or 0 for none.
    max_temp_file_size: Size = Size::mib(1024), "proxy-max-temp-file-size", own("a size such as 1024m; 0 is none"), "64m", [Text, Routes];
    /// Replaces the `Domain` of the endpoint's cookies.
    cookie_domain: CookieDomainReplacement = CookieDomainReplacement::Off, "proxy-cookie-domain", own("off, or two words of letters, digits and `- . _ ~ / :`"), "internal.example.com shop.example.com", [Text, Routes];
    /// Replaces the beginning of the `Path` of the endpoint's cookies.
    cookie_path: CookiePathReplacement = CookiePathReplacement::Off, "proxy-cookie-path", own("off, or two words of letters, digits and `- . _ ~ / : , ? & =`"), "/app /", [Text, Routes];
    /// What is replaced by `proxy-redirect-to` at the beginning of the endpoint's headers `Location` and `Refresh`. With `default` the endpoint's own address is replaced by the client's.
    redirect_from: LocationPart = default("off"), "proxy-redirect-from", own("off, default, or a URL of letters, digits and `- . _ ~ / : , ? & =`"), "http://internal.example.com/", [Text, Routes];
    /// What takes the place of `proxy-redirect-from`. With `off` it is as if that was `default`.
    redirect_to: LocationPart = default("off"), "proxy-redirect-to", own("off, or a URL of letters, digits and `- . _ ~ / : , ? & =`"), "https://shop.example.com/", [Text, Routes];
    /// The `proxy-ssl-*` annotations hold for the paths of their Ingress only, not for the rest of the host.
    ssl_location_only: bool = false, "proxy-ssl-location-only", BOOL, "true", [Routes];
    /// Size of the buffer for what gRPC endpoints answer, in KiB; 0 = NGINX's own.
    grpc_buffer_size_kib: u32 = 0, "grpc-buffer-size-kb", KIB, "16", [Text];
}

/// A number of KiB that NGINX takes as a buffer.
const KIB: Grammar<u32> =
    Grammar { value: "a whole number up to 1048576", read: |text, notes| read_kib(text, notes), print: u32::to_string };

fn read_kib(text: &str, notes: &mut Vec<String>) -> Result<u32, Invalid> {
    (COUNT.read)(text, notes).ok().filter(|kib| *kib <= 1 << 20).ok_or(Invalid::new("a whole number from 0 to 1048576"))
}

/// Sizes that do not fit the other buffers: key and what to say about it.
pub(super) fn check(config: &Config) -> Vec<(&'static str, String)> {
    let buffers = Proxy::default().buffers(config);
    let mut found = Vec::new();
    if let Some(busy) = config.proxying.busy_buffers_size.filter(|busy| buffers.busy != Some(*busy)) {
        let detail = format!("{busy} is not between proxy-buffer-size and that times one less than proxy-buffers-number; it is ignored");
        found.push(("proxy-busy-buffers-size", detail));
    }
    let file = config.proxying.max_temp_file_size;
    if buffers.max_temp_file != file {
        let detail = format!("{file} is less than proxy-buffer-size, {}, which is used instead", buffers.max_temp_file);
        found.push(("proxy-max-temp-file-size", detail));
    }
    found
}

/// The size of a buffer, or nothing.
const OPTIONAL_BUFFER: Grammar<Option<Size>> = Grammar {
    value: "a size such as 8k, from 1 byte to 1g, or empty",
    read: |text, notes| if text.is_empty() { Ok(None) } else { (BUFFER.read)(text, notes).map(Some) },
    print: |size| size.as_ref().map(Size::to_string).unwrap_or_default(),
};
