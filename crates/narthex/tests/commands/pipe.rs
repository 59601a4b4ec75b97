//! A reader that has seen enough: `narthex ... | head`.

use std::io::pipe;

use crate::narthex::{Directory, REST, ingress};

#[test]
fn a_closed_pipe_ends_a_command_quietly_and_with_the_code_of_what_it_found() {
    let good = ingress("good", "limit-rps", "5") + REST;
    let bad = ingress("bad", "limit-rps", "x") + REST;
    let directory = Directory::of(&[("good/a.yaml", &good), ("bad/a.yaml", &bad)]);
    for (command, code) in [
        (vec!["completions", "bash"], 0),
        (vec!["explain"], 0),
        (vec!["version"], 0),
        (vec!["check", "good"], 0),
        (vec!["check", "bad"], 1),
        (vec!["plan", "bad", "good"], 0),
        (vec!["conf", "--manifests", "good"], 0),
        (vec!["render", "--manifests", "good"], 0),
        (vec!["--help"], 0),
    ] {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let output = directory.command(&command, &[]).stdout(writer).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{command:?}: {stderr}");
        assert!(!stderr.contains("panicked") && !stderr.contains("ipe"), "{command:?}: {stderr}");
    }
}

#[test]
fn a_closed_standard_error_hinders_nothing() {
    let directory = Directory::of(&[("a.yaml", &(ingress("good", "limit-rps", "5") + REST))]);
    for (command, code) in [(vec!["check", "."], 0), (vec!["check", "absent"], 1), (vec!["explain", "absent"], 2)] {
        let (reader, writer) = pipe().unwrap();
        drop(reader);
        let status = directory.command(&command, &[]).stderr(writer).output().unwrap().status;
        assert_eq!(status.code(), Some(code), "{command:?}");
    }
}
