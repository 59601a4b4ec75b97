//! `narthex rollout` as the chart installs it: its arguments, its ServiceAccount, its rights.

use e2e::Case;
use e2e::helm::{Release, alone, rights};
use e2e::receiver::Receiver;
use e2e::rollout::{Kind, Rollout, Wanted, deployment, merge};
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::{ListParams, Patch};
use serde_json::json;

const AUTO: [(&str, &str); 1] = [("reloader.stakater.com/auto", "true")];

/// Starts what the release's Deployment says, as its ServiceAccount.
async fn start(case: &Case, release: &Release<'_>) -> anyhow::Result<(Rollout, tempfile::NamedTempFile)> {
    let run = release.container(&format!("{}-narthex-rollout", case.ns())).await?;
    assert_eq!(run.args.first().map(String::as_str), Some("rollout"));
    let kubeconfig = case.kubeconfig_of(&run.account).await?;
    // The harness has a port of its own for each process.
    let args: Vec<&str> = run.args[1..].iter().map(String::as_str).filter(|arg| !arg.starts_with("--metrics-addr=")).collect();
    let env: Vec<(&str, &str)> = run.env.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
    Ok((Rollout::start_as(case, kubeconfig.path(), &args, &env).await?, kubeconfig))
}

/// Rights as [`rights`] has them.
fn all(rules: &[(&str, &[&str], &[&str])]) -> Vec<String> {
    let mut rights = Vec::new();
    for (group, resources, verbs) in rules {
        for resource in *resources {
            rights.extend(verbs.iter().map(|verb| format!("{group}/{resource} {verb}")));
        }
    }
    rights.sort();
    rights
}

#[tokio::test]
async fn the_rights_for_the_cluster_are_enough_and_no_more() -> anyhow::Result<()> {
    let case = Case::new("chart-all").await?;
    let label = json!({"metadata": {"labels": {"chart-test": case.ns()}}});
    let namespaces: Api<Namespace> = Api::all(case.namespace.client().clone());
    namespaces.patch(case.ns(), &Default::default(), &Patch::Merge(&label)).await?;
    let receiver = Receiver::start().await?;
    let values = json!({"rollout": {
        "enabled": true, "namespaceSelector": format!("chart-test={}", case.ns()), "check": "nginx", "logFormat": "text",
        "alerts": {"enabled": true, "webhookUrl": receiver.url(), "sink": "teams"}, "metrics": {"countByNamespace": true},
    }});
    let release = Release::install(&case, &alone(values))?;
    let (rollout, kubeconfig) = start(&case, &release).await?;
    let kinds = [Kind::Deployment, Kind::StatefulSet, Kind::DaemonSet, Kind::CronJob, Kind::Job];
    case.config("config", "1").await?;
    for kind in kinds {
        case.make(Wanted { kind, ..deployment("web", &AUTO) }).await?;
        case.rolled_out(kind, "web", 0).await?;
    }
    case.config("config", "2").await?;
    for kind in kinds {
        case.rolled_out(kind, "web", 1).await?;
    }
    receiver.until_notified("rolled out *web* of type *StatefulSet*").await?;
    rollout.until_metric("narthex_rollout_watched_total{result=\"complete\"}", 1.0).await?;
    let counted = format!("reloader_reload_executed_total_by_namespace{{namespace=\"{}\",success=\"true\"}}", case.ns());
    rollout.until_metric(&counted, 5.0).await?;
    rollout.until_metric("narthex_rollout_leader", 1.0).await?;
    assert!(!rollout.log().contains("forbidden"), "{}", rollout.log());

    let watched = all(&[
        ("", &["configmaps", "secrets"], &["get", "list", "watch"]),
        ("", &["namespaces"], &["list", "watch"]),
        ("", &["pods"], &["list"]),
        ("apps", &["deployments", "statefulsets", "daemonsets"], &["get", "list", "watch", "patch"]),
        ("batch", &["cronjobs"], &["get", "list", "watch", "patch"]),
        ("batch", &["jobs"], &["get", "list", "watch", "patch", "create", "delete"]),
        ("events.k8s.io", &["events"], &["create", "patch"]),
    ]);
    assert_eq!(rights(kubeconfig.path(), "default").await?, watched);
    let lease = all(&[
        ("coordination.k8s.io", &["leases"], &["create"]),
        ("coordination.k8s.io", &["leases/stakater-reloader-lock"], &["get", "update"]),
    ]);
    let mut here = [watched, lease].concat();
    here.sort();
    assert_eq!(rights(kubeconfig.path(), case.ns()).await?, here);

    release.uninstall()?;
    let mine = ListParams::default().labels(&format!("app.kubernetes.io/instance={}", case.ns()));
    let client = case.namespace.client();
    assert_eq!(Api::<ClusterRole>::all(client.clone()).list(&mine).await?.items.len(), 0);
    assert_eq!(Api::<ClusterRoleBinding>::all(client.clone()).list(&mine).await?.items.len(), 0);
    Ok(())
}

