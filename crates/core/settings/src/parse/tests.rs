use proptest::prelude::*;

use super::*;
use crate::groups::{ANNOTATIONS, LoadBalance};
use crate::table::Risk;

const PREFIX: &str = DEFAULT_PREFIX;

fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| (format!("{PREFIX}/{name}"), (*value).to_owned())).collect()
}

fn read(pairs: &[(&str, &str)], config: &Config) -> Parsed {
    parse(&map(pairs), &Policy { prefix: PREFIX, validation: true, config })
}

/// Reads one annotation with the default settings.
fn one(name: &str, value: &str) -> Parsed {
    read(&[(name, value)], &Config::default())
}

fn snippets_allowed() -> Config {
    Config { allow_snippet_annotations: true, annotations_risk_level: Risk::Critical, ..Config::default() }
}

/// One annotation with its findings and verdict.
#[track_caller]
fn check(name: &str, value: &str, verdict: ParseVerdict, details: &[&str]) -> Spec {
    let parsed = one(name, value);
    let found: Vec<&str> = parsed.findings.iter().map(|finding| finding.detail.as_str()).collect();
    assert_eq!((parsed.verdict, found.as_slice()), (verdict, details), "{name}: {value:?}");
    parsed.spec
}

/// With snippets allowed.
fn read_all(pairs: &[(&str, &str)]) -> Parsed {
    parse(&map(pairs), &Policy { prefix: PREFIX, validation: true, config: &snippets_allowed() })
}

#[test]
fn every_example_in_the_table_is_valid_and_changes_something() {
    for entry in ANNOTATIONS.iter() {
        let mut pairs = entry.companions.to_vec();
        let without = read_all(&pairs).spec;
        pairs.push((entry.name, entry.example));
        let parsed = read_all(&pairs);
        assert_eq!((parsed.findings, parsed.verdict), (Vec::new(), ParseVerdict::Accepted), "{}", entry.name);
        assert_ne!(parsed.spec, without, "{}", entry.name);
    }
}

#[test]
fn the_table_is_sorted_and_complete() {
    assert!(ANNOTATIONS.is_sorted_by(|one, other| one.name < other.name));
    assert!(GROUPS.iter().all(|group| group.entries.is_sorted_by(|one, other| one.name < other.name)));
    for entry in ANNOTATIONS.iter() {
        assert!(!entry.value.is_empty() && entry.doc.ends_with('.'), "{}", entry.name);
        assert!(entry.config_key.is_none_or(|key| CONFIG_KEYS.iter().any(|entry| entry.name == key)), "{}", entry.name);
        assert_eq!(entry.name.ends_with("-snippet"), entry.risk == Risk::Critical, "{}", entry.name);
    }
}

#[test]
fn a_value_that_is_not_taken_gives_way_to_the_global_setting() {
    use ParseVerdict::Accepted;
    check(
        "proxy-body-size",
        "15r",
        Accepted,
        &["expected a size such as 8k or 1m (digits and at most one of b, k, m, g); the global setting 1m is used"],
    );
    check(
        "proxy-read-timeout",
        "-1",
        Accepted,
        &["expected a whole number of seconds from 0 to 4294967295, without a unit; the global setting 60 is used"],
    );
    check("proxy-buffering", "true", Accepted, &["expected on or off; the global setting off is used"]);
    check("proxy-buffers-number", "2", Accepted, &["expected a whole number from 3 to 4294967295; the global setting 4 is used"]);
    check("proxy-buffer-size", "0", Accepted, &["expected a size from 1 byte to 1g, such as 8k; the global setting 4k is used"]);
    check(
        "rewrite-target",
        "/a?b=c",
        Accepted,
        &["expected a path of letters, digits and - . _ ~ / : with captures such as $1; it is ignored"],
    );
    let spec = check(
        "ssl-redirect",
        " true",
        Accepted,
        &["expected true or false (1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False); the global setting true is used"],
    );
    assert_eq!(spec, Spec::default());
}

#[test]
fn a_value_that_may_not_be_wrong_refuses_the_ingress() {
    check("load-balance", "fastest", ParseVerdict::Refused, &["expected round_robin or ewma; the Ingress is refused"]);
    check(
        "upstream-vhost",
        "a b",
        ParseVerdict::Refused,
        &[
            "expected a host name of letters, digits and - . _ ~ / : ^ $ [ ] ( ) { } * + ? & = \\ | with variables such as $host or ${host}; the Ingress is refused",
        ],
    );
    check(
        "server-alias",
        "a.com;b.com",
        ParseVerdict::Refused,
        &["expected host names such as www.example.com or *.example.com, between commas; the Ingress is refused"],
    );
}

#[test]
fn without_validation_nothing_refuses_the_ingress() {
    let config = Config::default();
    let parsed = parse(&map(&[("load-balance", "fastest")]), &Policy { prefix: PREFIX, validation: false, config: &config });
    assert_eq!((parsed.verdict, parsed.spec.upstream.load_balance), (ParseVerdict::Accepted, None));
    assert_eq!(parsed.findings[0].detail, "expected round_robin or ewma; the global setting round_robin is used");
}

