//! The chart and API servers of several versions of Kubernetes: the default one, and those that `make bed-versions` has built.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};
use e2e::helm::{Helm, chart, side_by_side};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use testkit::bed::Bed;
use testkit::poll;

/// Kinds of other projects that the chart makes: group, version, plural, kind.
const FOREIGN: [(&str, &str, &str, &str); 5] = [
    ("monitoring.coreos.com", "v1", "servicemonitors", "ServiceMonitor"),
    ("monitoring.coreos.com", "v1", "prometheusrules", "PrometheusRule"),
    ("keda.sh", "v1alpha1", "scaledobjects", "ScaledObject"),
    ("cert-manager.io", "v1", "issuers", "Issuer"),
    ("cert-manager.io", "v1", "certificates", "Certificate"),
];

fn sets() -> anyhow::Result<Vec<Value>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chart/values/sets.yaml");
    let list = testkit::kube::documents(&std::fs::read_to_string(path)?)?.into_iter().next().context("a document")?;
    Ok(list.as_array().context("a list")?.clone())
}

/// Versions beside the default one that tests/bed pins.
fn pinned() -> anyhow::Result<Vec<String>> {
    let bed = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bed");
    let names = std::fs::read_dir(bed)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let names: Vec<String> = names.collect::<anyhow::Result<_>>()?;
    Ok(names.iter().filter_map(|name| name.strip_prefix("kubernetes-").map(str::to_owned)).collect())
}

async fn define_foreign(bed: &Bed) -> anyhow::Result<()> {
    let api: Api<CustomResourceDefinition> = Api::all(bed.client().await?);
    for (group, version, plural, kind) in FOREIGN {
        let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
        let definition = json!({"metadata": {"name": format!("{plural}.{group}")}, "spec": {
            "group": group, "scope": "Namespaced", "names": {"plural": plural, "kind": kind},
            "versions": [{"name": version, "served": true, "storage": true, "schema": schema}],
        }});
        api.create(&PostParams::default(), &serde_json::from_value(definition)?).await?;
    }
    poll(e2e::PATIENCE, || async {
        for definition in api.list(&Default::default()).await?.items {
            let conditions = definition.status.and_then(|status| status.conditions).unwrap_or_default();
            ensure!(conditions.iter().any(|condition| condition.type_ == "Established" && condition.status == "True"), "{conditions:?}");
        }
        Ok(())
    })
    .await
}

/// Asks the API server about every set: Helm with its capabilities, and all objects as if they were stored, with unknown fields as errors.
async fn ask(bed: &Bed) -> anyhow::Result<()> {
    define_foreign(bed).await?;
    let (helm, sets) = (Helm::of(bed)?, sets()?);
    ensure!(sets.len() == 32, "{} sets", sets.len());
    let chart = chart();
    side_by_side(&sets, |set| {
        let install = ["install", "edge", &chart.to_string_lossy(), "--namespace", "default", "--dry-run=server", "--output=json"];
        let asked = helm.run(&install, &set["values"]).with_context(|| set["name"].to_string())?;
        let release: Value = serde_json::from_str(&asked)?;
        let mut manifest = release["manifest"].as_str().context("a manifest")?.to_owned();
        for hook in release["hooks"].as_array().into_iter().flatten() {
            manifest += &format!("\n---\n{}", hook["manifest"].as_str().context("the manifest of a hook")?);
        }
        let stored = create(bed, &manifest).with_context(|| set["name"].to_string())?;
        ensure!(stored.lines().count() == manifest.matches("\nkind: ").count(), "{}: {stored}", set["name"]);
        Ok(())
    })
}

/// The names of what would be stored.
fn create(bed: &Bed, manifest: &str) -> anyhow::Result<String> {
    let mut command = Command::new(bed.info().binaries.join("kubectl"));
    command.args(["create", "--dry-run=server", "--validate=strict", "--output=name", "--filename=-"]);
    command.env("KUBECONFIG", bed.kubeconfig()).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    std::io::Write::write_all(&mut child.stdin.take().context("a pipe")?, manifest.as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(String::from_utf8(output.stdout)?)
}

#[tokio::test]
async fn the_default_version_takes_every_set_of_values() -> anyhow::Result<()> {
    ask(&Bed::start_private().await?).await
}

#[tokio::test]
async fn an_older_and_a_newer_version_take_them_as_well() -> anyhow::Result<()> {
    let built = Bed::from_env()?.versions()?;
    for version in pinned()? {
        if !built.contains(&version) {
            eprintln!("Kubernetes {version} is left out: its API server is not built (`make bed-versions`)");
            continue;
        }
        let bed = Bed::start_version(&version).await?;
        let running = bed.client().await?.apiserver_version().await?;
        ensure!(format!("{}.{}", running.major, running.minor) == version, "{running:?} is not {version}");
        ask(&bed).await.with_context(|| format!("Kubernetes {version}"))?;
    }
    Ok(())
}
