//! `narthex migrate values`, held against what Helm makes of the same files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, ensure};
use e2e::helm::{Helm, chart};
use serde_json::{Value, json};
use testkit::bed::Bed;

/// A values file of the chart's tests.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chart/values").join(name)
}

fn read(path: &Path) -> anyhow::Result<Value> {
    testkit::kube::documents(&std::fs::read_to_string(path)?)?.into_iter().next().context("a document")
}

/// `narthex migrate values - WORDS`, with these values on standard input.
fn review(values: &Value, words: &[&str]) -> anyhow::Result<Output> {
    let mut command = Command::new(std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN")?);
    let command = command.args(["migrate", "values", "-"]).args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    child.stdin.take().context("a pipe")?.write_all(values.to_string().as_bytes())?;
    Ok(child.wait_with_output()?)
}

/// Its answer as JSON, and its exit code.
fn found(values: &Value) -> anyhow::Result<(Value, Option<i32>)> {
    let output = review(values, &["-o", "json"])?;
    Ok((
        serde_json::from_slice(&output.stdout).with_context(|| String::from_utf8_lossy(&output.stderr).into_owned())?,
        output.status.code(),
    ))
}

fn paths(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|one| one["path"].as_str()).collect()
}

#[test]
fn the_shorter_file_renders_the_same_objects() -> anyhow::Result<()> {
    let helm = Helm::of(&Bed::from_env()?)?;
    for name in ["ingress-nginx.yaml", "deployment.yaml", "daemonset.yaml"] {
        let values = read(&file(name))?;
        let output = review(&values, &["-o", "yaml"])?;
        ensure!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        let shorter = testkit::kube::documents(&String::from_utf8(output.stdout)?)?.into_iter().next().context("a document")?;
        ensure!(shorter.to_string().len() <= values.to_string().len(), "{name}: {shorter}");
        ensure!(helm.manifest("edge", &shorter)? == helm.manifest("edge", &values)?, "{name}: {shorter:#}");
    }
    Ok(())
}

#[test]
fn the_default_file_of_the_predecessor_is_taken_and_what_differs_is_said() -> anyhow::Result<()> {
    let (found, code) = found(&read(&file("ingress-nginx.yaml"))?)?;
    ensure!(code == Some(0) && found["errors"] == json!([]) && found["count"] == 345, "{found:#}");
    let idle = paths(&found["idle"]);
    for path in ["controller.image.image", "controller.image.digestChroot", "controller.admissionWebhooks.patch.image.tag"] {
        ensure!(idle.contains(&path), "{path}: {idle:?}");
    }
    // The file sets them, so that no default counts.
    ensure!(found["defaults"] == json!([]), "{found:#}");
    let (empty, _) = self::found(&json!({}))?;
    ensure!(paths(&empty["defaults"]).contains(&"global.image.registry"), "{empty:#}");
    Ok(())
}

#[test]
fn every_value_without_a_meaning_is_named_with_the_reason() -> anyhow::Result<()> {
    let list = read(&chart().join("values.idle.yaml"))?;
    let (mut values, mut expected) = (json!({}), Vec::new());
    for entry in list["idle"].as_array().context("a list")? {
        let path = entry["path"].as_str().context("a path")?;
        let other = match &entry["default"] {
            Value::Bool(value) => json!(!value),
            Value::Array(_) => json!([{"name": "other"}]),
            Value::Object(map) if map.contains_key("enabled") => json!({"enabled": true}),
            Value::Object(map) if map.contains_key("name") => json!({"name": "other"}),
            Value::Object(map) if map.contains_key("tag") => json!({"tag": "other"}),
            Value::Object(map) if map.contains_key("configMapName") => json!({"configMapName": "other"}),
            Value::Object(_) => json!({"other": "other"}),
            _ if path.to_lowercase().contains("digest") => json!(format!("sha256:{}", "7".repeat(64))),
            _ => json!("other"),
        };
        expected.push(path);
        e2e::rollout::merge(&mut values, path.rsplit('.').fold(other, |value, key| json!({key: value})));
    }
    let (found, code) = found(&values)?;
    ensure!(code == Some(0) && found["values"] == json!({}), "{found:#}");
    let idle = paths(&found["idle"]);
    for path in &expected {
        ensure!(idle.iter().any(|found| found.starts_with(path)), "{path}: {idle:?}");
    }
    let reasons: Vec<&Value> = found["idle"].as_array().context("a list")?.iter().map(|one| &one["reason"]).collect();
    ensure!(idle.len() == expected.len() && reasons.iter().all(|reason| reason.as_str().is_some_and(|text| !text.is_empty())), "{found:#}");
    Ok(())
}

