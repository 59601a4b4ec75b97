//! Moves of `narthex switch`, its stops, and its way back.

use std::collections::BTreeMap;

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, ensure_class};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::{ListParams, ObjectMeta};
use serde_json::{Value, json};
use testkit::kube::{PathType, mk_ingress, mk_ingress_class, mk_service};
use testkit::poll;

use super::sides::{address, class, narthex, rule, start, switch};

const ANNOTATION: &str = "kubernetes.io/ingress.class";

/// Every Ingress of the case, without what the server keeps books with and without status.
async fn objects(case: &Case) -> anyhow::Result<BTreeMap<String, Value>> {
    let list = case.namespace.api::<Ingress>().list(&ListParams::default()).await?;
    let mut objects = BTreeMap::new();
    for ingress in list.items {
        let mut object = json!(ingress);
        object["status"] = Value::Null;
        for field in ["resourceVersion", "managedFields", "generation"] {
            object["metadata"][field] = Value::Null;
        }
        objects.insert(ingress.metadata.name.unwrap_or_default(), object);
    }
    Ok(objects)
}

/// The class of each, by name.
async fn classes(case: &Case) -> anyhow::Result<Vec<String>> {
    let found = objects(case).await?.into_values().map(|object| {
        let name = object["spec"]["ingressClassName"].as_str().or(object["metadata"]["annotations"][ANNOTATION].as_str());
        name.unwrap_or_default().to_owned()
    });
    Ok(found.collect())
}

async fn settings(case: &Case, side: &str, data: &[(&str, &str)]) -> anyhow::Result<()> {
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let metadata = ObjectMeta { name: Some(format!("settings-{side}")), ..Default::default() };
    case.create(&ConfigMap { metadata, data: Some(data), ..Default::default() }).await?;
    Ok(())
}

async fn make_classes(case: &Case) -> anyhow::Result<(String, String)> {
    let (old, new) = (class(case, "old"), class(case, "new"));
    for name in [&old, &new] {
        ensure_class(&case.namespace, mk_ingress_class(name, &format!("example.com/{name}"))).await?;
    }
    Ok((old, new))
}

/// Hosts `a` to `d` of the old class; `b` has it in the annotation, and `c` has a snippet, which only the old controller allows.
async fn four(case: &Case) -> anyhow::Result<()> {
    for host in ["a.example", "c.example", "d.example"] {
        let ingress = rule(case, "old", host).annotation("example.com/note", "kept as it is");
        case.create(&if host == "c.example" { ingress.annotation("configuration-snippet", "return 202;") } else { ingress }.build())
            .await?;
    }
    let annotated = mk_ingress("b.example-old").annotation(ANNOTATION, &class(case, "old")).host("b.example");
    case.create(&annotated.path("/", PathType::Prefix, "echo", 80).build()).await?;
    settings(case, "old", &[("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")]).await?;
    settings(case, "new", &[]).await
}

async fn both(case: &Case) -> anyhow::Result<(Controller, Controller)> {
    Ok((start(case, "old").await?, start(case, "new").await?))
}

