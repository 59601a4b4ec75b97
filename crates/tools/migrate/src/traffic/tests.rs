use serde_json::json;

use super::*;
use crate::site::tests::{ingress, sites_of};

fn line(request: &str, backend: &str) -> String {
    format!("10.0.0.1 - - [21/Nov/2026:18:00:00 +0000] \"{request} HTTP/1.1\" 200 1 \"-\" \"-\" 1 0.1 [{backend}] [] - - - - a\n")
}

fn two_hosts() -> Vec<Site> {
    let rule = |host: &str, service: &str| {
        json!({"host": host, "http": {"paths": [
            {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": service, "port": {"number": 80}}}}]}})
    };
    let object =
        json!({"metadata": {"namespace": "n", "name": "i"}, "spec": {"rules": [rule("a.example.com", "a"), rule("*.b.example.com", "b")]}});
    sites_of(&ingress(object))
}

fn taste() -> LogSelection {
    LogSelection { schemes: vec![Scheme::Http], all_methods: false, sample: 10, host: None, format: LogFormat::Auto }
}

fn taken(log: &str, sites: &[Site], taste: &LogSelection) -> Vec<String> {
    read(log.as_bytes(), sites, taste).unwrap().requests.iter().map(ToString::to_string).collect()
}

#[test]
fn the_backend_of_a_line_says_its_host() {
    let log = line("GET /x", "n-a-80") + &line("HEAD /y", "n-b-80");
    assert_eq!(taken(&log, &two_hosts(), &taste()), ["http://a.example.com/x", "HEAD http://narthex-probe.b.example.com/y"]);
}

#[test]
fn lines_of_json_and_of_text_may_be_mixed() {
    let json = r#"{"request":"GET /j HTTP/1.1","host":"a.example.com"}"#;
    let log = format!("{json}\n{}", line("GET /x", "n-a-80"));
    assert_eq!(taken(&log, &two_hosts(), &taste()), ["http://a.example.com/j", "http://a.example.com/x"]);
    let text = LogSelection { format: LogFormat::Text, ..taste() };
    assert_eq!(taken(&log, &two_hosts(), &text), ["http://a.example.com/x"]);
    let json = LogSelection { format: LogFormat::Json(Fields::default()), ..taste() };
    assert_eq!(taken(&log, &two_hosts(), &json), ["http://a.example.com/j"]);
}

#[test]
fn what_is_passed_over_is_counted() {
    let log = line("GET /x", "other") + &line("POST /x", "n-a-80") + "nonsense\n\n" + &line("GET /z", "-");
    let traffic = read(log.as_bytes(), &two_hosts(), &taste()).unwrap();
    assert!(traffic.requests.is_empty());
    assert_eq!((traffic.lines, traffic.skipped.iter().map(|(_, count)| *count).collect::<Vec<_>>()), (4, vec![2, 1, 1]));
    let any = LogSelection { all_methods: true, host: Some("c.example.com".into()), ..taste() };
    assert_eq!(taken(&log, &two_hosts(), &any), ["http://c.example.com/x", "POST http://a.example.com/x", "http://c.example.com/z"]);
}

#[test]
fn equal_requests_count_once_and_every_shape_has_its_turn() {
    let mut log: String = (0..50).map(|number| line(&format!("GET /item/{number}?page={number}"), "n-a-80")).collect();
    log += &line("GET /item/1?page=1", "n-a-80");
    log += &line("GET /about", "n-a-80");
    let few = LogSelection { sample: 3, ..taste() };
    let expected = ["http://a.example.com/item/0?page=0", "http://a.example.com/about", "http://a.example.com/item/1?page=1"];
    assert_eq!(taken(&log, &two_hosts(), &few), expected);
}
