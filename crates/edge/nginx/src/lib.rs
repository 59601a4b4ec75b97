//! The only crate that spawns NGINX: it finds it, writes what it reads, tests, starts, reloads, confirms, restarts, drains
//! it, and talks to the Lua inside it.
//!
//! Exit codes prove nothing here: with a listen port taken by another process, `nginx -t` and a reload both succeed while the
//! master goes on with the old configuration. So a change counts only when it is confirmed:
//!
//! 1. the files are staged next to what serves, and `nginx -t` reads exactly these bytes;
//! 2. they take their place by rename, and the master is signalled (or started);
//! 3. the control socket answers with the new revision, and no worker of the old generation accepts connections any more;
//! 4. on any failure the files on disk become what they were, and the old configuration goes on.
//!
//! A serving NGINX outlives us. NGINX runs in a process group of its own, and the next controller adopts it by the work
//! directory ([`Supervisor::adopted`]); the workers of a master that was killed serve until its successor has taken
//! over their listening sockets ([`Supervisor::restart`]).
//!
//! Modules: `detect` (capabilities), `workdir` (directories, lock), `store` (files, the last good set), `process` (the seam to
//! the real NGINX, in this container or by `data_plane` in another), `confirm` and `cycle` (the state machine, tested over a fake process), `orphans` and `sockets` (workers
//! without a master), `headcount` (a master without workers), `supervisor`, `live` (the control socket), `connections` and `usage` (figures for metrics), `passthrough_map`
//! (files that the workers read for TLS connections). Processes and messages are read by the crate `ngx-proc`.

mod confirm;
mod connections;
mod cycle;
mod data_plane;
mod detect;
mod error;
mod headcount;
mod live;
mod orphans;
mod process;
mod processes;
mod sockets;
mod state;
mod store;
mod stream_log;
mod stream_map;
mod supervisor;
mod usage;
mod verdict;
mod workdir;

use ngx_proc::{exit, log, procfs};

pub use connections::Connections;
pub use data_plane::{DataPlane, DataPlaneError, DataPlaneServer};
pub use detect::{DetectError, detect, find_binary};
pub use error::{ApplyError, Complaint, OpenError, Retry};
pub use live::{Key, LiveClient, LiveError, RecordError, Tapped};
pub use process::Place;
pub use processes::{Processes, WorkerProcess};
pub use state::{Dictionary, HostServerState, NginxState};
pub use store::StoreError;
pub use stream_log::StreamLog;
pub use stream_map::StreamMap;
pub use supervisor::{Applied, Options, Supervisor};
pub use usage::{Usage, WorkerUsage};
