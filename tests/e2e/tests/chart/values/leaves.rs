//! Every value of `values.yaml` changes an object, or is one without a meaning.

use anyhow::{Context, ensure};
use e2e::helm::{Helm, chart, side_by_side};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{at, file, helm, idle, leaves, read, with};

/// What Helm says of values that the schema refuses.
const REFUSED: &str = "values don't meet the specifications of the schema";

/// Values with which the others have an effect: what excludes each other is in different ones.
fn settings() -> anyhow::Result<[Value; 3]> {
    let monitors = json!({"enabled": true, "serviceMonitor": {"enabled": true}, "prometheusRule": {"enabled": true, "rules": [{"alert": "A"}]},
            "dashboards": {"enabled": true}});
    let console = json!({"enabled": true, "tokenSecret": {"name": "token"}});
    let rollout = json!({"enabled": true, "alerts": {"enabled": true, "webhookUrl": "https://a"}, "serviceMonitor": {"enabled": true}});
    let full = with(&file("deployment.yaml")?, json!({"controller": {"metrics": monitors, "console": console}, "rollout": rollout}));
    let plain = json!({
        "tcp": {"9000": "a/b:1"}, "udp": {"9000": "a/b:1"}, "rollout": {"enabled": true}, "defaultBackend": {"enabled": true, "replicaCount": 2},
        "controller": {"replicaCount": 2, "service": {"internal": {"enabled": true, "annotations": {"a": "b"}}}},
    });
    let narrow = json!({
        "controller": {"scope": {"enabled": true}, "hostNetwork": true, "keda": {"enabled": true, "minReplicas": 2},
            "splitDataPlane": true, "admissionWebhooks": {"certManager": {"enabled": true}}},
        "rollout": {"enabled": true, "alerts": {"enabled": true, "existingSecret": {"name": "x"}}},
    });
    Ok([full, plain, narrow])
}

/// A value of the same type that no other path has, if the type has so many.
fn unique(current: &Value, number: usize) -> Option<Value> {
    let text = format!("s{number:04}");
    match current {
        Value::String(_) => Some(json!(text)),
        Value::Number(_) => Some(json!(20_000 + number)),
        Value::Object(_) => Some(json!({text.clone(): text})),
        Value::Array(items) if items.iter().all(Value::is_object) => Some(json!([{"name": text}])),
        Value::Array(_) => Some(json!([text])),
        Value::Null | Value::Bool(_) => None,
    }
}

/// Values to try in its place: the schema takes one of them.
fn candidates(current: &Value, number: usize) -> Vec<Value> {
    let texts = [
        "/s",
        "7s",
        "a/b",
        "https://s",
        "NodePort",
        "LoadBalancer",
        "Local",
        "ClientIP",
        "PreferDualStack",
        "Ignore",
        "Fail",
        "Always",
        "DaemonSet",
        "QUFB",
        "keda.k8s.io/v1alpha1",
        "annotations",
        "nginx",
        "secrets",
        "slack",
        "text",
        "127.0.0.2",
    ];
    let mut all: Vec<Value> = unique(current, number).into_iter().collect();
    match current {
        Value::Bool(value) => all.push(json!(!value)),
        Value::String(_) => {
            all.extend(texts.map(Value::from));
            all.extend([json!(20_000 + number), json!(format!("sha256:{}", "0".repeat(64)))]);
        }
        Value::Object(_) => all.extend([json!({"9000": "a/c:1"}), json!({"9000": 30_900}), json!({"http": 20_000}), json!({"name": "s"})]),
        Value::Array(_) => {
            let module = json!({"name": "s", "image": {"image": "x"}});
            all.extend([json!(["s"]), json!(["IPv6"]), json!(["jobs"]), json!([{"resourceName": "s"}]), json!([module])]);
        }
        Value::Null => all.extend([json!("s"), json!(7)]),
        Value::Number(_) => {}
    }
    all.retain(|value| value != current);
    all
}

/// The paths that the schema refuses, as a message of Helm has them: `at '/a/b': ...`.
fn refused(message: &str) -> Vec<String> {
    message.split("at '/").skip(1).filter_map(|rest| rest.split('\'').next()).map(|path| path.replace('/', ".")).collect()
}

