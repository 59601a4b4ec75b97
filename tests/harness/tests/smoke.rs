//! Every fuzz target on random input that is near to what it reads. `fuzz/` looks further, with a compiler that can.
#![allow(clippy::unwrap_used, reason = "a test that panics has failed")]

mod support;

use std::collections::BTreeMap;

use harness::TARGETS;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestRunner};
use support::{token, tokens};

/// Input for one target; 20 times as much with `NARTHEX_SOAK`.
fn run(name: &str, cases: u32, input: impl Strategy<Value = String>) {
    let (_, target) = TARGETS.iter().find(|(target, _)| *target == name).expect("a target");
    let cases = if std::env::var_os("NARTHEX_SOAK").is_some() { cases * 20 } else { cases };
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let result = TestRunner::new(config).run(&input, |input| {
        target(input.as_bytes());
        Ok(())
    });
    result.unwrap_or_else(|error| panic!("{error}"));
}

/// An annotation with what it needs beside it: as in its example, or with other text.
fn annotation() -> impl Strategy<Value = Vec<(String, String)>> {
    let examples: Vec<Vec<(String, String)>> = settings::descriptions()
        .into_iter()
        .map(|entry| entry.example.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect())
        .collect();
    (select(examples), tokens(4), 0..3_u8).prop_map(|(mut example, other, how)| {
        let (_, value) = example.last_mut().expect("the annotation itself");
        match how {
            0 => {}
            1 => value.push_str(&other),
            _ => *value = other,
        }
        example
    })
}

fn json(text: &str) -> String {
    serde_json::to_string(text).unwrap()
}

/// An Ingress as YAML, most of them valid.
fn manifest() -> impl Strategy<Value = String> {
    let host =
        prop_oneof![4 => select(vec!["a.example.com", "b.example.com", "*.example.com", ""]).prop_map(str::to_owned), 1 => tokens(3)];
    let path = prop_oneof![3 => select(vec!["/", "/foo", "/foo/", "/(a|b)/.*"]).prop_map(str::to_owned), 1 => tokens(4).prop_map(|text| format!("/{text}"))];
    let kind = select(vec!["Prefix", "Exact", "ImplementationSpecific"]);
    let annotations = prop::collection::vec(annotation(), 0..6).prop_map(|groups| groups.into_iter().flatten().collect::<BTreeMap<_, _>>());
    (host, path, kind, annotations, token(), any::<prop::sample::Index>(), 0..8_u8).prop_map(|(host, path, kind, annotations, noise, at, damage)| {
        let annotations: String =
            annotations.iter().map(|(name, value)| format!("    nginx.ingress.kubernetes.io/{name}: {}\n", json(value))).collect();
        let annotations = if annotations.is_empty() { String::new() } else { format!("  annotations:\n{annotations}") };
        let mut text = format!(
            "apiVersion: networking.k8s.io/v1\nkind: Ingress\nmetadata:\n  name: a\n{annotations}spec:\n  rules:\n  - host: {}\n    http:\n      \
             paths:\n      - path: {}\n        pathType: {kind}\n        backend: {{service: {{name: a, port: {{number: 80}}}}}}\n",
            json(&host),
            json(&path)
        );
        // Some are no manifests any more.
        if damage == 0 {
            let at = (0..=text.len()).cycle().skip(at.index(text.len())).find(|at| text.is_char_boundary(*at)).unwrap();
            text.insert_str(at, &noise);
        }
        text
    })
}

#[test]
fn values_read_back_as_they_are_shown_and_are_one_word() {
    run("values", 20_000, (0..128_u8, tokens(5)).prop_map(|(choice, text)| format!("{}{text}", char::from(choice))));
}

#[test]
fn configuration_text_reads_back_as_it_is_printed() {
    run("lexer", 4000, tokens(30));
}

#[test]
fn snippets_never_leave_their_block() {
    run("snippets", 4000, tokens(30));
}

#[test]
fn annotations_of_any_text_are_read_or_reported() {
    let lines = prop::collection::vec(annotation(), 0..6).prop_map(|groups| groups.concat());
    run(
        "annotations",
        2000,
        lines.prop_map(|lines| lines.iter().map(|(name, value)| format!("{name}: {}\n", value.replace('\n', "\\n"))).collect()),
    );
}

#[test]
fn manifests_of_any_text_are_built_and_rendered_in_nginx_s_grammar() {
    run("manifests", 150, (manifest(), manifest()).prop_map(|(first, second)| format!("{first}\0{second}")));
}

#[test]
fn lines_of_access_logs_are_requests_or_skipped() {
    let line = prop_oneof![
        (tokens(3), tokens(3), tokens(2)).prop_map(|(target, agent, user)| format!(
            "10.0.0.1 - {user} [01/Jan/2026:00:00:00 +0000] \"GET /{target} HTTP/1.1\" 200 1 \"-\" \"{agent}\"\n"
        )),
        (tokens(3), tokens(2)).prop_map(|(target, host)| format!(
            "{{\"request_uri\": {}, \"host\": {}, \"request_method\": \"GET\"}}\n",
            json(&target),
            json(&host)
        )),
        tokens(8),
    ];
    run("logs", 2000, prop::collection::vec(line, 0..5).prop_map(|lines| lines.concat()));
}
