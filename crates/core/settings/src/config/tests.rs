use proptest::prelude::*;

use super::*;
use crate::groups::{HttpsDefaults, LoadBalance};
use crate::table::Risk;

pub(crate) fn read(pairs: &[(&str, &str)]) -> (Config, Vec<ConfigFinding>) {
    Config::parse(&pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect())
}

/// One key: its value printed, and the details of the findings.
#[track_caller]
pub(crate) fn check(key: &str, value: &str, printed: &str, details: &[&str]) {
    let (config, findings) = read(&[(key, value)]);
    let entry = CONFIG_KEYS.iter().find(|entry| entry.name == key).unwrap();
    let found: Vec<&str> = findings.iter().map(|finding| finding.detail.as_str()).collect();
    assert_eq!(((entry.get)(&config).as_str(), found.as_slice()), (printed, details), "{key}: {value:?}");
}

#[test]
fn names_are_keys_and_every_default_reads_back() {
    for entry in CONFIG_KEYS.iter() {
        assert!(entry.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'), "{}", entry.name);
        assert_eq!(CONFIG_KEYS.iter().filter(|other| other.name == entry.name).count(), 1, "{}", entry.name);
        assert!(entry.doc.trim_end().ends_with('.') && !entry.value.is_empty(), "{}", entry.name);
        let text = (entry.get)(&Config::default());
        let (config, findings) = read(&[(entry.name, &text)]);
        assert_eq!((config, findings), (Config::default(), Vec::new()), "{}: {text}", entry.name);
    }
}

#[test]
fn every_example_is_another_value() {
    let all: Vec<(&str, &str)> = CONFIG_KEYS.iter().map(|entry| (entry.name, entry.example)).collect();
    let (config, findings) = read(&all);
    assert_eq!(findings, Vec::new());
    for entry in CONFIG_KEYS.iter() {
        assert!(!(entry.same)(&config, &Config::default()), "{}", entry.name);
    }
}

#[test]
fn an_empty_configmap_is_the_default() {
    assert_eq!(read(&[]), (Config::default(), Vec::new()));
}

#[test]
fn values_are_read_by_their_type() {
    for (key, value, printed) in [
        ("ssl-redirect", "false", "false"),
        ("ssl-redirect", "0", "false"),
        ("ssl-redirect", "", "false"),
        ("keep-alive", "0x10", "16"),
        ("keep-alive", "", "0"),
        ("proxy-body-size", "0", "0"),
        ("proxy-buffering", "on", "on"),
        ("proxy-next-upstream", "timeout  http_502", "timeout http_502"),
        ("upstream-keepalive-time", "75s", "75s"),
        ("worker-processes", "4", "4"),
        ("ssl-ciphers", "", ""),
        ("large-client-header-buffers", "2 16K", "2 16k"),
        ("annotation-value-word-blocklist", "a, b,,", "a,b"),
        ("no-tls-redirect-locations", "", ""),
        ("bind-address", "10.0.0.1, ::1", "10.0.0.1,::1"),
        ("block-cidrs", "10.1.2.3/8", "10.0.0.0/8"),
        ("load-balance", "", "round_robin"),
        ("annotations-risk-level", "CRITICAL", "Critical"),
        ("log-format-upstream", "$remote_addr {\"a\": \"$status\"}", "$remote_addr {\"a\": \"$status\"}"),
        ("http-redirect-code", "301", "301"),
    ] {
        check(key, value, printed, &[]);
    }
}

#[test]
fn an_unusable_value_leaves_the_default() {
    check(
        "ssl-redirect",
        "yes",
        "true",
        &["expected true or false (1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False); the default \"true\" is used"],
    );
    check("http-redirect-code", "303", "308", &["expected 301, 302, 307 or 308; the default \"308\" is used"]);
    check("worker-processes", "0", "auto", &["expected auto or a number from 1 to 512; the default \"auto\" is used"]);
    check("keep-alive", "-1", "75", &["expected a whole number from 0 to 4294967295; the default \"75\" is used"]);
    check("proxy-buffers-number", "2", "4", &["expected a whole number from 3 to 4294967295; the default \"4\" is used"]);
    check("gzip-level", "10", "1", &["expected a whole number from 1 to 9; the default \"1\" is used"]);
    check(
        "large-client-header-buffers",
        "4 100",
        "4 8k",
        &["expected a number from 1 to 1024 and a size from 512 to 1g, such as 4 8k; the default \"4 8k\" is used"],
    );
}

#[test]
fn sizes_of_buffers_fit_together() {
    let beyond = "16k is not between proxy-buffer-size and that times one less than proxy-buffers-number; it is ignored";
    check("proxy-busy-buffers-size", "16k", "16k", &[beyond]);
    check("proxy-busy-buffers-size", "12k", "12k", &[]);
    check("proxy-max-temp-file-size", "1k", "1k", &["1k is less than proxy-buffer-size, 4k, which is used instead"]);
    check("proxy-max-temp-file-size", "0", "0", &[]);
}

#[test]
fn http3_is_off_without_its_version_of_tls() {
    let (config, findings) = read(&[("use-http3", "true"), ("ssl-protocols", "TLSv1.2")]);
    assert!(!config.use_http3 && findings.len() == 1 && findings[0].key == "use-http3", "{findings:?}");
}

#[test]
fn values_that_nginx_does_not_live_with_leave_the_default() {
    for (key, value) in [
        ("max-worker-connections", "10"),
        ("max-worker-connections", "4294967295"),
        ("http2-max-concurrent-streams", "0"),
        ("http3-max-concurrent-streams", "0"),
        ("max-worker-open-files", "100"),
        ("upstream-keepalive-connections", "65536"),
        ("variables-hash-max-size", "0"),
        ("map-hash-bucket-size", "65536"),
        ("server-name-hash-bucket-size", "65536"),
        ("ssl-session-cache-size", "31k"),
        ("ssl-session-timeout", "1500ms"),
        ("ssl-ecdh-curve", "X25519:X25519"),
        ("ssl-ciphers", "A;B"),
        ("access-log-path", "syslog:"),
        ("gzip-disable", &"\\".repeat(3000)),
        ("worker-processes", "1024"),
    ] {
        let (config, findings) = read(&[(key, value)]);
        assert!(config == Config::default() && findings.len() == 1 && findings[0].key == key, "{key}: {findings:?}");
    }
}

#[test]
fn lists_have_no_items_that_nginx_refuses() {
    let long = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
    let detail = format!("{long:?}: expected at most 46 bytes, which is what NGINX's table of types holds; it is left out");
    check("gzip-types", &format!("text/css {long}"), "text/css", &[&detail]);
    check("bind-address", "127.0.0.1,127.0.0.1,::ffff:127.0.0.1", "127.0.0.1", &[]);
    check("bind-address", "127.0.0.1,0.0.0.0,::1", "0.0.0.0,::1", &[]);
    let (config, findings) = read(&[("lua-shared-dicts", "SSL:10m")]);
    assert!(config == Config::default() && findings.len() == 1, "{findings:?}");
}

#[test]
fn an_unknown_level_of_risk_is_the_lowest() {
    check("annotations-risk-level", "Highest", "Low", &["expected Low, Medium, High or Critical; Low is used"]);
    check("annotations-risk-level", "", "Low", &["expected Low, Medium, High or Critical; Low is used"]);
    assert_eq!(Config::default().annotations_risk_level, Risk::High);
}

#[test]
fn an_unknown_algorithm_is_round_robin() {
    assert_eq!(read(&[("load-balance", "ewma")]).0.upstream.load_balance, LoadBalance::Ewma);
    check("load-balance", "fastest", "round_robin", &["expected round_robin or ewma; round_robin is used"]);
}

#[test]
fn bad_items_of_a_list_are_left_out() {
    check("bind-address", "x,10.0.0.1", "10.0.0.1", &["\"x\": expected an IP address; it is left out"]);
    check("block-cidrs", "10.0.0.0/8,x", "10.0.0.0/8", &["\"x\": expected an IP address or a range such as 10.0.0.0/8; it is left out"]);
    check(
        "whitelist-source-range",
        "1.1.1.1,x",
        "1.1.1.1",
        &["\"x\": expected an IP address or a range such as 10.0.0.0/8; it is left out"],
    );
}

#[test]
fn an_allow_list_without_a_usable_item_lets_nobody_through() {
    check(
        "whitelist-source-range",
        "x",
        "0.0.0.0",
        &[
            "\"x\": expected an IP address or a range such as 10.0.0.0/8; it is left out",
            "nothing in the list is usable; no client is let through",
        ],
    );
    check("whitelist-source-range", "", "", &[]);
}

#[test]
fn shared_dictionaries_override_and_extend_the_defaults() {
    let (config, findings) = read(&[("lua-shared-dicts", "configuration_data:60,certificate_data:300, my_dict: 15 , invalid: 1a")]);
    let size = |name: &str| config.lua_shared_dicts.get(name).map(Size::to_string);
    assert_eq!(size("configuration_data").as_deref(), Some("60m"));
    assert_eq!(size("certificate_data").as_deref(), Some("20m"));
    assert_eq!(size("my_dict").as_deref(), Some("15m"));
    assert_eq!(size("invalid"), None);
    assert_eq!(config.lua_shared_dicts.len(), Config::default().lua_shared_dicts.len() + 1);
    let expected = "expected a name and a size from 8k to 200m, such as configuration_data:60; it is left out";
    let details: Vec<String> = findings.into_iter().map(|finding| finding.detail).collect();
    assert_eq!(details, [format!("\"certificate_data:300\": {expected}"), format!("\"invalid: 1a\": {expected}")]);
}

#[test]
fn the_limits_of_shared_dictionaries_hold() {
    let defaults = Config::default().lua_shared_dicts.len();
    for (item, bytes) in [("a:8k", Some(8 << 10)), ("a: 200 M", Some(200 << 20)), ("a:204800K", Some(200 << 20)), ("a:1", Some(1 << 20))] {
        assert_eq!(read(&[("lua-shared-dicts", item)]).0.lua_shared_dicts.get("a").map(|size| size.bytes), bytes, "{item}");
    }
    for item in ["a:7k", "a:201m", "a:-1", "a:", ":1", "a", "a:1g", "a;b:1", "a:99999999999999999999m", "a:1:2"] {
        let (config, findings) = read(&[("lua-shared-dicts", item)]);
        assert_eq!((config.lua_shared_dicts.len(), findings.len()), (defaults, 1), "{item}");
    }
    let many: String = (0..200).map(|n| format!("dict{n}:1,")).collect();
    let (config, findings) = read(&[("lua-shared-dicts", &many)]);
    assert_eq!((config.lua_shared_dicts.len(), findings.len()), (100, 100 + defaults));
}

#[test]
fn letter_case_of_a_key_does_not_matter_unless_it_is_set_twice() {
    assert!(!read(&[("SSL-Redirect", "false")]).0.https.ssl_redirect);
    let (config, findings) = read(&[("SSL-Redirect", "false"), ("ssl-redirect", "true")]);
    assert!(config.https.ssl_redirect);
    assert_eq!(findings[0].detail, "ssl-redirect is set as well and wins; this key is ignored");
}

#[test]
fn keys_that_are_not_in_the_table_are_reported() {
    let (config, findings) = read(&[("plugins", "x"), ("keepalive", "1")]);
    assert_eq!(config, Config::default());
    let details: Vec<&str> = findings.iter().map(|finding| finding.detail.as_str()).collect();
    assert_eq!(details, ["no such key, did you mean keep-alive?; it is ignored", "this key was removed; it is ignored",]);
}

#[test]
fn changed_keys_are_named() {
    let changed = Config {
        https: HttpsDefaults { ssl_redirect: false, ..HttpsDefaults::default() },
        keep_alive: ngx_value::Seconds(1),
        ..Config::default()
    };
    let names: Vec<&str> = changed.changed_keys(&Config::default()).into_iter().map(|entry| entry.name).collect();
    assert_eq!(names, ["keep-alive", "ssl-redirect"]);
    assert!(changed.changed_keys(&changed).is_empty());
}

proptest! {
    #[test]
    fn any_value_of_any_key_is_read_and_reads_back(
        at in 0..CONFIG_KEYS.len(),
        value in prop_oneof![".{0,20}", "[0-9a-z:,./ -]{0,20}", "[0-9]{1,10}[kms]?"],
    ) {
        let entry = &CONFIG_KEYS[at];
        let (config, _) = read(&[(entry.name, &value)]);
        let text = (entry.get)(&config);
        let (again, findings) = read(&[(entry.name, &text)]);
        // Values that are right or wrong with another key.
        let with_other = |detail: &str| ["proxy-buffer-size", "syslog-host"].iter().any(|other| detail.contains(other));
        let amiss: Vec<_> = findings.into_iter().filter(|finding| !with_other(&finding.detail)).collect();
        prop_assert_eq!((again, amiss), (config, Vec::new()), "{}", text);
    }
}

#[test]
fn statuses_are_sorted_and_bad_ones_left_out() {
    let left_out = |item: &str| format!("{item:?}: expected a status from 300 to 599 other than 499; it is left out");
    check("custom-http-errors", "503,404,301", "301,404,503", &[]);
    check("custom-http-errors", "404,x,499", "404", &[&left_out("x"), &left_out("499")]);
    check("limit-req-status-code", "429", "429", &[]);
    check("limit-conn-status-code", "200", "503", &["expected a whole number from 400 to 599; the default \"503\" is used"]);
}
