//! What the NGINX at hand can do. Found once by the `nginx` crate; plain data here.

use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;

use model::Module;
use serde::{Deserialize, Serialize};

use crate::firewall;
use crate::globals::{compression, geoip, stream};
use crate::stream_map;

/// HTTP/3: no file, but part of the binary or not.
const HTTP3: &str = "ngx_http_v3_module";

/// The NGINX binary, its modules and the machine it runs on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Version of the binary: `(1, 22, 1)`.
    pub version: (u32, u32, u32),
    /// Where dynamic modules lie (`--modules-path`).
    pub modules_dir: PathBuf,
    /// File stems present there: `ndk_http_module`, `ngx_http_lua_module`, ...; and `ngx_http_v3_module`, where it is part of the binary.
    pub modules: BTreeSet<String>,
    /// Whether the master may load programs into the kernel that choose the socket of a packet (`CAP_BPF` and `CAP_NET_ADMIN`).
    pub bpf: bool,
    /// Whether the machine has a usable IPv6 stack.
    pub ipv6: bool,
    /// The user of the workers, as `user` or `user:group`; only when the master runs as root, which alone can change it.
    pub worker_user: Option<String>,
    /// Processors that may be used, a CPU quota counted (rounded up). At least 1.
    pub cpus: u32,
    /// Hard limit of open files of the master (`RLIMIT_NOFILE`); `None` when unknown, then NGINX keeps what it inherits.
    pub open_files_limit: Option<u64>,
    /// Longest queue of connections that wait to be accepted (`net.core.somaxconn`).
    pub backlog: u32,
    /// Files of the OWASP core rule set in the order of loading, may hold `*`. Empty: it is not installed.
    pub core_rules: Vec<String>,
    /// Name servers of the machine (`/etc/resolv.conf`), for names in snippets. May be empty.
    pub name_servers: Vec<IpAddr>,
}

impl Capabilities {
    /// NGINX as Debian 13 distributes it, with the required modules, run by an ordinary user: for rendering where there is none.
    pub fn assumed() -> Self {
        Self {
            version: (1, 26, 3),
            modules_dir: "/usr/lib/nginx/modules".into(),
            modules: ["ndk_http_module", "ngx_http_lua_module", HTTP3].map(str::to_owned).into(),
            bpf: false,
            ipv6: true,
            worker_user: None,
            cpus: 1,
            open_files_limit: None,
            backlog: 511,
            core_rules: Vec::new(),
            name_servers: Vec::new(),
        }
    }

    /// The same with every module that settings can ask for: for checks of all settings.
    #[must_use]
    pub fn complete() -> Self {
        let mut complete = Self::assumed();
        let modules = [
            "ngx_http_modsecurity_module",
            "ngx_http_brotli_filter_module",
            "ngx_http_zstd_filter_module",
            "ngx_http_geoip2_module",
            "ngx_stream_module",
            "ngx_stream_js_module",
        ];
        complete.modules.extend(modules.map(str::to_owned));
        complete
    }

    /// What users may ask for and this NGINX can't do.
    pub fn missing(&self) -> BTreeSet<Module> {
        let needs = [
            (Module::Firewall, self.has(firewall::MODULE)),
            (Module::CoreRules, !self.core_rules.is_empty()),
            (Module::Brotli, self.has(compression::BROTLI)),
            (Module::Zstd, self.has(compression::ZSTD)),
            (Module::GeoIp, self.has(geoip::MODULE)),
            (Module::Stream, self.has(stream::MODULE)),
            (Module::StreamScript, self.has(stream_map::MODULE)),
            (Module::Http3, self.has(HTTP3)),
        ];
        needs.into_iter().filter(|(_, present)| !present).map(|(module, _)| module).collect()
    }

    /// HTTP/2 is a directive of its own (else a parameter of `listen`).
    pub(crate) fn has_http2_directive(&self) -> bool {
        self.version >= (1, 25, 1)
    }

    /// `keepalive_min_timeout` exists.
    pub(crate) fn has_keepalive_min_timeout(&self) -> bool {
        self.version >= (1, 27, 4)
    }

    /// Whether a dynamic module is present.
    pub(crate) fn has(&self, module: &str) -> bool {
        self.modules.contains(module)
    }
}
