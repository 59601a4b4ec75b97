//! Flags about what is a change.

use std::net::{Ipv4Addr, SocketAddr};

use e2e::Case;
use e2e::rollout::{Kind, Rollout, deployment};
use k8s_openapi::api::core::v1::ConfigMap;
use testkit::http::Request;
use testkit::ports::Ports;

const AUTO: [(&str, &str); 1] = [("reloader.stakater.com/auto", "true")];

#[tokio::test]
async fn auto_reload_all_takes_all_that_do_not_refuse() -> anyhow::Result<()> {
    let case = Case::new("ro-all").await?;
    case.config("config", "1").await?;
    case.make(deployment("silent", &[])).await?;
    case.make(deployment("refuses", &[("reloader.stakater.com/auto", "false")])).await?;
    let _rollout = Rollout::start(&case, &["--auto-reload-all"], &[]).await?;
    case.rolled_out(Kind::Deployment, "silent", 0).await?;
    case.fence().await?;
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "silent", 1).await?;
    case.settled().await?;
    assert_eq!(case.rollouts(Kind::Deployment, "refuses").await?, None);
    Ok(())
}

#[tokio::test]
async fn reload_on_create_and_on_delete() -> anyhow::Result<()> {
    let case = Case::new("ro-create").await?;
    case.make(deployment("web", &AUTO)).await?;
    let rollout = Rollout::start(&case, &[], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.fence().await?;
    case.config("config", "1").await?;
    case.settled().await?;
    case.delete::<ConfigMap>("config").await?;
    case.settled().await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    drop(rollout);

    // It was deleted while that did not count, but since it does, it is a change that is still to be rolled out.
    let _rollout = Rollout::start(&case, &["--reload-on-create=true", "--reload-on-delete", "true"], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    case.config("config", "1").await?;
    case.rolled_out(Kind::Deployment, "web", 2).await?;
    let object = case.workload(Kind::Deployment, "web").await?;
    assert_eq!(object["spec"]["template"]["spec"]["containers"][0]["env"][0]["name"], "STAKATER_CONFIG_CONFIGMAP");
    case.delete::<ConfigMap>("config").await?;
    case.rolled_out(Kind::Deployment, "web", 3).await?;
    let object = case.workload(Kind::Deployment, "web").await?;
    let variables = &object["spec"]["template"]["spec"]["containers"][0]["env"];
    assert!(variables.as_array().is_none_or(Vec::is_empty), "{variables}");
    Ok(())
}

#[tokio::test]
async fn a_new_object_that_a_pattern_names_counts_with_reload_on_create() -> anyhow::Result<()> {
    let case = Case::new("ro-born").await?;
    case.config("app-1", "1").await?;
    case.make(deployment("web", &[("configmap.reloader.stakater.com/reload", "app-.*")])).await?;
    let _rollout = Rollout::start(&case, &["--reload-on-create"], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("app-2", "1").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await
}

#[tokio::test]
async fn sync_after_restart_rolls_out_what_nothing_is_known_of() -> anyhow::Result<()> {
    let case = Case::new("ro-sync").await?;
    case.config("config", "1").await?;
    case.make(deployment("web", &AUTO)).await?;
    let rollout = Rollout::start(&case, &["--reload-on-create=true", "--sync-after-restart"], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    drop(rollout);
    let _rollout = Rollout::start(&case, &["--reload-on-create=true", "--sync-after-restart"], &[]).await?;
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 2).await?;
    // Once at the first start, once for the change.
    case.revisions("web", 3).await
}

#[tokio::test]
async fn logs_are_json_and_levels_may_be_reloader_s() -> anyhow::Result<()> {
    let case = Case::new("ro-log").await?;
    case.config("config", "1").await?;
    case.make(deployment("web", &AUTO)).await?;
    let loud = Rollout::start(&case, &["--log-format=json", "--log-level=info"], &[]).await?;
    case.rolled_out(Kind::Deployment, "web", 0).await?;
    case.config("config", "2").await?;
    case.rolled_out(Kind::Deployment, "web", 1).await?;
    testkit::poll(e2e::PATIENCE, || async {
        let log = loud.log();
        anyhow::ensure!(log.lines().any(|line| line.starts_with('{') && line.contains("\"message\":\"rolled out\"")), "{log}");
        Ok(())
    })
    .await?;
    let quiet = Rollout::start(&case, &["--log-level=warning"], &[]).await?;
    assert_eq!(quiet.log(), "");
    Ok(())
}

#[tokio::test]
async fn health_may_have_an_address_of_its_own() -> anyhow::Result<()> {
    let case = Case::new("ro-health").await?;
    let port = Ports::one()?;
    let _rollout = Rollout::start(&case, &[&format!("--health-addr=127.0.0.1:{port}")], &[]).await?;
    for (path, status) in [("/healthz", 200), ("/readyz", 200), ("/metrics", 404)] {
        let response = Request::get(SocketAddr::from((Ipv4Addr::LOCALHOST, port)), path).send().await?;
        assert_eq!(response.status, status, "{path}");
    }
    Ok(())
}
