//! The command lines of controllers in workloads.

use std::ffi::OsString;
use std::path::Path;

use clap::Parser;
use serde_json::Value;

use super::Finding;
use crate::args::{Cli, Command};
use crate::commands::plugin::pod::text;

/// The command line of a container that is a controller: of this program, or of ingress-nginx by its path.
pub(super) fn of_controller(container: &Value) -> Option<Vec<String>> {
    let words = |field: &str| container[field].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned);
    let mut line: Vec<String> = words("command").chain(words("args")).collect();
    let image = text(container, "/image").rsplit('/').next().unwrap_or_default();
    // The entry point of the image.
    if words("command").next().is_none() && (image.starts_with("narthex") || line.first().is_some_and(|word| Path::new(word).is_absolute()))
    {
        line.insert(0, "narthex".into());
    }
    // A wrapper, such as dumb-init.
    if let Some(at) = line.iter().position(|word| Path::new(word).file_name().is_some_and(|name| name == "nginx-ingress-controller")) {
        line.drain(..at);
    }
    let line: Vec<String> = crate::entry::command_line(line.into_iter().map(OsString::from))
        .into_iter()
        .map(|word| word.to_string_lossy().into_owned())
        .collect();
    let is_own = line.first().is_some_and(|word| Path::new(word).file_name().is_some_and(|name| name == "narthex"));
    (is_own && line.get(1).is_some_and(|word| word == "run")).then_some(line)
}

/// Flags that are refused, and flags that ask for what is missing.
pub(super) fn findings(line: &[String]) -> Vec<Finding> {
    match parse(line) {
        Ok(missing) => missing,
        Err(first) => {
            let alone = |flag: &String| parse(&[line[0].clone(), line[1].clone(), flag.clone()]).err();
            let each: Vec<Finding> =
                line[2..].iter().filter(|word| word.starts_with("--") && word.contains('=')).filter_map(alone).collect();
            if each.is_empty() { vec![first] } else { each }
        }
    }
}

fn parse(line: &[String]) -> Result<Vec<Finding>, Finding> {
    match Cli::try_parse_from(line) {
        Ok(Cli { command: Command::Run(args), .. }) => {
            let missing = args.idle.missing();
            Ok(missing
                .map(|(flag, why)| Finding { kind: "WithoutEffect", field: flag, detail: format!("without effect: {why}") })
                .collect())
        }
        Ok(_) => Ok(Vec::new()),
        Err(error) => {
            let text = error.to_string();
            let detail = text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned();
            Err(Finding { kind: "RefusedFlag", field: String::new(), detail: format!("{detail}; the controller does not start") })
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(container: Value, expected: &[&str]) {
        let line = of_controller(&container).expect("a controller");
        let found: Vec<String> = findings(&line).into_iter().map(|finding| format!("{} {}", finding.kind, finding.detail)).collect();
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| found.contains(expected)),
            "{found:#?}"
        );
    }

    #[test]
    fn the_flags_of_controllers_are_read_as_by_themselves() {
        check(json!({"image": "narthex:1", "args": ["run", "--configmap=$(POD_NAMESPACE)/x"]}), &[]);
        check(json!({"image": "r/controller", "args": ["/nginx-ingress-controller", "--ingress-class=nginx"]}), &[]);
        check(json!({"image": "r/x", "command": ["/usr/bin/dumb-init", "--"], "args": ["/nginx-ingress-controller", "--v=2"]}), &[]);
        let both = json!({"image": "r/narthex:1", "args": ["run", "--http-prot=80", "--https-port=many", "--v=1"]});
        check(both, &["RefusedFlag unexpected argument '--http-prot'", "RefusedFlag invalid value 'many' for '--https-port <PORT>'"]);
    }

    #[test]
    fn other_containers_are_no_controllers() {
        for container in [
            json!({"image": "web:1", "args": ["run"]}),
            json!({"image": "narthex:1", "args": ["watch", "--config-dir=/x"]}),
            json!({"image": "web:1", "command": ["/bin/run"]}),
            json!({"image": "web:1"}),
        ] {
            assert_eq!(of_controller(&container), None, "{container}");
        }
    }
}
