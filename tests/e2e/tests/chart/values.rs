//! The values file of the predecessor, values without a meaning, and that no value is ignored silently.

mod leaves;

use anyhow::{Context, ensure};
use e2e::helm::{Helm, chart, side_by_side};
use serde_json::{Value, json};
use testkit::bed::Bed;

/// For what is only rendered. What asks the API server has a private one, without another installation's class.
fn helm() -> anyhow::Result<Helm> {
    Helm::of(&Bed::from_env()?)
}

/// The content of a YAML file with one document.
fn read(path: &std::path::Path) -> anyhow::Result<Value> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    testkit::kube::documents(&text)?.into_iter().next().context("a document")
}

/// One of the files in `values/`.
fn file(name: &str) -> anyhow::Result<Value> {
    read(&std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chart/values").join(name))
}

/// The paths of values and the values; an empty map and a node selector are one value.
fn flat(value: &Value, path: &str, into: &mut Vec<(String, Value)>) {
    match value {
        Value::Object(map) if !map.is_empty() && !path.ends_with("nodeSelector") => {
            for (key, value) in map {
                flat(value, &if path.is_empty() { key.clone() } else { format!("{path}.{key}") }, into);
            }
        }
        value => into.push((path.to_owned(), value.clone())),
    }
}

fn leaves(value: &Value) -> Vec<(String, Value)> {
    let mut all = Vec::new();
    flat(value, "", &mut all);
    all
}

/// A value at a path of its own, ready to be merged.
fn at(path: &str, value: Value) -> Value {
    path.rsplit('.').fold(value, |value, key| json!({key: value}))
}

fn with(base: &Value, more: Value) -> Value {
    let mut all = base.clone();
    e2e::rollout::merge(&mut all, more);
    all
}

/// Values without a meaning, with their defaults.
fn idle() -> anyhow::Result<Vec<(String, Value)>> {
    let list = read(&chart().join("values.idle.yaml"))?;
    let mut all = Vec::new();
    for entry in list["idle"].as_array().context("a list")? {
        flat(&entry["default"], entry["path"].as_str().context("a path")?, &mut all);
    }
    Ok(all)
}

/// What a note of an installation names.
fn noted(notes: &str) -> Vec<&str> {
    notes.lines().filter_map(|line| line.strip_prefix("- ")?.split(' ').next()).collect()
}

#[tokio::test]
async fn the_values_file_of_the_predecessor_installs_unchanged() -> anyhow::Result<()> {
    let bed = Bed::start_private().await?;
    let (helm, theirs) = (Helm::of(&bed)?, file("ingress-nginx.yaml")?);
    let ours = leaves(&read(&chart().join("values.yaml"))?);
    let names: Vec<String> = leaves(&theirs).into_iter().map(|(path, _)| path).collect();
    assert_eq!(names.len(), 345);
    for name in &names {
        ensure!(ours.iter().any(|(own, _)| own == name), "{name} is not in values.yaml");
    }
    // Their defaults are ours, but for a webhook that does not answer.
    let usual = helm.manifest("edge", &json!({"controller": {"admissionWebhooks": {"failurePolicy": "Fail"}}}))?;
    ensure!(helm.manifest("edge", &theirs)? == usual, "other objects than by default");
    helm.run(&["lint", "--strict", &chart().to_string_lossy()], &theirs)?;
    let notes = helm.notes("edge", &theirs)?;
    let expected = [
        "controller.image.digestChroot",
        "controller.admissionWebhooks.patch.image.digest",
        "controller.admissionWebhooks.patch.image.image",
        "controller.admissionWebhooks.patch.image.tag",
        "controller.image",
    ];
    assert_eq!(noted(&notes), expected, "{notes}");
    Ok(())
}

#[tokio::test]
async fn the_api_server_takes_what_is_rendered() -> anyhow::Result<()> {
    let bed = Bed::start_private().await?;
    let helm = Helm::of(&bed)?;
    let mut sets = vec![json!({}), json!({"rollout": {"enabled": true}})];
    for name in ["ingress-nginx.yaml", "deployment.yaml", "daemonset.yaml"] {
        sets.push(file(name)?);
    }
    side_by_side(&sets, |values| {
        helm.notes("edge", values).with_context(|| values.to_string())?;
        let stored = helm.stored("edge", values).with_context(|| values.to_string())?;
        ensure!(stored.lines().count() > 6, "{stored}");
        Ok(())
    })
}

#[test]
fn fields_that_a_version_of_kubernetes_lacks_are_left_out() -> anyhow::Result<()> {
    const FIELDS: [&str; 3] = ["matchConditions:", "trafficDistribution:", "resizePolicy:"];
    let (helm, values, chart) = (helm()?, file("deployment.yaml")?, chart());
    for (version, known) in [("1.29.0", 0), ("1.30.0", 1), ("1.31.0", 2), ("1.33.0", 3)] {
        let text = helm.run(&["template", "edge", &chart.to_string_lossy(), "--kube-version", version], &values)?;
        let written: Vec<&str> = FIELDS.into_iter().filter(|field| text.contains(field)).collect();
        assert_eq!(written, FIELDS[..known], "Kubernetes {version}");
    }
    Ok(())
}

/// The chart is for Kubernetes 1.21 and newer, so that a PodDisruptionBudget is always of `policy/v1`.
#[test]
fn objects_have_versions_that_their_version_of_kubernetes_serves() -> anyhow::Result<()> {
    let (helm, chart) = (helm()?, chart());
    let scaled = json!({"replicaCount": 2, "autoscaling": {"enabled": true, "minReplicas": 2}});
    let values = json!({"controller": scaled, "defaultBackend": {"enabled": true, "autoscaling": {"enabled": true, "minReplicas": 2}}});
    let template = |version: &str| helm.run(&["template", "edge", &chart.to_string_lossy(), "--kube-version", version], &values);
    for (version, scaler) in
        [("1.21.0", "autoscaling/v2beta2"), ("1.22.17", "autoscaling/v2beta2"), ("1.23.0", "autoscaling/v2"), ("1.36.0", "autoscaling/v2")]
    {
        let objects = testkit::kube::read(&template(version)?)?;
        let versions = |kind: &str| -> Vec<String> {
            let types = objects.iter().filter_map(|object| object.types.as_ref()).filter(|types| types.kind == kind);
            types.map(|types| types.api_version.clone()).collect()
        };
        assert_eq!(versions("HorizontalPodAutoscaler"), [scaler; 2], "Kubernetes {version}");
        for (kind, expected) in [("PodDisruptionBudget", "policy/v1"), ("Job", "batch/v1"), ("IngressClass", "networking.k8s.io/v1")] {
            let found = versions(kind);
            ensure!(!found.is_empty() && found.iter().all(|version| version == expected), "Kubernetes {version}: {kind} {found:?}");
        }
    }
    let refusal = template("1.20.15").err().context("Kubernetes 1.20 is taken")?.to_string();
    ensure!(refusal.contains("chart requires kubeVersion: >=1.21.0-0"), "{refusal}");
    Ok(())
}

#[tokio::test]
async fn values_without_a_meaning_are_named_and_change_nothing() -> anyhow::Result<()> {
    let bed = Bed::start_private().await?;
    let helm = Helm::of(&bed)?;
    let defaults = read(&chart().join("values.yaml"))?;
    let (mut values, idle) = (json!({}), idle()?);
    for (path, default) in &idle {
        let own = defaults.pointer(&format!("/{}", path.replace('.', "/")));
        ensure!(own == Some(default), "{path}: {own:?} in values.yaml, {default} in values.idle.yaml");
        let other = match default {
            Value::Bool(value) => json!(!value),
            Value::Number(_) => json!(7),
            Value::Array(_) if path.ends_with("drop") => json!(["other"]),
            Value::Array(_) => json!([{"name": "other"}]),
            Value::Object(_) => json!({"other": "other"}),
            _ if path.to_lowercase().contains("digest") => json!(format!("sha256:{}", "7".repeat(64))),
            _ if path.ends_with("pullPolicy") => json!("Always"),
            _ => json!("other"),
        };
        e2e::rollout::merge(&mut values, at(path, other));
    }
    let notes = helm.notes("edge", &values)?;
    for (path, _) in &idle {
        ensure!(noted(&notes).iter().any(|noted| *noted == path || noted.starts_with(&format!("{path}."))), "{path} is not in {notes}");
    }
    ensure!(helm.manifest("edge", &values)? == helm.manifest("edge", &json!({}))?, "a value without a meaning changes an object");
    let quiet = helm.notes("edge", &json!({}))?;
    ensure!(noted(&quiet).is_empty(), "{quiet}");
    Ok(())
}

#[tokio::test]
async fn combinations_without_an_effect_are_named() -> anyhow::Result<()> {
    let bed = Bed::start_private().await?;
    let helm = Helm::of(&bed)?;
    let cases = [
        (json!({"portNamePrefix": "x"}), "portNamePrefix is for the ports of tcp and udp"),
        (json!({"controller": {"tcp": {"annotations": {"a": "b"}}}}), "controller.tcp is for the ConfigMap that tcp makes"),
        (
            json!({"controller": {"service": {"nodePorts": {"tcp": {"9000": 30000}}}}}),
            "controller.service.nodePorts.tcp.9000 is 30000, but tcp has no such port",
        ),
        (json!({"global": {"image": {"registy": "x"}}}), "global.image.registy is no value of this chart"),
        (json!({"controller": {"image": {"image": "ingress-nginx/controller"}}}), "the image is narthex:0.1.0"),
        (json!({"controller": {"autoscaling": {"enabled": true}, "keda": {"enabled": true}}}), "are both true: neither object is made"),
        (
            json!({"controller": {"kind": "DaemonSet", "autoscaling": {"enabled": true}}}),
            "scale a Deployment, and controller.kind is DaemonSet",
        ),
        (
            json!({"controller": {"service": {"internal": {"enabled": true}}}}),
            "no internal Service without controller.service.internal.annotations",
        ),
        (
            json!({"controller": {"dataPlane": {"resources": {"limits": {"cpu": "1"}}}}}),
            "controller.dataPlane.resources has an effect with controller.splitDataPlane only",
        ),
        (
            json!({"controller": {"splitDataPlane": true, "extraVolumes": [{"name": "s", "secret": {"secretName": "s"}}],
                "extraVolumeMounts": [{"name": "s", "mountPath": "/s"}]}}),
            "controller.extraVolumeMounts has s, whose volume may hold a Secret",
        ),
        (
            json!({"controller": {"reportNodeInternalIp": true}}),
            "controller.reportNodeInternalIp has an effect with controller.hostNetwork only",
        ),
        (
            json!({"controller": {"scope": {"namespace": "a"}}}),
            "controller.scope.namespace has an effect with controller.scope.enabled only",
        ),
        (json!({"controller": {"metrics": {"serviceMonitor": {"enabled": true}}}}), "controller.metrics.enabled is false"),
        (
            json!({"controller": {"console": {"tokenSecret": {"name": "t"}}}}),
            "controller.console.tokenSecret.name is t, but controller.console.enabled is false",
        ),
        (
            json!({"controller": {"console": {"enabled": true, "service": {"labels": {"a": "b"}}}}}),
            "controller.console.service is for a console that other Pods reach, and this one listens on 127.0.0.1",
        ),
        (json!({"controller": {"metrics": {"enabled": true, "port": 9}}}), "set controller.extraArgs.healthz-port"),
        (json!({"controller": {"containerPort": {"http": 8080}}}), "set controller.extraArgs.http-port"),
        (json!({"controller": {"hostPort": {"ports": {"other": 7}}}}), "controller.hostPort.ports.other is 7"),
        (json!({"controller": {"healthCheckPath": "/h"}}), "controller.livenessProbe.httpGet.path is /healthz: the probe fails"),
        (json!({"controller": {"configMapNamespace": "there"}}), "this chart makes it in default"),
        (json!({"serviceAccount": {"create": false}}), "without rbac.create and serviceAccount.create there is no Job"),
        (json!({"controller": {"admissionWebhooks": {"key": "/k/key"}}}), "controller.admissionWebhooks.key is /k/key"),
    ];
    side_by_side(&cases, |(values, expected)| {
        let notes = helm.notes("edge", values).with_context(|| values.to_string())?;
        ensure!(notes.contains(expected), "{values}: {notes}");
        Ok(())
    })
}
