//! What NGINX does only with a module that need not be there.

use std::collections::BTreeSet;

use annotations::Config;

/// Something that a package of its own brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Module {
    /// ModSecurity.
    Firewall,
    /// The OWASP core rule set.
    CoreRules,
    /// TCP and UDP.
    Stream,
}

impl Module {
    /// What it is and how to get it.
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Firewall => "the module ngx_http_modsecurity_module (Debian package libnginx-mod-http-modsecurity)",
            Self::CoreRules => "the OWASP core rule set (Debian package modsecurity-crs)",
            Self::Stream => "the module ngx_stream_module (Debian package libnginx-mod-stream)",
        }
    }
}

/// Takes settings back for which something is missing, and names them.
pub(crate) fn withhold(config: &mut Config, missing: &BTreeSet<Module>) -> Vec<(&'static str, Module)> {
    let defaults = Config::default();
    let mut withheld = Vec::new();
    let watching = &mut config.watching;
    if watching.enable_modsecurity && missing.contains(&Module::Firewall) {
        watching.enable_modsecurity = false;
        withheld.push(("enable-modsecurity", Module::Firewall));
    }
    if watching.enable_modsecurity && watching.enable_owasp_modsecurity_crs && missing.contains(&Module::CoreRules) {
        watching.enable_owasp_modsecurity_crs = false;
        withheld.push(("enable-owasp-modsecurity-crs", Module::CoreRules));
    }
    if config.snippets.stream.is_some() && missing.contains(&Module::Stream) {
        config.snippets.stream = defaults.snippets.stream;
        withheld.push(("stream-snippet", Module::Stream));
    }
    withheld
}