#[tokio::test]
async fn switch_moves_in_steps_stops_at_a_regression_and_goes_back_to_the_same_objects() -> anyhow::Result<()> {
    let case = Case::new("switch-steps").await?;
    let _servers = case.echo(1).await?;
    four(&case).await?;
    let (one, other) = both(&case).await?;
    one.until("d.example", "/", 200).await?;
    one.until("c.example", "/", 202).await?;
    let (old, new) = (class(&case, "old"), class(&case, "new"));
    let before = objects(&case).await?;
    let (at, to) = (address(&one), address(&other));
    let move_all = ["--to", &new, "--from", &old, "--namespace", case.ns(), "--batch", "1", "--old", &at, "--new", &to];

    let (code, result) = switch(&case, &[&move_all[..], &["--dry-run"]].concat()).await?;
    assert_eq!((code, &result["end"], objects(&case).await?), (Some(0), &json!("plan"), before.clone()));

    // Long enough for the steps before on a busy machine; the regression takes all of it.
    let (code, result) = switch(&case, &[&move_all[..], &["--settle", "10s"]].concat()).await?;
    assert_eq!((code, &result["end"], &result["status"]), (Some(1), &json!("regression"), &json!("stopped")), "{result:#}");
    let reason = result["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("http://c.example/: status 202 -> 404"), "{reason}");
    assert_eq!(classes(&case).await?, [new.as_str(), new.as_str(), new.as_str(), old.as_str()]);
    other.until("a.example", "/", 200).await?;
    let undo = result["undo"].as_str().unwrap_or_default().to_owned();
    let id = result["id"].as_str().unwrap_or_default();
    assert!(undo.starts_with(&format!("narthex switch --rollback {id} --record-namespace")), "{undo}");

    let (code, result) = switch(&case, &["--rollback", id]).await?;
    assert_eq!((code, &result["restored"], &result["status"]), (Some(0), &json!(3), &json!("rolled-back")), "{result:#}");
    assert_eq!(objects(&case).await?, before);
    one.until("c.example", "/", 202).await?;

    // What is allowed now is no regression any more.
    case.patch::<ConfigMap>("settings-new", json!({"data": {"allow-snippet-annotations": "true", "annotations-risk-level": "Critical"}}))
        .await?;
    let (code, result) = switch(&case, &move_all).await?;
    assert_eq!((code, &result["end"]), (Some(0), &json!("done")), "{result:#}");
    assert_eq!(classes(&case).await?, [new.as_str(), new.as_str(), new.as_str(), new.as_str()]);
    let (code, result) = switch(&case, &move_all).await?;
    assert_eq!((code, &result["end"]), (Some(0), &json!("nothing")), "{result:#}");
    switch(&case, &["--rollback"]).await?;
    assert_eq!(objects(&case).await?, before);
    Ok(())
}

#[tokio::test]
async fn switch_does_not_bring_back_what_somebody_else_changed_meanwhile() -> anyhow::Result<()> {
    let case = Case::new("switch-conflict").await?;
    let (old, new) = make_classes(&case).await?;
    for host in ["a.example", "b.example", "c.example"] {
        case.create(&rule(&case, "old", host).build()).await?;
    }
    let (code, _) = switch(&case, &["--to", &new, "--from", &old, "--namespace", case.ns()]).await?;
    assert_eq!((code, classes(&case).await?), (Some(0), vec![new.clone(), new.clone(), new.clone()]));
    case.patch::<Ingress>("b.example-old", json!({"spec": {"ingressClassName": "third"}})).await?;
    case.patch::<Ingress>("c.example-old", json!({"metadata": {"labels": {"somebody": "else"}}})).await?;

    let (code, result) = switch(&case, &["--rollback"]).await?;
    assert_eq!((code, &result["end"], &result["restored"]), (Some(1), &json!("conflict"), &json!(2)), "{result:#}");
    let conflict =
        json!([{"object": format!("Ingress {}/b.example-old", case.ns()), "reason": "it was set to third meanwhile, not by this switch"}]);
    assert_eq!(result["conflicts"], conflict);
    assert_eq!(classes(&case).await?, [old.as_str(), "third", old.as_str()]);
    assert_eq!(objects(&case).await?["c.example-old"]["metadata"]["labels"], json!({"somebody": "else"}));

    let (code, result) = switch(&case, &["--rollback", "--force"]).await?;
    assert_eq!((code, &result["restored"]), (Some(0), &json!(1)), "{result:#}");
    assert_eq!(classes(&case).await?, vec![old.clone(), old.clone(), old]);
    Ok(())
}

#[tokio::test]
async fn switch_goes_on_after_an_interruption_from_its_record_alone() -> anyhow::Result<()> {
    let case = Case::new("switch-resume").await?;
    let (old, new) = make_classes(&case).await?;
    for host in ["a.example", "b.example", "c.example"] {
        case.create(&rule(&case, "old", host).build()).await?;
    }
    let before = objects(&case).await?;
    let kubeconfig = format!("--kubeconfig={}", case.bed.kubeconfig().display());
    let plan = ["--to", &new, "--from", &old, "--namespace", case.ns(), "--batch", "1"];
    let first = [&["switch", &kubeconfig, "--record-namespace", case.ns(), "--yes", "--pause", "1h"][..], &plan].concat();
    let running = tokio::process::Command::new(std::env::var_os("NARTHEX_BIN").unwrap_or_default())
        .args(&first)
        .stdin(std::process::Stdio::null())
        .kill_on_drop(true)
        .spawn()?;
    poll(PATIENCE, || async {
        let record = record(&case).await?;
        ensure!(record["entries"][0]["state"] == "checked", "{record:#}");
        Ok(())
    })
    .await?;
    drop(running);
    assert_eq!(classes(&case).await?, [new.as_str(), old.as_str(), old.as_str()]);

    let id = record(&case).await?["id"].clone();
    let (code, result) = switch(&case, &plan).await?;
    assert_eq!((code, &result["id"], &result["end"]), (Some(0), &id, &json!("done")), "{result:#}");
    assert_eq!(classes(&case).await?, [new.as_str(), new.as_str(), new.as_str()]);
    let (_, result) = switch(&case, &["--rollback"]).await?;
    assert_eq!((&result["restored"], objects(&case).await?), (&json!(3), before));
    Ok(())
}

/// The only record of a switch.
async fn record(case: &Case) -> anyhow::Result<Value> {
    let maps = case.namespace.api::<ConfigMap>().list(&ListParams::default().labels("narthex.io/record=switch")).await?;
    ensure!(maps.items.len() == 1, "{} records", maps.items.len());
    let data = maps.items[0].data.clone().unwrap_or_default();
    Ok(serde_json::from_str(data.get("record.json").map(String::as_str).unwrap_or_default())?)
}

#[tokio::test]
async fn switch_moves_a_service_when_both_controllers_answer_alike() -> anyhow::Result<()> {
    let case = Case::new("switch-service").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule(&case, "one", "a.example").build()).await?;
    let (old, new) = (start(&case, "one").await?, start(&case, "one").await?);
    let bare = start(&case, "other").await?;
    for controller in [&old, &new] {
        controller.until("a.example", "/", 200).await?;
    }
    case.create(&mk_service("front", 80, 8080, Some("old"))).await?;
    let selector = || async { anyhow::Ok(case.namespace.api::<Service>().get("front").await?.spec.and_then(|spec| spec.selector)) };
    let before = selector().await?;
    let name = format!("{}/front", case.ns());
    let one = class(&case, "one");
    let (at, to, wrong) = (address(&old), address(&new), address(&bare));
    pod(&case, "new-0", &json!({"app": "new", "tier": "edge"}), true).await?;
    let turn = ["--service", &name, "--to-selector", "app=new,tier=edge", "--class", &one, "--old", &at];

    let (code, result) = switch(&case, &[&turn[..], &["--new", &wrong]].concat()).await?;
    assert_eq!((code, &result["end"], selector().await?), (Some(1), &json!("regression"), before.clone()), "{result:#}");

    let file = tempfile::tempdir()?;
    let file = file.path().join("record.json").display().to_string();
    let command = "test \"$NARTHEX_STEP\" = 1";
    let (code, result) = switch(&case, &[&turn[..], &["--new", &to, "--check-command", command, "--record", &file]].concat()).await?;
    assert_eq!((code, &result["end"]), (Some(0), &json!("done")), "{result:#}");
    let expected = BTreeMap::from([("app".to_owned(), "new".to_owned()), ("tier".to_owned(), "edge".to_owned())]);
    assert_eq!(selector().await?, Some(expected));

    // The file is enough.
    let id = result["id"].as_str().unwrap_or_default().to_owned();
    case.delete::<ConfigMap>(&format!("narthex-switch-{id}")).await?;
    let (code, result) = switch(&case, &["--rollback", &id, "--record", &file]).await?;
    assert_eq!((code, selector().await?), (Some(0), before), "{result:#}");
    Ok(())
}

