//! `narthex plan`: what a change would do, and for whom.

use crate::narthex::{Directory, Output, REST, ingress};

fn plan(old: &str, new: &str, more: &[&str]) -> Output {
    let directory = Directory::of(&[("old/a.yaml", &(old.to_owned() + REST)), ("new/a.yaml", &(new.to_owned() + REST))]);
    directory.narthex(&["plan", "old", "new"], more)
}

#[test]
fn a_file_that_can_not_be_read_is_no_plan_and_is_named_with_its_line() {
    let good = ingress("shop", "limit-rps", "5");
    let output = plan(&good, &(good.clone() + "---\napiVersion: v1\n  kind: [\n"), &[]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""));
    assert!(output.stderr.contains("\nnew/a.yaml:13: File a.yaml"), "{}", output.stderr);
    // Nor is an object that the API server would refuse.
    let output = plan(&good, &good.replace("path: /,", "path: cart,"), &["--format=json"]);
    assert_eq!((output.code, output.stdout.as_str()), (Some(1), ""));
    assert!(output.stderr.contains("new/a.yaml:10: Ingress shop/shop: spec.rules[0].http.paths[0].path"), "{}", output.stderr);
    assert_eq!(plan(&good, &good, &[]).code, Some(0));
}

#[test]
fn a_reload_is_explained_by_the_ingress_that_asks_for_it() {
    let plain = ingress("shop", "limit-rps", "5");
    let buffers = ingress("shop", "proxy-buffer-size", "17k");
    let output = plan(&plain, &buffers, &[]);
    assert!(output.stdout.starts_with("reload:\n  because shop/shop is the first to use "), "{}", output.stdout);
    let output = plan(&plain, &buffers, &["--format=json"]);
    let json: serde_json::Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!(json["reasons"][0]["ingresses"], serde_json::json!(["shop/shop"]));
}

#[test]
fn text_that_goes_is_explained_by_the_ingress_that_had_it() {
    let settings = "---
{apiVersion: v1, kind: ConfigMap, metadata: {name: settings, namespace: shop}, data: {allow-snippet-annotations: 'true', annotations-risk-level: Critical}}
";
    let with = ingress("shop", "server-snippet", "add_header X-A b;") + settings;
    let without = ingress("shop", "limit-rps", "5") + settings;
    let output = plan(&with, &without, &["--configmap=shop/settings"]);
    let expected = "because the server block of host shop.example changed (shop/shop)";
    assert!(output.stdout.contains(expected), "{}{}", output.stdout, output.stderr);
}
