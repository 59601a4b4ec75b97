//! A clock of its own for a process and its children: what sets the clock of a machine a step off happens to them alone.

use std::fs;
use std::path::{Path, PathBuf};

/// The environment in which a process takes its time from a file with seconds to add, such as `-3600`; timers go on as they are.
///
/// # Panics
/// The library for it (Debian's `libfaketime`) is missing.
pub fn environment(file: &Path) -> [(&'static str, PathBuf); 5] {
    let on = || PathBuf::from("1");
    [
        ("LD_PRELOAD", library().expect("libfaketime is missing: run scripts/setup.sh nginx")),
        ("FAKETIME_TIMESTAMP_FILE", file.to_owned()),
        ("FAKETIME_NO_CACHE", on()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", on()),
        ("FAKETIME_DISABLE_SHM", on()),
    ]
}

fn library() -> Option<PathBuf> {
    let architectures = fs::read_dir("/usr/lib").ok()?.flatten();
    architectures.map(|entry| entry.path().join("faketime/libfaketime.so.1")).find(|path| path.exists())
}
