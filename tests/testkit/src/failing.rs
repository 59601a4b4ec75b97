//! An NGINX that can be made to fail, by a script around its binary.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, io};

use crate::processes;

/// Tests of configurations are killed while a file is there, as for want of memory, and wait while another is there; while a third is there, nothing that is
/// started finds memory.
const SCRIPT: &str = r#"#!/bin/sh
case " $* " in *" -t "*) [ -e "DIR/kill-tests" ] && kill -9 $$
while [ -e "DIR/hold-tests" ]; do echo > "DIR/held"; sleep 0.02; done ;; esac
while [ -e "DIR/hold-start" ]; do echo > "DIR/held"; sleep 0.02; done
[ -e "DIR/no-memory" ] && ulimit -S -d 1000
exec nginx "$@"
"#;

/// Bytes of data that a master may have without memory: less than it has.
const LITTLE: &str = "1000000";

/// The script and its switches.
#[derive(Debug)]
pub struct FailingNginx {
    directory: PathBuf,
}

impl FailingNginx {
    /// Writes the script into a directory.
    ///
    /// # Errors
    /// When it can't be written.
    pub fn new(directory: &Path) -> io::Result<Self> {
        let script = directory.join("nginx");
        fs::write(&script, SCRIPT.replace("DIR", &directory.display().to_string()))?;
        fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
        Ok(Self { directory: directory.to_owned() })
    }

    /// The program to run in place of NGINX.
    pub fn binary(&self) -> PathBuf {
        self.directory.join("nginx")
    }

    /// Has each `nginx -t` killed.
    pub fn kill_tests(&self, on: bool) {
        self.switch("kill-tests", on);
    }

    /// Has each `nginx -t` wait before it begins.
    pub fn hold_tests(&self, on: bool) {
        self.switch("hold-tests", on);
    }

    /// Leaves no memory for the masters of a configuration, for the workers that they start, and for every NGINX that is started.
    ///
    /// A limit of the processes, which needs neither control groups nor rights.
    pub fn no_memory(&self, on: bool, conf: &Path) {
        self.switch("no-memory", on);
        let soft = if on { LITTLE } else { "unlimited" };
        for master in processes::masters(conf) {
            // One that has just ended needs no limit.
            let _ = Command::new("prlimit").args([format!("--pid={master}"), format!("--data={soft}:")]).output();
        }
    }

    /// Has each NGINX wait before it begins.
    pub fn hold_start(&self, on: bool) {
        self.switch("hold-start", on);
    }

    /// Whether one has waited so.
    pub fn held(&self) -> bool {
        self.directory.join("held").exists()
    }

    fn switch(&self, name: &str, on: bool) {
        let path = self.directory.join(name);
        // What is not there is off.
        let _ = if on { fs::write(path, "") } else { fs::remove_file(path) };
    }
}
