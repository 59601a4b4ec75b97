//! The processes of one NGINX, for people.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use render::Paths;
use serde::{Deserialize, Serialize};

use crate::procfs::{self, Identity};
use crate::usage::connections::{self, Inodes};

/// Masters and workers.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Processes {
    /// Process ids of the masters, each with its start.
    pub masters: Vec<(i32, Option<f64>)>,
    /// Their workers.
    pub workers: Vec<WorkerProcess>,
}

/// A worker.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct WorkerProcess {
    /// Process id.
    pub pid: i32,
    /// Its start in clock ticks since boot.
    pub ticks: u64,
    /// Its start, in seconds since 1970.
    pub start: Option<f64>,
    /// It accepts no connections any more, and finishes what it has begun.
    pub leaving: bool,
    /// Bytes that it has in memory, shared ones included.
    pub resident_bytes: u64,
    /// Open connections, of clients and to endpoints; `None` where the kernel does not let us see it.
    pub connections: Option<u64>,
}

impl Processes {
    /// Those that run on a work directory. Cost: a look at each process of the machine.
    pub fn read(paths: &Paths, binary: &Path) -> Self {
        let conf = paths.conf();
        let masters = procfs::pids().into_iter().filter(|pid| procfs::is_master(*pid, binary, &conf)).filter_map(procfs::identity);
        let masters: Vec<Identity> = masters.collect();
        let others = masters.first().map(|master| Inodes::of_others(master.pid)).unwrap_or_default();
        let workers = masters.iter().flat_map(|master| procfs::workers(master.pid));
        let worker = |worker: procfs::Worker| WorkerProcess {
            pid: worker.id.pid,
            ticks: worker.id.start,
            start: start(worker.id),
            leaving: worker.leaving,
            resident_bytes: resident(worker.id.pid),
            connections: connections::count(worker.id.pid, &others),
        };
        Self { workers: workers.map(worker).collect(), masters: masters.iter().map(|master| (master.pid, start(*master))).collect() }
    }
}

fn start(process: Identity) -> Option<f64> {
    Some(procfs::began(process)?.duration_since(UNIX_EPOCH).ok()?.as_secs_f64())
}

fn resident(pid: i32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|rest| rest.split_ascii_whitespace().next()?.parse::<u64>().ok()).map_or(0, |kib| kib * 1024)
}
