//! Lists `lua/narthex/*.lua`, so that a new module needs no edit here.
#![expect(clippy::disallowed_methods, reason = "a build script reads the tree")]

use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../lua/narthex").canonicalize()?;
    println!("cargo::rerun-if-changed={}", directory.display());
    let mut names = fs::read_dir(&directory)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .filter(|name: &io::Result<String>| name.as_ref().map_or(true, |name| name.ends_with(".lua")))
        .collect::<io::Result<Vec<String>>>()?;
    names.sort();
    let entries: String = names
        .iter()
        .map(|name| format!("    ({:?}, include_str!({:?})),\n", format!("lua/narthex/{name}"), directory.join(name)))
        .collect();
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets no OUT_DIR"))?;
    fs::write(Path::new(&out).join("lua_modules.rs"), format!("&[\n{entries}]\n"))
}
