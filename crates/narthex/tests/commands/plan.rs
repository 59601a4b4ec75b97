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

/// A cluster's directory and a file that is applied to it.
fn applied(file: &str, more: &[&str]) -> Output {
    let base = ingress("shop", "limit-rps", "5") + REST;
    let directory = Directory::of(&[("base/a.yaml", &base), ("new.yaml", file)]);
    directory.narthex(&["plan", "--against=base", "-f", "new.yaml", "--exit-code"], more)
}

#[test]
fn objects_of_a_file_are_applied_to_what_is_there() {
    let same = applied(&ingress("shop", "limit-rps", "5"), &[]);
    assert_eq!((same.code, same.stdout.lines().next()), (Some(0), Some("nothing: both come to the same configuration")), "{}", same.stderr);
    let live = applied(&ingress("shop", "limit-rps", "6"), &["--format=json"]);
    let json: serde_json::Value = serde_json::from_str(&live.stdout).unwrap();
    assert_eq!((live.code, &json["plan"], &json["hosts"]), (Some(3), &"live".into(), &serde_json::json!(["shop.example"])));
    let reload = applied(&ingress("shop", "proxy-buffer-size", "17k"), &["--format=markdown"]);
    assert_eq!(reload.code, Some(4), "{}", reload.stderr);
    assert!(
        reload.stdout.starts_with("### Plan: **Reload** of NGINX\n\nReasons:\n\n- shop/shop is the first to use "),
        "{}",
        reload.stdout
    );
}

#[test]
fn what_the_webhook_would_refuse_is_said_with_what_the_change_adds() {
    // Another Ingress with the same host and path.
    let taken = applied(&ingress("shop", "limit-rps", "5").replace("name: shop\n", "name: second\n"), &[]);
    assert_eq!(taken.code, Some(5), "{}{}", taken.stdout, taken.stderr);
    assert!(taken.stdout.contains("the admission webhook refuses:\n  Ingress shop/second: "), "{}", taken.stdout);
    let risky = applied(&ingress("shop", "server-snippet", "return 200;"), &["--format=json"]);
    let json: serde_json::Value = serde_json::from_str(&risky.stdout).unwrap();
    assert_eq!(json["riskyAnnotations"][0]["risk"], "Critical");
    assert_eq!(risky.code, Some(5), "snippets are switched off: {}", risky.stdout);
}

#[test]
fn a_tenant_s_text_is_no_markdown() {
    let output = applied(&ingress("shop", "limit-rps", "<img src=x>`a`[b](c)"), &["--format=markdown"]);
    assert!(output.stdout.contains("\\<img src=x\\>\\`a\\`\\[b\\]\\(c\\)"), "{}", output.stdout);
}

#[test]
fn a_plan_needs_two_sides() {
    let directory = Directory::of(&[("base/a.yaml", REST)]);
    for words in
        [&["plan"][..], &["plan", "base"], &["plan", "-f", "base"], &["plan", "--against=base"], &["plan", "base", "base", "-f", "base"]]
    {
        assert_eq!(directory.narthex(words, &[]).code, Some(2), "{words:?}");
    }
}