#[test]
fn blanks_count_only_where_they_must() {
    let size = |text| one("proxy-body-size", text).spec.proxy.proxy_body_size.map(|size| size.bytes);
    assert_eq!((size(" 8 m"), size(" "), size("8\n")), (Some(8 << 20), None, None));
    assert_eq!(one("proxy-buffering", " on ").spec.proxy.proxy_buffering, Some(true));
    assert_eq!(one("load-balance", " ewma\n").spec.upstream.load_balance, Some(LoadBalance::Ewma));
    assert_eq!(one("upstream-vhost", " a.com ").spec.protocol.upstream_vhost.unwrap().as_str(), "a.com");
    assert_eq!(one("upstream-vhost", "a.com\n").verdict, ParseVerdict::Refused);
}

#[test]
fn an_empty_value_is_none_unless_the_table_says_otherwise() {
    for entry in ANNOTATIONS.iter() {
        if entry.on_empty == OnEmpty::Absent {
            let parsed = read_all(&[(entry.name, "")]);
            assert_eq!(
                (parsed.spec, parsed.findings.len(), parsed.verdict),
                (Spec::default(), 0, ParseVerdict::Accepted),
                "{}",
                entry.name
            );
        }
    }
    assert_eq!(one("service-upstream", "").spec.upstream.service_upstream, Some(false));
    assert_eq!(one("service-upstream", "yes").spec.upstream.service_upstream, Some(false));
}

#[test]
fn an_algorithm_that_needs_another_annotation_is_round_robin() {
    let spec = check("load-balance", "chash", ParseVerdict::Accepted, &["expected round_robin or ewma; round_robin is used"]);
    assert_eq!(spec.upstream.load_balance, Some(LoadBalance::RoundRobin));
}

#[test]
fn aliases_are_sorted_without_duplicates_and_may_be_patterns() {
    let spec = check(
        "server-alias",
        "b.com, A.com,, *.c.com,b.com,~^x\\d$,~(,www.*",
        ParseVerdict::Accepted,
        &[
            "\"~(\": expected a regular expression (PCRE2: error compiling pattern at offset 1: missing closing parenthesis); it is left out",
            "\"www.*\": expected a host name such as www.example.com or *.example.com; it is left out",
        ],
    );
    let names: Vec<&str> = spec.names.server_alias.iter().map(ngx_value::HostName::as_str).collect();
    assert_eq!(names, ["*.c.com", "a.com", "b.com"]);
    let patterns: Vec<&str> = spec.names.server_alias_patterns.iter().map(ngx_value::Pattern::as_str).collect();
    assert_eq!(patterns, ["^x\\d$"]);
}

#[test]
fn a_risk_above_the_level_refuses_the_ingress_even_if_the_value_is_empty() {
    for name in ["configuration-snippet", "stream-snippet"] {
        check(name, "", ParseVerdict::Refused, &["its risk is Critical, annotations-risk-level allows up to High; the Ingress is refused"]);
    }
    let low = Config { annotations_risk_level: Risk::Low, ..Config::default() };
    assert_eq!(read(&[("rewrite-target", "/")], &low).verdict, ParseVerdict::Refused);
    assert_eq!(read(&[("ssl-redirect", "true")], &low).verdict, ParseVerdict::Accepted);
    assert_eq!(read(&[("whitelist-source-range", "1.1.1.1")], &low).verdict, ParseVerdict::Refused);
}

#[test]
fn snippets_that_are_not_allowed_are_left_out() {
    let config = Config { annotations_risk_level: Risk::Critical, ..Config::default() };
    let parsed = read(&[("configuration-snippet", "a;"), ("ssl-redirect", "true")], &config);
    assert_eq!(
        (parsed.verdict, parsed.spec.snippets.configuration_snippet.clone(), parsed.spec.https.ssl_redirect),
        (ParseVerdict::Accepted, None, Some(true))
    );
    assert_eq!(
        (parsed.findings[0].kind, parsed.findings[0].detail.as_str()),
        (FindingKind::Blocked, "allow-snippet-annotations is false; it is ignored")
    );
}

#[test]
fn a_snippet_that_is_allowed_must_be_balanced() {
    let config = snippets_allowed();
    let parsed = read(&[("server-snippet", "location /x { return 200; }")], &config);
    assert_eq!(parsed.spec.snippets.server_snippet.clone().unwrap().as_str(), "location /x { return 200; }\n");
    let parsed = read(&[("configuration-snippet", "a;\n} server {")], &config);
    assert_eq!(parsed.verdict, ParseVerdict::Refused);
    assert_eq!(
        parsed.findings[0].detail,
        "expected complete NGINX directives, but line 2: \"}\" closes a block that was not opened here; the Ingress is refused"
    );
}

