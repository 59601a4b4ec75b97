//! `narthex settings`: what is set, where, and what a change would do.

use serde_json::Value;

use crate::narthex::{Directory, Output, REST, ingress};

fn map(data: &str) -> String {
    format!("---\n{{apiVersion: v1, kind: ConfigMap, metadata: {{name: settings, namespace: shop}}, data: {data}}}\n")
}

fn settings(arguments: &[&str]) -> Output {
    let world = [
        REST.to_owned(),
        ingress("large", "proxy-body-size", "9m"),
        ingress("plain", "ssl-redirect", "false"),
        map(r#"{Use-Gzip: "true", keep-alive: "soon", keep-alive-requests: "1000", proxy-body-size: 2m, keep-alife: "1"}"#),
    ];
    let directory = Directory::of(&[
        ("world/all.yaml", &world.concat()),
        ("old.yaml", &map(r#"{use-gzip: "false"}"#)),
        ("new.yaml", &map(r#"{use-gzip: "true", load-balance: ewma, otlp-collector-port: "4319", gzip-level: "11"}"#)),
        ("none.yaml", REST),
    ]);
    directory.narthex(&["settings"], &[&["--configmap=shop/settings"][..], arguments].concat())
}

fn json(output: &Output) -> Value {
    serde_json::from_str(&output.stdout).unwrap_or_else(|error| panic!("{error}: {} {}", output.stdout, output.stderr))
}

fn row<'a>(rows: &'a Value, field: &str, name: &str) -> Option<&'a Value> {
    rows.as_array().unwrap().iter().find(|row| row[field] == name)
}

#[test]
fn a_key_has_its_value_its_origin_and_what_is_wrong_with_it() {
    let output = settings(&["--manifests=world", "--format=json", "--http-port=8080"]);
    assert_eq!(output.code, Some(1), "{}", output.stderr);
    let all = json(&output);
    let of = |key: &str| {
        row(&all["keys"], "key", key).map(|row| ["value", "from", "default"].map(|field| row[field].as_str().unwrap().to_owned()))
    };
    assert_eq!(of("use-gzip").unwrap(), ["true", "ConfigMap", "false"]);
    assert_eq!(of("keep-alive").unwrap(), ["75", "default", "75"]);
    assert_eq!(of("keep-alive-requests").unwrap(), ["1000", "ConfigMap", "1000"]);
    assert_eq!(of("gzip-level"), None, "it has its default");
    let key = |name: &str| row(&all["keys"], "key", name).unwrap();
    assert!(key("keep-alive")["problems"][0].as_str().unwrap().contains("\"soon\": expected"), "{all}");
    assert_eq!((&key("proxy-body-size")["ingresses"], &key("ssl-redirect")["ingresses"]), (&1.into(), &1.into()));
    assert!(all["others"][0].as_str().unwrap().contains("keep-alife"), "{all}");
    let flag = |name: &str| row(&all["flags"], "flag", name).map(|row| (row["value"].clone(), row["from"].clone()));
    assert_eq!(flag("--http-port"), Some(("8080".into(), "flag".into())));
    assert_eq!(flag("--https-port"), None);
}

#[test]
fn all_of_them_can_be_shown_as_a_table() {
    let output = settings(&["--manifests=world", "--all", "--maxmind-license-key=s3cret", "--profiling", "--sync-period=1m"]);
    let lines: Vec<Vec<&str>> = output.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    for expected in [
        &["KEY", "VALUE", "FROM", "DEFAULT"][..],
        &["use-gzip", "true", "ConfigMap", "false"],
        &["gzip-level", "1", "default", "1"],
        &["an", "annotation", "of", "1", "Ingress", "decides", "otherwise"],
        &["--https-port", "443", "default", "443"],
        &["--maxmind-license-key", "(not", "shown)", "flag", "-"],
        &["--profiling", "true", "flag", "-"],
    ] {
        assert!(lines.iter().any(|line| line == expected), "{expected:?}: {}", output.stdout);
    }
    assert!(output.stdout.contains("without effect: every change comes by a watch"), "{}", output.stdout);
}

#[test]
fn a_difference_says_what_each_change_would_do() {
    let output = settings(&["--diff", "old.yaml", "new.yaml"]);
    let lines: Vec<&str> = output.stdout.lines().collect();
    assert_eq!(output.code, Some(1), "gzip-level can't be used: {}", output.stderr);
    for expected in
        ["use-gzip: false -> true (reload)", "load-balance: round_robin -> ewma (live; all backends are built again)", "reload:"]
    {
        assert!(lines.contains(&expected), "{expected:?}: {}", output.stdout);
    }
    assert!(output.stdout.contains("gzip-level: \"11\": expected"), "{}", output.stdout);
    assert!(output.stdout.contains("because global settings changed: ") && output.stdout.contains("use-gzip"), "{}", output.stdout);

    let world = json(&settings(&["--diff", "old.yaml", "new.yaml", "--manifests=world", "--format=json"]));
    assert_eq!(row(&world["changes"], "key", "use-gzip").unwrap()["new"], "true");
    assert_eq!(world["plan"]["plan"], "reload");
    let same = settings(&["--diff", "old.yaml", "old.yaml"]);
    assert_eq!((same.code, same.stdout.as_str()), (Some(0), "nothing: both come to the same configuration\n"));
    let none = settings(&["--diff", "old.yaml", "none.yaml"]);
    assert!(none.code == Some(1) && none.stderr.contains("none.yaml holds no ConfigMap"), "{}", none.stderr);
}

#[test]
fn the_version_is_told_as_ingress_nginx_does() {
    let output = Directory::of(&[]).narthex(&["run"], &["--version"]);
    assert!(output.code == Some(0) && output.stdout.starts_with("narthex"), "{} {}", output.stdout, output.stderr);
}
