//! Resident memory of the controller and of NGINX.

use std::fs;

use anyhow::{Context, ensure};
use testkit::processes;

use crate::Controller;

/// Resident bytes: of the largest worker, where there are several.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Memory {
    /// Memory of `narthex run`.
    pub controller: u64,
    /// Memory of NGINX's master.
    pub master: u64,
    /// Memory of NGINX's largest worker.
    pub worker: u64,
}

impl Memory {
    /// The present memory of the processes of a controller.
    ///
    /// # Errors
    /// When it is not running, or its NGINX is not.
    pub fn of(controller: &Controller) -> anyhow::Result<Self> {
        let conf = controller.work_dir().join("nginx.conf");
        // A worker that drains may end meanwhile.
        let workers = processes::workers(&conf).into_iter().filter_map(|pid| resident(pid).ok());
        Ok(Self {
            controller: resident(controller.pid().context("the controller does not run")?.cast_signed())?,
            master: resident(controller.nginx_pid()?)?,
            worker: workers.max().unwrap_or_default(),
        })
    }

    /// The larger one of each.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            controller: self.controller.max(other.controller),
            master: self.master.max(other.master),
            worker: self.worker.max(other.worker),
        }
    }

    /// # Errors
    /// One of them has grown to more than it was before and what the growth may be.
    pub fn grown_within(self, before: Self, growth: Self) -> anyhow::Result<()> {
        for (what, is, bound) in [
            ("controller", self.controller, before.controller + growth.controller),
            ("master", self.master, before.master + growth.master),
            ("worker", self.worker, before.worker + growth.worker),
        ] {
            ensure!(is <= bound, "the {what} has {} MB, more than {} MB", is / 1_000_000, bound / 1_000_000);
        }
        Ok(())
    }
}

fn resident(pid: i32) -> anyhow::Result<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).context("a process has resident memory")?;
    Ok(line.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}
