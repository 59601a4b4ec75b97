//! The processes of an NGINX, found by their titles.

use std::fs;
use std::path::Path;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The masters that run this configuration file.
pub fn masters(conf: &Path) -> Vec<i32> {
    let conf = conf.display().to_string();
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let runs = |pid: &i32| {
        let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let title = String::from_utf8_lossy(&title);
        title.starts_with("nginx: master process") && title.contains(&conf)
    };
    pids.filter(runs).collect()
}

/// The children of the masters that run this configuration file.
pub fn workers(conf: &Path) -> Vec<i32> {
    let children = |pid: i32| fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    let lists = masters(conf).into_iter().map(children);
    lists.flat_map(|list| list.split_ascii_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}

/// Sends a signal; what has ended needs none.
pub fn signal(pid: i32, signal: Signal) {
    let _ = kill(Pid::from_raw(pid), signal);
}
