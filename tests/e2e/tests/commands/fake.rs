//! kubectl for a cluster without containers.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use anyhow::Context;

/// `exec` runs the command beside the controller with the work directory `WORK`, and `logs` prints the file `LOG`; both add their words to
/// the file `CALLS`. All else is the real kubectl's, `REAL`.
const KUBECTL: &str = r#"#!/bin/sh
case " $* " in
  *" exec "*) ;;
  *" logs "*) echo "$@" >>"$CALLS"; cat "$LOG"; exit 0 ;;
  *) exec "$REAL" "$@" ;;
esac
echo "$@" >>"$CALLS"
while [ "$1" != -- ]; do shift; done
shift
program=$1
shift
case $program in
  /dbg) exec "$NARTHEX_BIN" dbg --work-dir "$WORK" "$@" ;;
  /usr/bin/narthex) exec "$NARTHEX_BIN" "$@" --work-dir "$WORK" ;;
  *) exec "$program" "$@" ;;
esac
"#;

/// Writes it.
pub(crate) fn kubectl(path: &Path) -> anyhow::Result<()> {
    fs::write(path, KUBECTL)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755))?;
    Ok(())
}

/// Puts the programs of `narthex` by these names into a directory.
pub(crate) fn programs(directory: &Path, names: &[&str]) -> anyhow::Result<()> {
    let binary = std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN")?;
    names.iter().try_for_each(|name| Ok(symlink(&binary, directory.join(name))?))
}