#[tokio::test]
async fn one_namespace_without_secrets_needs_few_rights() -> anyhow::Result<()> {
    let case = Case::new("chart-one").await?;
    let values = json!({"rollout": {
        "enabled": true, "watchNamespace": case.ns(), "resourcesToIgnore": "secrets", "watchRollouts": 0, "replicas": 1, "enableHa": false,
        "ignoredWorkloadTypes": ["jobs", "cronjobs", "statefulsets", "daemonsets"], "logFormat": "text",
    }});
    let release = Release::install(&case, &alone(values))?;
    let (rollout, kubeconfig) = start(&case, &release).await?;
    case.config("config", "1").await?;
    case.make(deployment("web", &AUTO)).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    let expected = all(&[
        ("", &["configmaps"], &["get", "list", "watch"]),
        ("apps", &["deployments"], &["get", "list", "watch", "patch"]),
        ("events.k8s.io", &["events"], &["create", "patch"]),
    ]);
    assert_eq!(rights(kubeconfig.path(), case.ns()).await?, expected);
    assert_eq!(rights(kubeconfig.path(), "default").await?, Vec::<String>::new());
    assert!(!rollout.log().contains("forbidden"), "{}", rollout.log());
    drop(rollout);

    // Other values: other arguments, other rights.
    let selector =
        json!({"enabled": true, "watchNamespace": case.ns(), "resourceLabelSelector": "watched=yes", "webhookUrl": "http://127.0.0.1:9/"});
    release.upgrade(&alone(json!({"rollout": selector})))?;
    let run = release.container(&format!("{}-narthex-rollout", case.ns())).await?;
    assert!(run.args.contains(&"--webhook-url=http://127.0.0.1:9/".to_owned()), "{:?}", run.args);
    let granted = rights(kubeconfig.path(), case.ns()).await?;
    let granted: Vec<&str> = granted.iter().map(String::as_str).filter(|right| !right.contains("leases")).collect();
    assert_eq!(granted, all(&[("", &["configmaps", "secrets"], &["list", "watch"])]));
    Ok(())
}

#[tokio::test]
async fn several_namespaces_have_a_role_each() -> anyhow::Result<()> {
    let (one, two) = (Case::new("chart-two-a").await?, Case::new("chart-two-b").await?);
    let values = json!({"rollout": {
        "enabled": true, "namespaces": [one.ns(), two.ns()], "resourceLabelSelector": "watched=yes", "logFormat": "text",
    }});
    let release = Release::install(&one, &alone(values))?;
    let (rollout, kubeconfig) = start(&one, &release).await?;
    let map = |value: &str| json!({"metadata": {"labels": {"watched": "yes"}}, "data": {"key": value}});
    for case in [&one, &two] {
        case.apply_map("config", map("1")).await?;
        case.make(deployment("web", &AUTO)).await?;
        case.rolled_out(Kind::Deployment, "web", 0).await?;
        case.apply_map("config", map("2")).await?;
        case.rolled_out(Kind::Deployment, "web", 1).await?;
    }
    assert!(!rollout.log().contains("forbidden"), "{}", rollout.log());
    let there = rights(kubeconfig.path(), two.ns()).await?;
    assert!(there.contains(&"/secrets list".to_owned()) && !there.contains(&"/secrets get".to_owned()), "{there:?}");
    assert_eq!(rights(kubeconfig.path(), "default").await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn every_value_is_an_argument_that_is_understood() -> anyhow::Result<()> {
    let case = Case::new("chart-every").await?;
    let mut values = json!({
        "enabled": true, "watchNamespace": case.ns(), "namespacesToIgnore": ["a", "b"], "resourceLabelSelector": "x notin (y)",
        "isArgoRollouts": true, "ignoredWorkloadTypes": ["rollouts"], "autoReloadAll": true, "reloadStrategy": "annotations",
        "reloadOnCreate": true, "reloadOnDelete": true, "syncAfterRestart": false, "healthAddr": "127.0.0.1:0",
        "check": "command", "checkCommand": "true", "checkTimeout": 5, "watchRollouts": 10,
    });
    let names = json!({
        "autoAnnotation": "a/1", "configmapAutoAnnotation": "a/2", "secretAutoAnnotation": "a/3", "configmapAnnotation": "a/4",
        "secretAnnotation": "a/5", "configmapExcludeAnnotation": "a/6", "secretExcludeAnnotation": "a/7", "autoSearchAnnotation": "a/8",
        "searchMatchAnnotation": "a/9", "ignoreAnnotation": "a/10", "pauseDeploymentAnnotation": "a/11", "pauseDeploymentTimeAnnotation": "a/12",
    });
    let (url, proxy) = ("http://127.0.0.1:9/", "http://127.0.0.1:9");
    let others = json!({
        "alerts": {"enabled": true, "webhookUrl": url, "sink": "raw", "proxy": proxy, "additionalInfo": "lab: 1", "structured": true},
        "electionId": "other", "electionTtl": "5s", "leaderElectionReleaseOnCancel": false, "stopTimeout": "1s", "logFormat": "json",
        "logLevel": "debug", "extraArgs": {"namespace-selector": "a=b"}, "extraEnvs": [{"name": "X", "value": "y"}],
    });
    merge(&mut values, names);
    merge(&mut values, others);
    let values = json!({"rollout": values});
    let release = Release::install(&case, &alone(values))?;
    let (rollout, _kubeconfig) = start(&case, &release).await?;
    rollout.until_metric("narthex_rollout_leader", 1.0).await?;
    case.config("config", "1").await?;
    case.make(deployment("web", &[])).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    assert!(!rollout.log().contains("forbidden"), "{}", rollout.log());
    Ok(())
}
