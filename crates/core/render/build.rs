//! Lists the modules of `lua/narthex`, so that a new one needs no edit here.
#![expect(clippy::disallowed_methods, reason = "a build script reads the tree")]

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let lua = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../lua").canonicalize()?;
    let mut modules = Vec::new();
    modules_below(&lua.join("narthex"), &mut modules)?;
    modules.sort();
    let entries: String = modules
        .iter()
        .map(|path| format!("    ({:?}, include_str!({path:?})),\n", Path::new("lua").join(path.strip_prefix(&lua).unwrap_or(path))))
        .collect();
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets no OUT_DIR"))?;
    fs::write(Path::new(&out).join("lua_modules.rs"), format!("&[\n{entries}]\n"))
}

fn modules_below(directory: &Path, found: &mut Vec<PathBuf>) -> io::Result<()> {
    println!("cargo::rerun-if-changed={}", directory.display());
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            modules_below(&path, found)?;
        } else if path.extension().is_some_and(|extension| extension == "lua") {
            found.push(path);
        }
    }
    Ok(())
}
