//! Every annotation that Reloader knows.

use anyhow::{Context, ensure};
use e2e::rollout::{Kind, Rollout, Wanted, deployment};
use e2e::{Case, PATIENCE};
use jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use testkit::poll;

/// Deployments by name with their annotations; each reads `config` and `secret`, which exist, as do the ConfigMaps `app-1` and `other`.
async fn made(case: &Case, wanted: &[(&str, &[(&str, &str)])]) -> anyhow::Result<()> {
    for name in ["config", "app-1", "other"] {
        case.config(name, "1").await?;
    }
    case.secret("secret", "1").await?;
    for (name, annotations) in wanted {
        case.make(deployment(name, annotations)).await?;
    }
    Ok(())
}

/// Number of rollouts of each.
async fn rollouts(case: &Case, names: &[&str]) -> anyhow::Result<Vec<Option<u64>>> {
    let mut all = Vec::new();
    for name in names {
        all.push(case.rollouts(Kind::Deployment, name).await?);
    }
    Ok(all)
}

#[tokio::test]
async fn auto_and_its_typed_forms() -> anyhow::Result<()> {
    let case = Case::new("ro-auto").await?;
    let wanted: [(&str, &[(&str, &str)]); 5] = [
        ("auto", &[("reloader.stakater.com/auto", "true")]),
        ("maps", &[("configmap.reloader.stakater.com/auto", "true")]),
        ("secrets", &[("secret.reloader.stakater.com/auto", "true")]),
        ("refused", &[("reloader.stakater.com/auto", "false")]),
        ("silent", &[]),
    ];
    made(&case, &wanted).await?;
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    for name in ["auto", "maps", "secrets"] {
        case.rolled_out(Kind::Deployment, name, 0).await?;
    }
    case.fence().await?;
    case.config("config", "2").await?;
    case.settled().await?;
    let names = wanted.map(|(name, _)| name);
    assert_eq!(rollouts(&case, &names).await?, [Some(1), Some(1), Some(0), None, None]);
    case.secret("secret", "2").await?;
    case.settled().await?;
    assert_eq!(rollouts(&case, &names).await?, [Some(2), Some(1), Some(1), None, None]);
    Ok(())
}

#[tokio::test]
async fn reload_names_what_counts_also_by_pattern() -> anyhow::Result<()> {
    let case = Case::new("ro-reload").await?;
    let wanted: [(&str, &[(&str, &str)]); 3] = [
        ("names", &[("configmap.reloader.stakater.com/reload", "x, other")]),
        ("pattern", &[("configmap.reloader.stakater.com/reload", "app-[0-9]+")]),
        ("secret-name", &[("secret.reloader.stakater.com/reload", "secret")]),
    ];
    made(&case, &wanted).await?;
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    let names = wanted.map(|(name, _)| name);
    for name in names {
        case.rolled_out(Kind::Deployment, name, 0).await?;
    }
    case.fence().await?;
    for (map, expected) in [("config", [0, 0, 0]), ("other", [1, 0, 0]), ("app-1", [1, 1, 0])] {
        case.config(map, "2").await?;
        case.settled().await?;
        assert_eq!(rollouts(&case, &names).await?, expected.map(Some), "{map}");
    }
    case.secret("secret", "2").await?;
    case.rolled_out(Kind::Deployment, "secret-name", 1).await
}

#[tokio::test]
async fn search_finds_what_match_marks() -> anyhow::Result<()> {
    let case = Case::new("ro-search").await?;
    made(&case, &[("search", &[("reloader.stakater.com/search", "true")])]).await?;
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    case.fence().await?;
    case.config("config", "2").await?;
    case.settled().await?;
    assert_eq!(rollouts(&case, &["search"]).await?, [None], "nothing is marked yet");
    let marked = |value: &str| json!({"metadata": {"annotations": {"reloader.stakater.com/match": "true"}}, "data": {"key": value}});
    case.apply_map("config", marked("2")).await?;
    case.apply_map("other", marked("1")).await?;
    case.rolled_out(Kind::Deployment, "search", 0).await?;
    case.apply_map("other", marked("2")).await?;
    case.apply_map("config", marked("3")).await?;
    case.rolled_out(Kind::Deployment, "search", 1).await?;
    case.settled().await?;
    assert_eq!(rollouts(&case, &["search"]).await?, [Some(1)], "what is marked must be used, too");
    Ok(())
}

#[tokio::test]
async fn exclude_and_ignore_leave_out() -> anyhow::Result<()> {
    let case = Case::new("ro-exclude").await?;
    let auto = ("reloader.stakater.com/auto", "true");
    let wanted: [(&str, &[(&str, &str)]); 3] = [
        ("maps", &[auto, ("configmaps.exclude.reloader.stakater.com/reload", "x, config")]),
        ("secrets", &[auto, ("secrets.exclude.reloader.stakater.com/reload", "secret")]),
        ("all", &[auto]),
    ];
    made(&case, &wanted).await?;
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    let names = wanted.map(|(name, _)| name);
    for name in names {
        case.rolled_out(Kind::Deployment, name, 0).await?;
    }
    case.fence().await?;
    case.config("config", "2").await?;
    case.settled().await?;
    assert_eq!(rollouts(&case, &names).await?, [Some(0), Some(1), Some(1)]);
    case.secret("secret", "2").await?;
    case.settled().await?;
    assert_eq!(rollouts(&case, &names).await?, [Some(1), Some(1), Some(2)]);
    // An object that asks to be ignored: not now, and what it held then is no change later.
    let ignored = |ignore: &str| json!({"metadata": {"annotations": {"reloader.stakater.com/ignore": ignore}}, "data": {"key": "3"}});
    case.apply_map("config", ignored("true")).await?;
    case.settled().await?;
    case.apply_map("config", ignored("false")).await?;
    case.settled().await?;
    assert_eq!(rollouts(&case, &names).await?, [Some(1), Some(1), Some(2)]);
    Ok(())
}

