//! What cargo builds: it says so in one JSON message a line.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::environment;
use crate::error::{Error, Result, while_doing};
use crate::json::{self, Value};
use crate::test::Binary;

/// Builds the tests of the workspace, or these test targets alone, and returns the executables by package and name. Progress and errors are
/// on standard error.
///
/// # Errors
/// Cargo does not start, or something does not compile: it has said what.
pub(crate) fn build(targets: &[String]) -> Result<Vec<Binary>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["test", "--no-run", "--workspace", "--locked", "--message-format=json-render-diagnostics"]);
    command.args(targets.iter().flat_map(|target| ["--test", target]));
    let mut child =
        environment::without_ours(&mut command).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(while_doing("start cargo"))?;
    let output = child.stdout.take().ok_or_else(|| Error::new("cargo has no standard output"))?;
    let mut binaries = Vec::new();
    for line in BufReader::new(output).lines() {
        binaries.extend(binary(&line.map_err(while_doing("read what cargo built"))?));
    }
    let status = child.wait().map_err(while_doing("wait for cargo"))?;
    if !status.success() {
        return Err(Error::new(format!("cargo test --no-run: {status}")));
    }
    binaries.sort();
    Ok(binaries)
}

/// The test binary that a message is about.
fn binary(line: &str) -> Option<Binary> {
    let message = json::read(line)?;
    if message.get("reason").text() != Some("compiler-artifact") || *message.get("profile").get("test") != Value::Bool(true) {
        return None;
    }
    let executable = message.get("executable").text()?;
    let package = package(message.get("package_id").text()?)?;
    let target = message.get("target");
    let name = match target.get("kind").first().text()? {
        "bin" | "test" | "bench" | "example" => target.get("name").text()?,
        _ => package,
    };
    let directory = Path::new(message.get("manifest_path").text()?).parent()?;
    Some(Binary { package: package.into(), name: name.into(), directory: directory.into(), executable: executable.into() })
}

/// The name in an id: `path+file:///src/tests/kit#testkit@0.1.0`, or `path+file:///src/tests/testkit#0.1.0`.
fn package(id: &str) -> Option<&str> {
    let (path, version) = id.rsplit_once('#')?;
    match version.split_once('@') {
        Some((name, _)) => Some(name),
        None => path.rsplit_once('/').map(|(_, name)| name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(kind: &str, name: &str, test: bool, executable: &str) -> String {
        format!(
            r#"{{"reason":"compiler-artifact","package_id":"path+file:///src/crates/ngx-value#0.1.0","manifest_path":"/src/crates/ngx-value/Cargo.toml",
            "target":{{"kind":["{kind}"],"name":"{name}"}},"profile":{{"opt_level":"0","test":{test}}},"executable":{executable}}}"#
        )
    }

    #[test]
    fn executables_with_tests_are_read() {
        let expected = |name: &str| {
            let (package, name) = ("ngx-value".to_owned(), name.to_owned());
            Some(Binary { package, name, directory: "/src/crates/ngx-value".into(), executable: "/t/x".into() })
        };
        // Cargo names the library by its identifier.
        assert_eq!(binary(&message("lib", "ngx_value", true, r#""/t/x""#)), expected("ngx-value"));
        assert_eq!(binary(&message("proc-macro", "ngx_value", true, r#""/t/x""#)), expected("ngx-value"));
        assert_eq!(binary(&message("test", "golden", true, r#""/t/x""#)), expected("golden"));
        assert_eq!(binary(&message("bin", "tool", true, r#""/t/x""#)), expected("tool"));
    }

    #[test]
    fn other_messages_are_no_binaries() {
        assert_eq!(binary(&message("bin", "tool", false, r#""/t/x""#)), None);
        assert_eq!(binary(&message("lib", "ngx_value", true, "null")), None);
        assert_eq!(binary(r#"{"reason":"build-finished","success":true}"#), None);
        assert_eq!(binary("a line of a build script"), None);
    }

    #[test]
    fn packages_are_named_by_their_id_or_its_last_directory() {
        assert_eq!(package("path+file:///src/tests/testkit#0.1.0"), Some("testkit"));
        assert_eq!(package("path+file:///src/tests/kit#testkit@0.1.0"), Some("testkit"));
        assert_eq!(package("registry+https://github.com/rust-lang/crates.io-index#serde@1.0.0"), Some("serde"));
        assert_eq!(package("serde"), None);
    }
}