struct Leaf {
    number: usize,
    path: String,
}

/// Sets a unique value at all paths at once, and keeps those whose value no object has: one run of Helm instead of one for each.
fn without_trace(helm: &Helm, base: &Value, current: &Value, all: Vec<Leaf>) -> anyhow::Result<Vec<Leaf>> {
    let value = |leaf: &Leaf| unique(current.pointer(&pointer(&leaf.path))?, leaf.number);
    let (mut tried, mut rest): (Vec<Leaf>, Vec<Leaf>) = all.into_iter().partition(|leaf| value(leaf).is_some());
    for _ in 0..4 {
        let mut values = base.clone();
        for leaf in &tried {
            e2e::rollout::merge(&mut values, at(&leaf.path, value(leaf).context("a value")?));
        }
        match helm.manifest("edge", &values) {
            Ok(text) => {
                let seen =
                    |leaf: &Leaf| text.contains(&format!("s{:04}", leaf.number)) || text.contains(&(20_000 + leaf.number).to_string());
                rest.extend(tried.into_iter().filter(|leaf| !seen(leaf)));
                return Ok(rest);
            }
            Err(error) => {
                let message = error.to_string();
                let paths = refused(&message);
                // Names of map entries that the schema refuses have no path.
                let is_refused = |leaf: &Leaf| {
                    paths.iter().any(|path| path.starts_with(&leaf.path)) || message.contains(&format!("'s{:04}'", leaf.number))
                };
                let (no, yes): (Vec<Leaf>, Vec<Leaf>) = tried.into_iter().partition(is_refused);
                ensure!(!no.is_empty(), "{message}");
                rest.extend(no);
                tried = yes;
            }
        }
    }
    rest.extend(tried);
    Ok(rest)
}

fn pointer(path: &str) -> String {
    format!("/{}", path.replace('.', "/"))
}

#[test]
fn no_value_is_ignored() -> anyhow::Result<()> {
    let helm = helm()?;
    let defaults = read(&chart().join("values.yaml"))?;
    let idle: Vec<String> = idle()?.into_iter().map(|(path, _)| path).collect();
    let all = leaves(&defaults).into_iter().map(|(path, _)| path).enumerate();
    // Two namespaces of `narthex rollout` exclude each other.
    let (first, mut rest): (Vec<Leaf>, Vec<Leaf>) = all
        .map(|(number, path)| Leaf { number, path })
        .filter(|leaf| !idle.contains(&leaf.path))
        .partition(|leaf| !["rollout.namespaces", "rollout.watchNamespace"].contains(&leaf.path.as_str()));
    let settings = settings()?;
    let whole = settings.clone().map(|base| with(&defaults, base));
    let mut untraced = first;
    for (base, current) in settings.iter().zip(&whole) {
        untraced = without_trace(&helm, base, current, untraced)?;
    }
    rest.extend(untraced);
    let usual = [helm.manifest("edge", &settings[0])?, helm.manifest("edge", &settings[1])?, helm.manifest("edge", &settings[2])?];
    let ignored = Mutex::new(Vec::new());
    side_by_side(&rest, |leaf| {
        for ((base, current), usual) in settings.iter().zip(&whole).zip(&usual) {
            let current = current.pointer(&pointer(&leaf.path)).unwrap_or(&Value::Null);
            for other in candidates(current, leaf.number) {
                match helm.manifest("edge", &with(base, at(&leaf.path, other))) {
                    Err(error) if error.to_string().contains(REFUSED) => continue,
                    Ok(text) if text == *usual => break,
                    // Another text; or a template refuses it, which is not silent either.
                    Ok(_) | Err(_) => return Ok(()),
                }
            }
        }
        ignored.lock().push(leaf.path.clone());
        Ok(())
    })?;
    let ignored = ignored.into_inner();
    ensure!(ignored.is_empty(), "no object changes with {ignored:?}: use them in a template, or list them in values.idle.yaml");
    Ok(())
}
