//! `narthex explain NAME`: an annotation, a key of the ConfigMap, or both.

use crate::narthex::{Directory, Output};

fn explain(arguments: &[&str]) -> Output {
    Directory::of(&[]).narthex(&["explain"], arguments)
}

#[test]
fn a_name_is_explained_without_saying_what_it_is_one_of() {
    let both = explain(&["proxy-body-size"]);
    assert_eq!(both.code, Some(0), "{}", both.stderr);
    assert!(both.stdout.starts_with("proxy-body-size\n\n"), "{}", both.stdout);
    assert!(
        both.stdout.contains("\nproxy-body-size (key of the ConfigMap)\n\n") && both.stdout.contains("Default     1m\n"),
        "{}",
        both.stdout
    );
    let annotation = explain(&["nginx.ingress.kubernetes.io/canary-weight"]);
    assert!(annotation.code == Some(0) && !annotation.stdout.contains("ConfigMap)"), "{}", annotation.stdout);
    let key = explain(&["worker-processes"]);
    assert!(key.code == Some(0) && key.stdout.starts_with("worker-processes (key of the ConfigMap)"), "{}", key.stdout);
    assert_eq!(explain(&["annotation", "proxy-body-size"]).stdout, both.stdout.split("\nproxy-body-size (key").next().unwrap());
    assert_eq!(explain(&["key", "worker-processes"]).stdout, key.stdout);
}

#[test]
fn a_name_that_does_not_exist_leads_to_those_that_may_be_meant() {
    let output = explain(&["proxy-body-sise"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(2), ""));
    assert_eq!(
        output.stderr,
        "narthex: \"proxy-body-sise\": no such annotation, did you mean proxy-body-size?\n\
         narthex: \"proxy-body-sise\": no such key of the ConfigMap, did you mean proxy-body-size?\n\
         narthex: `narthex explain` lists all\n"
    );
}

#[test]
fn everything_is_listed_without_a_name() {
    let output = explain(&[]);
    assert!(output.code == Some(0) && output.stdout.contains("\nKeys of the ConfigMap:\n") && output.stdout.contains("  canary-weight"));
    let json: serde_json::Value = serde_json::from_str(&explain(&["key", "--json"]).stdout).unwrap();
    assert!(json.as_array().unwrap().iter().any(|key| key["name"] == "worker-processes" && key["default"] == "auto"));
}