/// A Pod with these labels, when its readiness shows.
async fn pod(case: &Case, name: &str, labels: &Value, ready: bool) -> anyhow::Result<()> {
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {"name": name, "labels": labels, "annotations": {"echo.narthex.dev/ready": ready.to_string()}},
        "spec": {"containers": [{"name": "echo", "image": "echo"}]},
    }))?;
    case.create(&pod).await?;
    poll(PATIENCE, || async {
        let status = json!(case.namespace.api::<Pod>().get(name).await?.status);
        let seen = status["conditions"]
            .as_array()
            .is_some_and(|all| all.iter().any(|found| found["type"] == "Ready" && found["status"] == if ready { "True" } else { "False" }));
        ensure!(seen, "{status:#}");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn switch_refuses_a_selector_without_a_ready_pod_and_a_class_that_does_not_exist() -> anyhow::Result<()> {
    let case = Case::new("switch-meant").await?;
    let (old, new) = make_classes(&case).await?;
    case.create(&rule(&case, "old", "a.example").build()).await?;
    case.create(&rule(&case, "new", "b.example").build()).await?;
    case.create(&mk_service("front", 80, 8080, Some("old"))).await?;
    let kubeconfig = format!("--kubeconfig={}", case.bed.kubeconfig().display());
    let run = async |args: &[&str]| {
        let output = narthex(&[&["switch", &kubeconfig, "--record-namespace", case.ns()], args].concat()).await?;
        anyhow::Ok((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
    };
    let front = format!("{}/front", case.ns());
    for mode in ["--yes", "--dry-run"] {
        let (code, text) = run(&["--service", &front, "--to-selector", "app=nope", mode]).await?;
        assert!(code == Some(1) && text.contains("--to-selector app=nope: no Pod in the namespace"), "{mode} {text}");
    }
    pod(&case, "idle", &json!({"app": "idle"}), false).await?;
    let (code, text) = run(&["--service", &front, "--to-selector", "app=idle", "--yes"]).await?;
    assert!(code == Some(1) && text.contains("none of the Pods with these labels is ready (idle)"), "{text}");
    let selector = case.namespace.api::<Service>().get("front").await?.spec.and_then(|spec| spec.selector);
    assert_eq!(selector, Some(BTreeMap::from([("app".to_owned(), "old".to_owned())])));

    let typo = format!("{old}x");
    let (code, text) = run(&["--to", &new, "--from", &typo, "--namespace", case.ns(), "--yes"]).await?;
    assert!(code == Some(1) && text.contains(&format!("did you mean {old}?")) && text.contains("(1 Ingress)"), "{text}");
    let (code, text) = run(&["--to", &new, "--from", &old, "--namespace", "no-such-namespace", "--yes"]).await?;
    assert!(code == Some(1) && text.contains("in the namespace no-such-namespace"), "{text}");
    // What is done is done, however often it is said.
    let plan = ["--to", &new, "--from", &old, "--namespace", case.ns(), "--yes"];
    assert_eq!(run(&plan).await?.0, Some(0));
    assert_eq!(run(&plan).await?.0, Some(0));
    Ok(())
}

#[tokio::test]
async fn switch_asks_before_it_moves_and_knows_what_there_is() -> anyhow::Result<()> {
    let case = Case::new("switch-usage").await?;
    let (old, new) = make_classes(&case).await?;
    case.create(&rule(&case, "old", "a.example").build()).await?;
    let kubeconfig = format!("--kubeconfig={}", case.bed.kubeconfig().display());
    let run = async |args: &[&str]| {
        let output = narthex(&[&["switch", &kubeconfig, "--record-namespace", case.ns()], args].concat()).await?;
        anyhow::Ok((output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned()))
    };
    let (code, text) = run(&["--to", &new, "--from", &old, "--namespace", case.ns()]).await?;
    assert!(code == Some(2) && text.contains("Move 1 Ingress in 1 step") && text.contains("--yes"), "{text}");
    let (code, text) = run(&["--to", "nowhere", "--from", &old, "--namespace", case.ns(), "--yes"]).await?;
    assert!(code == Some(1) && text.contains("there is no IngressClass of this name"), "{text}");
    let (code, text) = run(&["--rollback", "--yes"]).await?;
    assert!(code == Some(1) && text.contains("no switch is recorded in the namespace"), "{text}");
    for wrong in
        [&["--yes"][..], &["--to", "a", "--service", "a/b", "--to-selector", "a=b"], &["--service", "a/b"], &["--to", "a", "--old", "b"]]
    {
        let (code, text) = run(wrong).await?;
        assert_eq!(code, Some(2), "{wrong:?} {text}");
    }
    assert_eq!(classes(&case).await?, [old]);
    Ok(())
}