#[tokio::test]
async fn the_pod_template_may_have_the_annotations() -> anyhow::Result<()> {
    let case = Case::new("ro-template").await?;
    made(&case, &[]).await?;
    let template = json!({"metadata": {"annotations": {"reloader.stakater.com/auto": "true"}}});
    case.make(Wanted { template, ..deployment("web", &[]) }).await?;
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await
}

#[tokio::test]
async fn pause_period_collects_changes_into_one_rollout() -> anyhow::Result<()> {
    let case = Case::new("ro-pause").await?;
    let annotations = [("reloader.stakater.com/auto", "true"), ("deployment.reloader.stakater.com/pause-period", "1h")];
    made(&case, &[("web", &annotations)]).await?;
    let _rollout = Rollout::start(&case, &[], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    let object = case.workload(Kind::Deployment, "web").await?;
    assert_eq!(object["spec"]["paused"], true);
    let at = object["metadata"]["annotations"]["deployment.reloader.stakater.com/paused-at"].as_str().context("paused-at")?;
    let _: Timestamp = at.parse()?;
    case.secret("secret", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 2).await?;
    let object = case.workload(Kind::Deployment, "web").await?;
    assert_eq!(object["metadata"]["annotations"]["deployment.reloader.stakater.com/paused-at"], at, "the first change begins the period");
    // The period is over: whatever was collected goes out.
    let patch = json!({"metadata": {"annotations": {"deployment.reloader.stakater.com/pause-period": "1s"}}});
    case.workloads(Kind::Deployment).patch("web", &PatchParams::default(), &Patch::Merge(patch)).await?;
    poll(PATIENCE, || async {
        let object = case.workload(Kind::Deployment, "web").await?;
        let annotations = &object["metadata"]["annotations"];
        ensure!(object["spec"]["paused"] != true && annotations["deployment.reloader.stakater.com/paused-at"].is_null(), "still paused");
        Ok(())
    })
    .await
}

#[tokio::test]
async fn last_reloaded_from_says_why_with_the_other_strategy() -> anyhow::Result<()> {
    let case = Case::new("ro-last").await?;
    made(&case, &[("web", &[("reloader.stakater.com/auto", "true")])]).await?;
    let _rollout = Rollout::start(&case, &["--reload-strategy=annotations"], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    for times in 1..=2 {
        case.config("config", &format!("next {times}")).await?;
        case.rolled_out(Kind::Deployment, "web", times).await?;
    }
    let object = case.workload(Kind::Deployment, "web").await?;
    let template = &object["spec"]["template"];
    let last = template["metadata"]["annotations"]["reloader.stakater.com/last-reloaded-from"].as_str().context("last-reloaded-from")?;
    let last: Value = serde_json::from_str(last)?;
    let said = [&last["type"], &last["name"], &last["namespace"], &last["containerRefs"]];
    assert_eq!(said, [&json!("CONFIGMAP"), &json!("config"), &json!(case.ns()), &json!(["echo"])]);
    assert!(last["hash"].as_str().is_some_and(|hash| hash.len() == 64) && last["observedAt"].is_i64(), "{last}");
    assert!(template["spec"]["containers"][0]["env"].is_null(), "no environment variable");
    case.revisions("web", 3).await
}

#[tokio::test]
async fn what_is_mistyped_is_reported_once() -> anyhow::Result<()> {
    let case = Case::new("ro-typos").await?;
    let wanted: [(&str, &[(&str, &str)]); 4] = [
        ("switch", &[("reloader.stakater.com/auto", "yes")]),
        ("letter", &[("reloader.stakater.com/Auto", "true")]),
        ("absent", &[("configmap.reloader.stakater.com/reload", "config,absent")]),
        ("good", &[("configmap.reloader.stakater.com/reload", "config"), ("example.com/auto", "yes")]),
    ];
    made(&case, &wanted).await?;
    let marked = |value: &str| json!({"metadata": {"annotations": {"reloader.stakater.com/match": "yes"}}, "data": {"key": value}});
    case.apply_map("other", marked("1")).await?;
    let rollout = Rollout::start(&case, &[], &[]).await?;
    for name in ["absent", "good"] {
        case.rolled_out(Kind::Deployment, name, 0).await?;
    }
    case.fence().await?;
    case.config("config", "2").await?;
    case.apply_map("other", marked("2")).await?;
    case.settled().await?;
    let log = rollout.log().replace("\\\"", "\"");
    for (name, complaint) in [
        ("switch", "annotation reloader.stakater.com/auto \"yes\": expected \"true\" or \"false\""),
        ("letter", "annotation reloader.stakater.com/Auto: there is none of this name, reloader.stakater.com/auto may be meant"),
        ("other", "annotation reloader.stakater.com/match \"yes\": expected \"true\" or \"false\""),
        ("absent", "annotation configmap.reloader.stakater.com/reload: ConfigMap absent does not exist"),
    ] {
        let found: Vec<&str> = log.lines().filter(|line| line.contains(complaint)).collect();
        ensure!(found.len() == 1 && found[0].contains(&format!("/{name}")), "{name}: {found:#?}\n{log}");
    }
    ensure!(!log.lines().any(|line| line.contains("WARN") && line.contains("/good")), "{log}");
    Ok(())
}