#[test]
fn names_below_open_maps_are_checked() -> anyhow::Result<()> {
    let values = json!({
        "controller": {
            "config": {"use-gzpi": "true"}, "extraArgs": {"enable-ssl-passthru": "true"}, "resources": {"limts": {"cpu": 1}},
            "tolerations": [{"kee": "a"}],
        },
        "global": {"image": {"registy": "r.example.com"}},
    });
    // Helm takes it.
    Helm::of(&Bed::from_env()?)?.manifest("edge", &values)?;
    let (found, code) = found(&values)?;
    let expected = [
        "controller.config.use-gzpi",
        "controller.extraArgs.enable-ssl-passthru",
        "controller.resources.limts",
        "controller.tolerations[0].kee",
        "global.image.registy",
    ];
    ensure!(code == Some(1) && paths(&found["errors"]) == expected, "{found:#}");
    let text = String::from_utf8(review(&values, &[])?.stdout)?;
    ensure!(
        text.contains(
            "controller.config.use-gzpi (line 1): \"true\" (a text); there is no such key of the ConfigMap, did you mean use-gzip?"
        ),
        "{text}"
    );
    ensure!(text.contains("Without effect, or refused later") && !text.contains("The file with the same meaning"), "{text}");
    Ok(())
}

#[test]
fn what_helm_refuses_is_listed_so_that_a_person_understands_it() -> anyhow::Result<()> {
    let helm = Helm::of(&Bed::from_env()?)?;
    let cases = [
        (json!({"controller": {"replicaCount": "two"}}), "controller.replicaCount", "expected a whole number"),
        (json!({"controller": {"kind": "Pod"}}), "controller.kind", "one of"),
        (json!({"controller": {"replicaCuont": 2}}), "controller.replicaCuont", "did you mean replicaCount?"),
        (json!({"controller": {"service": {"nodePorts": {"http": 70000}}}}), "controller.service.nodePorts.http", "from 1 to 65535"),
        (
            json!({"controller": {"config": {"use-gzip": {"a": 1}}}}),
            "controller.config.use-gzip",
            "expected a text or a number or true or false",
        ),
        (json!({"tcp": {"http": "a/b:1"}}), "tcp.http", "expected a name"),
        (json!({"commonLabels": {"a": 1}}), "commonLabels.a", "expected a text"),
        (json!({"controller": {"tolerations": {"key": "a"}}}), "controller.tolerations", "expected a list"),
    ];
    for (values, path, expected) in &cases {
        let refusal = helm.manifest("edge", values).err().context("Helm takes it")?.to_string();
        ensure!(refusal.contains("schema"), "{refusal}");
        let (found, code) = found(values)?;
        let error = &found["errors"][0];
        ensure!(code == Some(1) && error["path"] == *path && error["kind"] == "refused", "{values}: {found:#}");
        ensure!(error["expected"].as_str().is_some_and(|text| text.contains(expected)), "{error}");
        let short = review(values, &["-o", "yaml"])?;
        ensure!(short.stdout.is_empty() && String::from_utf8_lossy(&short.stderr).contains(path), "{short:?}");
    }
    Ok(())
}

#[test]
fn a_file_is_read_as_helm_reads_it_and_what_is_no_yaml_is_wrong_usage() -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let path = scratch.path().join("values.yaml");
    let run = |words: &[&str]| {
        anyhow::Ok(
            Command::new(std::env::var_os("NARTHEX_BIN").context("NARTHEX_BIN")?)
                .args(["migrate", "values"])
                .args(words)
                .arg(&path)
                .output()?,
        )
    };
    std::fs::write(&path, "edge:\n  controller:\n    kind: DaemonSet\n    replicaCuont: 2\n  controller:\n    kind: DaemonSet\n")?;
    // The values of a chart above this one; a key that is there twice.
    let output = run(&["--below", "edge"])?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    ensure!(output.status.code() == Some(1) && text.contains("controller (line 5): ") && text.contains("the key is there twice"), "{text}");
    ensure!(run(&[])?.status.code() == Some(1));
    for (text, expected) in [("a: [\n", "line "), ("a: 1\n---\nb: 1\n", "a second document")] {
        std::fs::write(&path, text)?;
        let output = run(&[])?;
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        ensure!(output.status.code() == Some(2) && error.contains(expected) && error.contains("values.yaml"), "{error}");
    }
    Ok(())
}
