//! Lists the files of the page, so that they are part of the program.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it")).join("assets");
    println!("cargo::rerun-if-changed={}", root.display());
    let mut found = Vec::new();
    collect(&root, &mut found);
    found.sort();
    let mut text = "&[\n".to_owned();
    for path in &found {
        let name = path.strip_prefix(&root).expect("it is below").to_str().expect("names of files are text");
        writeln!(text, "    ({name:?}, include_bytes!({:?})),", path.display().to_string()).expect("writing to a String can't fail");
    }
    text.push_str("]\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("files.rs"), text).expect("the output directory can be written");
}

fn collect(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).expect("the files of the page are there").flatten() {
        let path = entry.path();
        if path.is_dir() {
            println!("cargo::rerun-if-changed={}", path.display());
            collect(&path, found);
        } else {
            found.push(path);
        }
    }
}
