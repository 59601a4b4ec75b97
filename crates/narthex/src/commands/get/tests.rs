//! The tables over answers of the API's own types.

use std::collections::BTreeMap;

use inspect::{
    Backend, BackendDetail, Budget, Certificate, Choice, Dictionary, EffectiveSetting, Endpoint, Generation, Host, HostDetail,
    HostServerKind, Ingress, IngressState, Master, NamespaceShare, Origin, PathMatch, PathRow, Problem, Revision, RevisionKind, Setting,
    SettingScope, Severity, Traffic, Worker, Workers,
};
use serde::Serialize;
use serde_json::json;

use super::*;
use crate::args::ResourceName;

const NOW: f64 = 1_000_000.0;

fn texts(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn traffic() -> Option<Traffic> {
    Some(Traffic { requests: 900, rate: 12.5, errors: 0.02, p50: Some(0.003), p99: Some(0.25), bytes_rate: 4096.0 })
}

fn problem() -> Problem {
    Problem {
        kind: "NoEndpoints".into(),
        severity: Severity::Error,
        object: "Ingress shop/web".into(),
        namespace: Some("shop".into()),
        name: "web".into(),
        field: "spec.rules[0]".into(),
        value: Some("x".into()),
        expected: Some("y".into()),
        detail: "no endpoint".into(),
        fix: "start a Pod".into(),
        since: Some(NOW - 60.0),
    }
}

fn certificate() -> Certificate {
    Certificate {
        digest: "0123456789abcdef".into(),
        secret: Some("shop/tls".into()),
        names: texts(&["a.example", "b.example", "c.example"]),
        issuer: "CA".into(),
        serial: "77".into(),
        not_before: 0.0,
        not_after: NOW + 864_000.0,
        days_left: 10.0,
        key: "ECDSA 256".into(),
        hosts: texts(&["a.example"]),
        hosts_total: 1,
        stapled: true,
        problems: vec![problem()],
    }
}

fn choice() -> Choice {
    Choice { backend: "shop/next:80".into(), weight: 0.1, header: Some("X-Canary".into()), cookie: Some("canary".into()) }
}

fn backend() -> Backend {
    Backend {
        name: "shop/web:80".into(),
        namespace: "shop".into(),
        service: "web".into(),
        port: "80".into(),
        balancing: "ewma".into(),
        endpoints: 2,
        ingresses: texts(&["shop/web"]),
        used_by_paths: 3,
        traffic: traffic(),
    }
}

fn host() -> HostDetail {
    let path = PathRow {
        path: "/cart".into(),
        matches: PathMatch::Prefix,
        ingress: Some("shop/web".into()),
        created: Some(0.0),
        backend: Some("shop/web:80".into()),
        canary: vec![choice()],
        profile: Some("fedcba9876543210".into()),
        problems: 1,
    };
    let setting = EffectiveSetting {
        name: "proxy-read-timeout".into(),
        value: "30".into(),
        from: Origin::Annotation,
        object: Some("Ingress shop/web".into()),
    };
    HostDetail {
        host: "a.example".into(),
        aliases: texts(&["www.a.example"]),
        certificate: Some(certificate()),
        server: HostServerKind::Shared,
        passthrough: false,
        held: false,
        redirect_to: Some("b.example".into()),
        paths_total: 1,
        paths: vec![path],
        settings: BTreeMap::from([("shop/web".into(), vec![setting])]),
        problems: vec![problem()],
        traffic: traffic(),
    }
}

/// An answer with everything in it, and the one about a single item.
fn example(resource: ResourceName) -> (Value, Value) {
    fn items(item: impl Serialize) -> Value {
        json!({ "items": [item] })
    }
    let none = Value::Null;
    match resource {
        ResourceName::Ingresses => (
            items(Ingress {
                namespace: "shop".into(),
                name: "web".into(),
                class: Some("nginx".into()),
                created: Some(0.0),
                hosts: texts(&["a.example", "b.example", "c.example"]),
                paths: 3,
                tls: texts(&["tls"]),
                state: IngressState::Quarantined,
                reason: Some("NGINX refuses it".into()),
                problems: 1,
            }),
            none,
        ),
        ResourceName::Hosts => (
            items(Host {
                host: "a.example".into(),
                namespaces: texts(&["shop"]),
                paths: 3,
                certificate: Some("0123456789abcdef".into()),
                passthrough: true,
                held: true,
                problems: 0,
                traffic: traffic(),
            }),
            serde_json::to_value(host()).unwrap(),
        ),
        ResourceName::Backends => {
            let endpoint = Endpoint { address: "10.0.0.1".into(), port: 8080, weight: 1.0, share: Some(0.5) };
            let detail =
                BackendDetail { backend: backend(), endpoints: vec![endpoint], choices: vec![choice()], problems: vec![problem()] };
            (items(backend()), serde_json::to_value(detail).unwrap())
        }
        ResourceName::Certs => (items(certificate()), none),
        ResourceName::Problems => (items(problem()), none),
        ResourceName::Settings => (
            items(Setting {
                name: "proxy-body-size".into(),
                value: "8m".into(),
                default: "1m".into(),
                from: Origin::Configmap,
                scope: SettingScope::Reload,
                annotations: 4,
                problem: Some(problem()),
            }),
            none,
        ),
        ResourceName::Workers => {
            let worker = Worker {
                pid: 8,
                start: Some(NOW - 10.0),
                revision: Some("0123456789abcdef".into()),
                generation: Generation::Old,
                connections: Some(7),
                closing: true,
                resident_bytes: 5 << 20,
            };
            let dictionary = Dictionary { name: "configuration_data".into(), bytes: 1 << 20, free_bytes: 1 << 16, used: 0.94 };
            let workers =
                Workers { masters: vec![Master { pid: 7, start: Some(0.0) }], workers: vec![worker], dictionaries: vec![dictionary] };
            (serde_json::to_value(workers).unwrap(), none)
        }
        ResourceName::Revisions => (
            items(Revision {
                revision: "0123456789abcdef".into(),
                at: NOW - 5.0,
                kind: RevisionKind::Reload,
                ok: true,
                seconds: 0.19,
                reasons: texts(&["a new profile"]),
                namespaces: texts(&["shop"]),
                message: "warning".into(),
                running: true,
                bytes: Some(29_000),
            }),
            none,
        ),
        ResourceName::Budgets => {
            let share = NamespaceShare { namespace: "shop".into(), used: 5, share: 0.05, refused: 2 };
            (items(Budget { resource: "state".into(), used: 5, capacity: 100, namespaces: vec![share] }), none)
        }
    }
}

fn printed(resource: ResourceName, detail: bool, wide: bool) -> String {
    let tables_of = RESOURCES.iter().find(|found| found.of == resource).unwrap();
    let (list, single) = example(resource);
    let (answer, of) = if detail { (single, tables_of.detail) } else { (list, tables_of.tables) };
    tables(&Found { answer, tables: of, more: 0 }, wide, NOW, Palette::PLAIN)
}

/// A place that no answer has would be an empty column for ever.
#[test]
fn every_column_finds_its_value_in_the_answers() {
    for resource in RESOURCES {
        let (list, single) = example(resource.of);
        for (answer, tables) in [(&list, resource.tables), (&single, resource.detail)] {
            for table in tables {
                let found = rows(answer, table.rows);
                assert!(!found.is_empty(), "{:?} {}", resource.of, table.rows);
                for column in table.columns {
                    assert!(!value(&found[0], column.at).is_null(), "{:?} {} {}", resource.of, table.rows, column.at);
                }
            }
        }
        for place in resource.name {
            assert!(list["items"][0].pointer(place).is_some_and(Value::is_string), "{:?} {place}", resource.of);
        }
    }
}

#[test]
fn ingresses_have_a_row_each() {
    assert_eq!(
        printed(ResourceName::Ingresses, false, false),
        "NAMESPACE   NAME   CLASS   HOSTS                    PATHS   STATE         PROBLEMS   AGE\n\
         shop        web    nginx   a.example,b.example +1       3   quarantined          1   11d\n"
    );
    assert!(printed(ResourceName::Ingresses, false, true).ends_with("   tls   NGINX refuses it\n"));
}

#[test]
fn one_host_has_its_paths_settings_and_problems() {
    let text = printed(ResourceName::Hosts, true, false);
    let titles: Vec<&str> = text.lines().filter(|line| !line.contains("  ") && !line.is_empty()).collect();
    assert_eq!(titles, ["Paths", "Settings in effect", "Problems"], "{text}");
    assert!(text.contains("/cart   Prefix   shop/web   shop/web:80   shop/next:80   fedcba987654"), "{text}");
    assert!(text.contains("proxy-read-timeout   30      annotation   Ingress shop/web"), "{text}");
}

#[test]
fn shares_of_namespaces_are_among_what_is_wide() {
    assert!(!printed(ResourceName::Budgets, false, false).contains("Namespaces"));
    let wide = printed(ResourceName::Budgets, false, true);
    assert!(
        wide.contains("\nNamespaces\nRESOURCE   NAMESPACE   USED   SHARE   HELD BACK\nstate      shop           5    5.0%           2\n"),
        "{wide}"
    );
}

#[test]
fn a_name_is_exact_with_or_without_its_namespace() {
    let resource = &RESOURCES[0];
    let (answer, _) = example(resource.of);
    let item = &answer["items"][0];
    assert!(is_named(item, resource, "shop/web") && is_named(item, resource, "web"));
    assert!(!is_named(item, resource, "shop") && !is_named(item, resource, "we"));
}
