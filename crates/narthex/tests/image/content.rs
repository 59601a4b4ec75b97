//! What the image consists of.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;

use serde_json::Value;

use crate::container::root;

#[test]
fn the_list_of_contents_has_every_package_and_the_crates_of_the_binary() {
    let read = |path: &str| fs::read_to_string(root().join(path)).unwrap();
    let list: Value = serde_json::from_str(&read("usr/share/narthex/sbom.spdx.json")).unwrap();
    assert_eq!(list["spdxVersion"], "SPDX-2.3");
    let packages = list["packages"].as_array().unwrap();
    let location = |package: &Value| package["externalRefs"][0]["referenceLocator"].as_str().unwrap_or_default().to_owned();
    let listed: BTreeSet<String> = packages
        .iter()
        .filter(|package| location(package).starts_with("pkg:deb/"))
        .map(|package| package["name"].as_str().unwrap().to_owned())
        .collect();
    let status = read("var/lib/dpkg/status");
    let paragraphs = status.split("\n\n").filter(|paragraph| paragraph.contains("\nStatus: install ok installed"));
    let installed: BTreeSet<String> =
        paragraphs.filter_map(|paragraph| Some(paragraph.trim().strip_prefix("Package: ")?.lines().next()?.to_owned())).collect();
    assert_eq!(listed, installed);
    assert!(installed.contains("nginx") && installed.contains("libnginx-mod-http-lua"), "{installed:?}");
    let tokio = packages.iter().find(|package| package["name"] == "tokio").unwrap();
    let locked = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../Cargo.lock")).unwrap();
    let version = tokio["versionInfo"].as_str().unwrap();
    assert!(locked.contains(&format!("name = \"tokio\"\nversion = \"{version}\"")), "{version}");
    // Each is part of the image, once.
    let ids: BTreeSet<&str> = packages.iter().map(|package| package["SPDXID"].as_str().unwrap()).collect();
    assert_eq!((ids.len(), list["relationships"].as_array().unwrap().len()), (packages.len(), packages.len()));
}

#[test]
fn paths_of_the_predecessor_are_there_and_no_program_changes_its_user() {
    for program in ["nginx-ingress-controller", "dbg", "wait-shutdown"] {
        assert_eq!(fs::read_link(root().join(program)).unwrap().to_str(), Some("usr/bin/narthex"), "{program}");
    }
    for directory in
        ["etc/ingress-controller/ssl", "etc/ingress-controller/auth", "usr/local/certificates", "etc/nginx/template", "modules_mount"]
    {
        assert!(root().join(directory).is_dir(), "{directory}");
    }
    assert_eq!(fs::metadata(root().join("etc/ingress-controller/ssl")).unwrap().uid(), 101);
    for directory in ["usr/bin", "usr/sbin"] {
        for entry in fs::read_dir(root().join(directory)).unwrap().flatten() {
            let mode = entry.path().symlink_metadata().unwrap().mode();
            assert!(mode & 0o120_000 == 0o120_000 || mode & 0o6000 == 0, "{:?} {mode:o}", entry.path());
        }
    }
}
