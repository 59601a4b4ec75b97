//! Names below maps that the schema leaves open: settings, flags, and fields of Kubernetes.

use clap::Parser;
use k8s_openapi::api::apps::v1::DeploymentStrategy;
use k8s_openapi::api::autoscaling::v2::{HorizontalPodAutoscalerBehavior, MetricSpec};
use k8s_openapi::api::core::v1 as core;
use manifests::{Plain, misfits};
use migrate::values::{Consequence, Path, Refused, at};
use serde_json::Value;
use settings::{CONFIG_KEYS, did_you_mean};

use crate::args::Cli;

/// The misfits of a value, by its type.
type Check = fn(&Value) -> Vec<(String, Option<String>)>;

/// Values that are fields of Kubernetes as they stand, below `controller` and `defaultBackend` where these have them.
const FIELDS: &[(&str, Check)] = &[
    ("affinity", misfits::<core::Affinity>),
    ("autoscaling.behavior", misfits::<HorizontalPodAutoscalerBehavior>),
    ("autoscalingTemplate", misfits::<Vec<MetricSpec>>),
    ("containerSecurityContext", misfits::<core::SecurityContext>),
    ("dnsConfig", misfits::<core::PodDNSConfig>),
    ("extraContainers", misfits::<Vec<core::Container>>),
    ("extraEnvs", misfits::<Vec<core::EnvVar>>),
    ("extraInitContainers", misfits::<Vec<core::Container>>),
    ("extraVolumeMounts", misfits::<Vec<core::VolumeMount>>),
    ("extraVolumes", misfits::<Vec<core::Volume>>),
    ("hostAliases", misfits::<Vec<core::HostAlias>>),
    ("image.seccompProfile", misfits::<core::SeccompProfile>),
    ("lifecycle", misfits::<core::Lifecycle>),
    ("livenessProbe", misfits::<core::Probe>),
    ("podSecurityContext", misfits::<core::PodSecurityContext>),
    ("readinessProbe", misfits::<core::Probe>),
    ("resources", misfits::<core::ResourceRequirements>),
    ("startupProbe", misfits::<core::Probe>),
    ("tolerations", misfits::<Vec<core::Toleration>>),
    ("topologySpreadConstraints", misfits::<Vec<core::TopologySpreadConstraint>>),
    ("updateStrategy", misfits::<DeploymentStrategy>),
];
/// The parts of the chart with Pods.
const PARTS: &[&str] = &["controller", "defaultBackend"];

/// All findings.
pub(super) fn findings(values: &Value) -> Vec<Refused> {
    let mut found: Vec<Refused> = PARTS.iter().flat_map(|part| fields(values, part)).collect();
    for (key, value) in map(values, &["controller", "config"]) {
        if !CONFIG_KEYS.iter().any(|entry| entry.name == key) {
            let hint = did_you_mean(key, CONFIG_KEYS.iter().map(|entry| entry.name));
            found.push(ineffective(&["controller", "config", key], value, format!("there is no such key of the ConfigMap{hint}")));
        }
    }
    for (flag, value) in map(values, &["controller", "extraArgs"]) {
        if let Some(wrong) = refused_flag(flag, value) {
            found.push(ineffective(&["controller", "extraArgs", flag], value, format!("the controller does not start: {wrong}")));
        }
    }
    for (path, known) in [(["global"].as_slice(), "image"), (["global", "image"].as_slice(), "registry")] {
        for (key, value) in map(values, path).filter(|(key, _)| *key != known) {
            // Charts above this one have values of their own there.
            if path.len() > 1 || !did_you_mean(key, std::iter::once(known)).is_empty() {
                let whole = [path, &[key]].concat();
                found.push(ineffective(&whole, value, format!("there is no such value{}", did_you_mean(key, std::iter::once(known)))));
            }
        }
    }
    found
}

/// Keys that are there twice: YAML says that no map has that, Helm takes the last.
pub(super) fn repeated(plain: &Plain, prefix: &[String], values: &Value) -> Vec<Refused> {
    let paths = plain.repeated.iter().filter_map(|path| path.strip_prefix(prefix));
    paths
        .map(|path| Refused {
            path: path.to_vec(),
            value: at(values, path).cloned().unwrap_or_default(),
            expected: "the key is there twice, and the last one counts".into(),
            consequence: Consequence::Ineffective,
        })
        .collect()
}

