//! Resource usage of one NGINX, from `/proc`: its master and the children of that, no others.

pub(crate) mod connections;

use std::fs;
use std::path::Path;

use render::Paths;
use serde::{Deserialize, Serialize};

use crate::procfs::{self, Identity, Worker};
use connections::Inodes;

/// Ticks in a second in what the kernel tells programs: the same on every architecture that NGINX is packaged for.
const TICKS: u64 = 100;

/// Sums over the processes of an NGINX.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Usage {
    /// Number of processes.
    pub processes: u64,
    /// Workers of earlier configurations, which finish what they have begun.
    pub old_workers: u64,
    /// The workers, old ones included.
    #[serde(default)]
    pub workers: Vec<WorkerUsage>,
    /// Processor seconds, user and system, of these and of workers that have ended.
    pub cpu_seconds: f64,
    /// Bytes read from storage, of the same; 0 where the kernel does not let us see it.
    pub read_bytes: u64,
    /// Bytes written to storage.
    pub write_bytes: u64,
    /// Resident memory; what processes share counts for each.
    pub resident_bytes: u64,
    /// Address space.
    pub virtual_bytes: u64,
    /// Start of the oldest, as unix time.
    pub oldest_start_seconds: f64,
}

/// One worker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerUsage {
    /// Process id.
    pub pid: i32,
    /// Start time in clock ticks since boot.
    pub start: u64,
    /// It runs an earlier configuration, and finishes what it has begun.
    pub leaving: bool,
    /// Open connections, of clients and to endpoints, of one that is leaving; `None` of others, and where the kernel does not let us see it.
    pub connections: Option<u64>,
}

impl WorkerUsage {
    fn read(worker: &Worker, others: &Inodes) -> Self {
        let Worker { id: Identity { pid, start }, leaving } = *worker;
        Self { pid, start, leaving, connections: if leaving { connections::count(pid, others) } else { None } }
    }
}

impl Usage {
    /// Usage of the NGINX that runs on a work directory. `None` if there is none.
    pub fn read(paths: &Paths, binary: &Path) -> Option<Self> {
        let master: i32 = fs::read_to_string(paths.pid()).ok()?.trim().parse().ok()?;
        procfs::is_master(master, binary, &paths.conf()).then_some(())?;
        let master = procfs::identity(master)?;
        let workers = procfs::workers(master.pid);
        let old_workers = workers.iter().filter(|worker| worker.leaving).count() as u64;
        let others = if old_workers > 0 { Inodes::of_others(master.pid) } else { Inodes::default() };
        let workers = workers.iter().map(|worker| WorkerUsage::read(worker, &others)).collect();
        let mut usage = Self { old_workers, workers, ..Self::default() };
        // What a master has waited for counts as its children's: so the sum never falls when workers are replaced.
        usage.add(master, true);
        for child in procfs::children(master.pid).into_iter().filter_map(procfs::identity) {
            usage.add(child, false);
        }
        let boot = number(&fs::read_to_string("/proc/stat").ok()?, "btime ")?;
        usage.oldest_start_seconds = boot as f64 + master.start as f64 / TICKS as f64;
        Some(usage)
    }

    /// A process that ends meanwhile counts as far as it could be read.
    fn add(&mut self, process: Identity, with_children: bool) {
        let read = |file: &str| fs::read_to_string(format!("/proc/{}/{file}", process.pid)).unwrap_or_default();
        let (status, io) = (read("status"), read("io"));
        self.processes += 1;
        self.cpu_seconds += procfs::cpu_ticks(process.pid, with_children).unwrap_or_default() as f64 / TICKS as f64;
        self.read_bytes += number(&io, "read_bytes:").unwrap_or_default();
        self.write_bytes += number(&io, "write_bytes:").unwrap_or_default();
        self.resident_bytes += number(&status, "VmRSS:").unwrap_or_default() * 1024;
        self.virtual_bytes += number(&status, "VmSize:").unwrap_or_default() * 1024;
    }
}

/// The number behind a name at the beginning of a line.
fn number(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_ascii_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_name() {
        assert_eq!(number("Name:\tnginx\nVmRSS:\t   5120 kB\n", "VmRSS:"), Some(5120));
        assert_eq!(number("cancelled_write_bytes: 7\nwrite_bytes: 8\n", "write_bytes:"), Some(8));
        assert_eq!(number("VmRSS:\n", "VmRSS:"), None);
    }

    #[test]
    fn our_own_process_uses_something() {
        let pid = i32::try_from(std::process::id()).unwrap();
        let mut usage = Usage::default();
        usage.add(procfs::identity(pid).unwrap(), true);
        assert_eq!(usage.processes, 1);
        assert!(usage.resident_bytes > 0 && usage.virtual_bytes >= usage.resident_bytes);
    }
}
