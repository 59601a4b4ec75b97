//! What `cargo run` adds to the environment of this program. It says what `run-tests` is; whatever this program starts is something else.
//!
//! Build scripts may ask to run again where one of these variables changes (that of `ring` does): with them the tests would be built without sharing
//! anything with `cargo build`.

use std::process::Command;

/// The same command without these variables.
pub(crate) fn without_ours(command: &mut Command) -> &mut Command {
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(is_ours) {
            command.env_remove(name);
        }
    }
    command
}

fn is_ours(name: &str) -> bool {
    ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.starts_with(prefix))
        || ["CARGO_BIN_NAME", "CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"].contains(&name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_describes_a_package_is_taken_out_and_what_configures_cargo_is_not() {
        for name in ["CARGO_PKG_NAME", "CARGO_PKG_VERSION_MAJOR", "CARGO_MANIFEST_DIR", "CARGO_MANIFEST_PATH", "OUT_DIR"] {
            assert!(is_ours(name), "{name}");
        }
        for name in ["CARGO", "CARGO_HOME", "CARGO_TARGET_DIR", "CARGO_NET_OFFLINE", "CARGO_TERM_COLOR", "NARTHEX_BIN", "PATH"] {
            assert!(!is_ours(name), "{name}");
        }
    }
}