#[test]
fn a_forbidden_word_refuses_the_ingress() {
    let config = Config { annotation_value_word_blocklist: vec!["load_module".to_owned(), "{".to_owned()], ..snippets_allowed() };
    let parsed = read(&[("configuration-snippet", "# {}"), ("no-such", "{")], &config);
    assert_eq!(parsed.verdict, ParseVerdict::Refused);
    assert_eq!(parsed.findings[0].kind, FindingKind::Blocked);
    assert_eq!(
        parsed.findings[0].detail,
        "the value contains \"{\", which annotation-value-word-blocklist forbids; the Ingress is refused"
    );
}

#[test]
fn a_name_that_does_not_exist_is_reported() {
    check("rewrite-taget", "/", ParseVerdict::Accepted, &["no such annotation, did you mean rewrite-target?; it is ignored"]);
}

#[test]
fn every_protecting_annotation_closes_when_its_value_is_not_taken() {
    let config = snippets_allowed();
    for (entry, validation) in ANNOTATIONS.iter().filter(|entry| entry.protects()).flat_map(|entry| [(entry, true), (entry, false)]) {
        let mut pairs = entry.companions.to_vec();
        pairs.push((entry.name, "\"no; such {value}"));
        let parsed = parse(&map(&pairs), &Policy { prefix: PREFIX, validation, config: &config });
        assert_eq!(parsed.verdict, ParseVerdict::Denied, "{}", entry.name);
        assert!(parsed.findings.iter().any(|finding| finding.detail.contains("because it protects the ")), "{}", entry.name);
    }
    for name in ["allowlist-source-range", "denylist-source-range", "auth-tls-match-cn", "auth-tls-secret", "auth-type", "auth-url"] {
        assert!(ANNOTATIONS.iter().any(|entry| entry.name == name && entry.protects()), "{name}");
    }
}

#[test]
fn other_annotations_are_not_ours_unless_they_have_the_usual_prefix() {
    let config = Config::default();
    let annotations = BTreeMap::from(
        [
            "kubernetes.io/ingress.class",
            "ssl-redirect",
            "nginx.ingress.kubernetes.iox/ssl-redirect",
            "nginx.ingress.kubernetes.io/ssl-redirect",
        ]
        .map(|key| (key.to_owned(), "x".to_owned())),
    );
    let parsed = parse(&annotations, &Policy { prefix: "example.com", validation: true, config: &config });
    let found: Vec<(&str, FindingKind)> = parsed.findings.iter().map(|finding| (finding.key.as_str(), finding.kind)).collect();
    assert_eq!(found, [("nginx.ingress.kubernetes.io/ssl-redirect", FindingKind::Surprise)]);
    assert_eq!(parsed.findings[0].detail, "annotations begin with example.com/ here; it is ignored");
    let ours = BTreeMap::from([("example.com/ssl-redirect".to_owned(), "false".to_owned())]);
    assert_eq!(parse(&ours, &Policy { prefix: "example.com", validation: true, config: &config }).spec.https.ssl_redirect, Some(false));
}

#[test]
fn an_alias_speaks_when_the_annotation_itself_says_nothing() {
    let (usual, group) = crate::groups::annotation("ssl-redirect").unwrap();
    let entry: &Entry = Box::leak(Box::new(Entry { aliases: &["old", "older"], ..usual.clone() }));
    let config = Config::default();
    let policy = Policy { prefix: PREFIX, validation: true, config: &config };
    let run = |pairs: &[(&str, &str)]| {
        let annotations = map(pairs);
        let mut reader = Reader::new(&annotations, &policy);
        for (key, value) in &annotations {
            reader.read((entry, group), key, strip(key, PREFIX).unwrap(), value);
        }
        (reader.draft.spec.https.ssl_redirect, reader.findings.len())
    };
    assert_eq!(run(&[("old", "false")]), (Some(false), 0));
    assert_eq!(run(&[("ssl-redirect", ""), ("older", "false")]), (Some(false), 0));
    assert_eq!(run(&[("ssl-redirect", "true"), ("old", "false")]), (Some(true), 1));
    assert_eq!(run(&[("old", "true"), ("older", "false")]), (Some(true), 1));
}

proptest! {
    #[test]
    fn any_value_of_any_annotation_gives_a_verdict(
        at in 0..ANNOTATIONS.len(),
        value in prop_oneof![".{0,30}", r#"[a-z0-9$/{};"'\\ ,.*~-]{0,20}"#],
    ) {
        let parsed = read(&[(ANNOTATIONS[at].name, &value)], &snippets_allowed());
        prop_assert!(parsed.verdict == ParseVerdict::Accepted || !parsed.findings.is_empty());
    }

    #[test]
    fn any_name_gives_a_verdict(name in ".{0,40}") {
        prop_assert!(one(&name, "x").findings.len() <= 2);
    }
}
