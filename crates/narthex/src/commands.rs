//! One module a subcommand.

pub(crate) mod check;
pub(crate) mod cleanup;
pub(crate) mod compare;
pub(crate) mod conf;
pub(crate) mod data_plane;
pub(crate) mod dbg;
pub(crate) mod explain;
pub(crate) mod http;
pub(crate) mod lease;
pub(crate) mod migrate;
pub(crate) mod plan;
pub(crate) mod plugin;
pub(crate) mod pod;
pub(crate) mod quit;
pub(crate) mod render;
pub(crate) mod rollout;
pub(crate) mod run;
pub(crate) mod settings;
pub(crate) mod switch;
pub(crate) mod version;
pub(crate) mod wait_shutdown;
pub(crate) mod watch;