fn fields(values: &Value, part: &str) -> Vec<Refused> {
    let mut found = Vec::new();
    for (field, check) in FIELDS {
        let path: Path = std::iter::once(part).chain(field.split('.')).map(str::to_owned).collect();
        let Some(value) = at(values, &path).filter(|value| !value.is_null()) else { continue };
        for (below, fault) in check(value) {
            let expected = fault.unwrap_or_else(|| "Kubernetes has no such field".to_owned());
            let below = keys(&below);
            let value = below.iter().try_fold(value, inside).unwrap_or(value).clone();
            found.push(Refused { path: [path.clone(), below].concat(), value, expected, consequence: Consequence::Ineffective });
        }
    }
    found
}

/// The keys of a path of fields: `[0]`, `httpGet` and `port` of `[0].httpGet.port`. One with a key in quotes stays whole.
fn keys(path: &str) -> Path {
    if path.contains('"') {
        return vec![path.to_owned()];
    }
    path.replace('[', ".[").split('.').filter(|key| !key.is_empty()).map(str::to_owned).collect()
}

/// The value that a map or a list has at a key.
fn inside<'a>(value: &'a Value, key: &String) -> Option<&'a Value> {
    match key.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')?.parse::<usize>().ok()) {
        Some(number) => value.get(number),
        None => value.get(key),
    }
}

/// The message of the controller about a flag that it refuses. Templates of Helm are not known here.
fn refused_flag(flag: &str, value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) if text.contains("{{") => return None,
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let word = if text.is_empty() { format!("--{flag}") } else { format!("--{flag}={text}") };
    let error = Cli::try_parse_from(["narthex", "run", &word]).err()?.to_string();
    Some(error.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
}

fn map<'a>(values: &'a Value, path: &[&str]) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let path: Path = path.iter().map(|key| (*key).to_owned()).collect();
    let entries = at(values, &path).and_then(Value::as_object).into_iter().flatten();
    entries.map(|(key, value)| (key.as_str(), value))
}

fn ineffective(path: &[&str], value: &Value, expected: String) -> Refused {
    let path = path.iter().map(|key| (*key).to_owned()).collect();
    Refused { path, value: value.clone(), expected, consequence: Consequence::Ineffective }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(values: Value, expected: &[&str]) {
        let found: Vec<String> = findings(&values).iter().map(|one| format!("{} {}", one.path.join("."), one.expected)).collect();
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(|(found, expected)| found.starts_with(expected)),
            "{found:#?}"
        );
    }

    #[test]
    fn names_below_open_maps_are_checked() {
        check(
            json!({"controller": {"config": {"use-gzpi": true, "use-gzip": true}}}),
            &["controller.config.use-gzpi there is no such key of the ConfigMap, did you mean use-gzip?"],
        );
        check(
            json!({"controller": {"extraArgs": {"enable-ssl-passthrough": "", "v": 2, "http-prot": 81, "x": "{{ .Release.Name }}"}}}),
            &["controller.extraArgs.http-prot the controller does not start: unexpected argument '--http-prot'"],
        );
        check(
            json!({"global": {"imgae": {}, "other": 1, "image": {"registy": "x", "registry": "y"}}}),
            &[
                "global.imgae there is no such value, did you mean image?",
                "global.image.registy there is no such value, did you mean registry?",
            ],
        );
        check(
            json!({"controller": {"resources": {"limts": {"cpu": 1}}, "tolerations": [{"kee": "a"}]}, "defaultBackend": {"affinity": {"podAfinity": {}}}}),
            &[
                "controller.resources.limts Kubernetes has no such field",
                "controller.tolerations.[0].kee Kubernetes has no such field",
                "defaultBackend.affinity.podAfinity Kubernetes has no such field",
            ],
        );
        check(json!({"controller": {"livenessProbe": {"timeoutSeconds": "soon"}}}), &["controller.livenessProbe.timeoutSeconds "]);
    }
}
