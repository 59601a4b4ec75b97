//! Which objects the values make, and what is in them: one case for each condition.

mod backend;
mod cleanup;
mod console;
mod controller;
mod services;

use anyhow::{Context, ensure};
use e2e::helm::{Helm, side_by_side};
use serde_json::{Value, json};
use testkit::bed::Bed;

/// What the chart makes without any values.
const USUAL: [&str; 16] = [
    "ClusterRole narthex",
    "ClusterRole narthex-admission",
    "ClusterRoleBinding narthex",
    "ClusterRoleBinding narthex-admission",
    "ConfigMap narthex-controller",
    "Deployment narthex-controller",
    "IngressClass nginx",
    "Role narthex",
    "Role narthex-admission",
    "RoleBinding narthex",
    "RoleBinding narthex-admission",
    "Secret narthex-admission-certificate",
    "Service narthex-controller",
    "Service narthex-controller-admission",
    "ServiceAccount narthex",
    "ValidatingWebhookConfiguration narthex-admission",
];

/// Where the container's arguments are in a workload.
const ARGS: &str = "/spec/template/spec/containers/0/args/*";

/// Values of a release with the name narthex, and what they change.
struct Case {
    values: Value,
    adds: Vec<&'static str>,
    drops: Vec<&'static str>,
    fields: Vec<(&'static str, &'static str, Value)>,
}

fn case(values: Value) -> Case {
    Case { values, adds: Vec::new(), drops: Vec::new(), fields: Vec::new() }
}

impl Case {
    /// Objects beside the usual ones: kind and name.
    fn adds(mut self, objects: &[&'static str]) -> Self {
        self.adds.extend(objects);
        self
    }

    /// Usual objects that are not made.
    fn drops(mut self, objects: &[&'static str]) -> Self {
        self.drops.extend(objects);
        self
    }

    /// A field, as a JSON pointer; `null`: absent. With `/*` at its end: an item of an array.
    fn has(mut self, object: &'static str, pointer: &'static str, value: Value) -> Self {
        self.fields.push((object, pointer, value));
        self
    }

    fn check(&self, helm: &Helm) -> anyhow::Result<()> {
        let objects = helm.render("narthex", &self.values)?;
        let name = |object: &kube::api::DynamicObject| {
            let kind = object.types.as_ref().map(|types| types.kind.as_str()).unwrap_or_default();
            format!("{kind} {}", object.metadata.name.as_deref().unwrap_or_default())
        };
        let mut expected: Vec<&str> = USUAL.iter().filter(|usual| !self.drops.contains(usual)).chain(&self.adds).copied().collect();
        expected.sort_unstable();
        let mut names: Vec<String> = objects.iter().map(name).collect();
        names.sort_unstable();
        ensure!(names == expected, "objects: {names:?}, expected {expected:?}");
        for (object, pointer, value) in &self.fields {
            let found = objects.iter().find(|found| name(found) == *object).with_context(|| format!("no {object}"))?;
            let found = serde_json::to_value(found)?;
            let (pointer, item) = pointer.strip_suffix("/*").map_or((*pointer, false), |array| (array, true));
            let field = found.pointer(pointer).unwrap_or(&Value::Null);
            let is = if item { field.as_array().is_some_and(|array| array.contains(value)) } else { field == value };
            ensure!(is, "{object} {pointer}: {field}, expected {value}");
        }
        Ok(())
    }
}

fn check(cases: &[Case]) -> anyhow::Result<()> {
    let helm = Helm::of(&Bed::from_env()?)?;
    side_by_side(cases, |case| case.check(&helm).with_context(|| case.values.to_string()))
}

#[test]
fn names_and_labels_are_as_in_the_chart_of_the_predecessor() -> anyhow::Result<()> {
    check(&[
        case(json!({})).has(
            "Deployment narthex-controller",
            "/spec/selector/matchLabels",
            json!({"app.kubernetes.io/name": "narthex", "app.kubernetes.io/instance": "narthex", "app.kubernetes.io/component": "controller"}),
        ),
        case(json!({"controller": {"name": "edge"}}))
            .adds(&["ConfigMap narthex-edge", "Deployment narthex-edge", "Service narthex-edge", "Service narthex-edge-admission"])
            .drops(&["ConfigMap narthex-controller", "Deployment narthex-controller"])
            .drops(&["Service narthex-controller", "Service narthex-controller-admission"])
            .has("Deployment narthex-edge", ARGS, json!("--publish-service=$(POD_NAMESPACE)/narthex-edge"))
            .has("Deployment narthex-edge", ARGS, json!("--configmap=$(POD_NAMESPACE)/narthex-edge")),
        case(json!({"namespaceOverride": "there", "commonLabels": {"team": "web"}}))
            .has("Service narthex-controller", "/metadata/namespace", json!("there"))
            .has("Service narthex-controller", "/metadata/labels/team", json!("web"))
            .has("Deployment narthex-controller", "/spec/template/metadata/labels/team", json!("web"))
            .has("Deployment narthex-controller", "/spec/selector/matchLabels/team", Value::Null)
            .has("ClusterRole narthex", "/metadata/labels/team", json!("web")),
        // Workload, Pods and most objects have controller.labels; Services and the ClusterRole's component are without.
        case(json!({"controller": {"labels": {"part": "edge"}, "metrics": {"enabled": true}}}))
            .adds(&["Service narthex-controller-metrics"])
            .has("Deployment narthex-controller", "/metadata/labels/part", json!("edge"))
            .has("Deployment narthex-controller", "/spec/template/metadata/labels/part", json!("edge"))
            .has("ConfigMap narthex-controller", "/metadata/labels/part", json!("edge"))
            .has("IngressClass nginx", "/metadata/labels/part", json!("edge"))
            .has("ClusterRole narthex", "/metadata/labels/part", json!("edge"))
            .has("ClusterRole narthex", "/metadata/labels/app.kubernetes.io~1component", Value::Null)
            .has("Service narthex-controller", "/metadata/labels/part", Value::Null)
            .has("Service narthex-controller", "/metadata/labels/app.kubernetes.io~1component", json!("controller"))
            .has("Service narthex-controller-metrics", "/metadata/labels/part", Value::Null),
        case(json!({"serviceAccount": {"create": false}}))
            .drops(&["ServiceAccount narthex"])
            .has("Deployment narthex-controller", "/spec/template/spec/serviceAccountName", json!("default")),
    ])
}

#[test]
fn a_release_of_the_predecessor_keeps_its_names() -> anyhow::Result<()> {
    let helm = Helm::of(&Bed::from_env()?)?;
    let values = json!({"nameOverride": "ingress-nginx", "defaultBackend": {"enabled": true}});
    let objects = helm.render("ingress-nginx", &values)?;
    let mut names: Vec<_> = objects.iter().filter_map(|object| object.metadata.name.clone()).collect();
    names.sort_unstable();
    names.dedup();
    let expected = [
        "ingress-nginx",
        "ingress-nginx-admission",
        // Of our own: the Job's Secret stays behind without an owner, and Helm would refuse to take it over.
        "ingress-nginx-admission-certificate",
        "ingress-nginx-backend",
        "ingress-nginx-controller",
        "ingress-nginx-controller-admission",
        "ingress-nginx-defaultbackend",
        "nginx",
    ];
    ensure!(names == expected, "{names:?}");
    Ok(())
}
