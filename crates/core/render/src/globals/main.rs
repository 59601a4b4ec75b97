//! The main context and `events`.

use model::Fixed;
use serde::Serialize;
use settings::{Config, Workers};

use super::{compression, geoip, path, stream};
use crate::firewall;
use crate::print::Printed;
use crate::render::Input;
use crate::{Capabilities, RenderError, stream_map};

/// What `main.conf` prints.
#[derive(Serialize)]
pub(super) struct MainView {
    revision: Printed,
    pid: Printed,
    modules: Vec<Printed>,
    user: Option<Printed>,
    worker_processes: u32,
    worker_cpu_affinity: Option<Printed>,
    worker_rlimit_nofile: Option<u64>,
    quic_bpf: bool,
    worker_shutdown_timeout: Printed,
    error_log: Printed,
    error_log_level: Printed,
    refusals: Printed,
    multi_accept: bool,
    worker_connections: u64,
    debug_connections: Vec<Printed>,
    snippet: Option<Printed>,
}

/// Modules without which nothing works, in the order of loading, with the Debian package that brings them.
const REQUIRED: [(&str, &str); 2] = [("ndk_http_module", "libnginx-mod-http-ndk"), ("ngx_http_lua_module", "libnginx-mod-http-lua")];

/// Modules that are loaded where they are present.
const OPTIONAL: [&str; 2] = ["ngx_http_headers_more_filter_module", stream::MODULE];

/// Where the predecessor's image links its error log to.
const STDERR_LINK: &str = "/var/log/nginx/error.log";

/// Open files that are not a worker's connections.
const RESERVED_FILES: u64 = 1024;

impl MainView {
    pub(super) fn new(Input { fixed, caps, paths, revision, .. }: Input<'_>) -> Result<Self, RenderError> {
        let config = &fixed.globals.config;
        let open_files = match config.max_worker_open_files {
            // Never above the hard limit: without a capability that containers lack no worker gets that, and each complains.
            0 => caps.open_files_limit.map(|limit| limit.saturating_sub(RESERVED_FILES).max(RESERVED_FILES.min(limit))),
            files => Some(files.into()),
        };
        let worker_connections = match (config.max_worker_connections, open_files) {
            (0, Some(files)) => files * 3 / 4,
            (0, None) => Config::default().max_worker_connections.into(),
            (connections, _) => connections.into(),
        };
        Ok(Self {
            revision: Printed::word(revision)?,
            pid: path(&paths.pid())?,
            modules: modules(fixed, caps)?,
            user: caps.worker_user.as_ref().map(|user| Printed::words(user.splitn(2, ':'))).transpose()?,
            worker_processes: match config.worker_processes {
                Workers::Auto => caps.cpus.max(1),
                Workers::Count(count) => count,
            },
            worker_cpu_affinity: config.worker_cpu_affinity.as_ref().map(|masks| Printed::words(masks.arguments())).transpose()?,
            worker_rlimit_nofile: open_files,
            // Without the capabilities NGINX would not start.
            quic_bpf: config.use_http3 && config.quic_bpf && caps.bpf,
            worker_shutdown_timeout: Printed::word(config.worker_shutdown_timeout)?,
            error_log: match config.error_log_path.as_str() {
                STDERR_LINK => Printed::fixed("stderr"),
                target => Printed::argument(target)?,
            },
            error_log_level: Printed::word(config.error_log_level)?,
            refusals: path(&paths.error_log())?,
            multi_accept: config.enable_multi_accept,
            worker_connections,
            debug_connections: config.debug_connections.iter().map(Printed::word).collect::<Result<_, _>>()?,
            snippet: config.snippets.main_snippet.as_ref().map(Printed::raw),
        })
    }
}

fn modules(fixed: &Fixed, caps: &Capabilities) -> Result<Vec<Printed>, RenderError> {
    for (module, package) in REQUIRED {
        if !caps.has(module) {
            return Err(RenderError::ModuleMissing { module, directory: caps.modules_dir.clone(), package });
        }
    }
    let compression = compression::modules(&fixed.globals.config);
    let geoip = geoip::is_used(&fixed.globals, caps).then_some(geoip::MODULE);
    let optional = OPTIONAL.into_iter().chain(firewall::is_used(fixed).then_some(firewall::MODULE)).chain(compression).chain(geoip);
    let script = stream_map::module(fixed, caps)?;
    let names = REQUIRED.iter().map(|(module, _)| *module).chain(optional.filter(|module| caps.has(module))).chain(script);
    names.map(|module| path(&caps.modules_dir.join(format!("{module}.so")))).collect()
}
