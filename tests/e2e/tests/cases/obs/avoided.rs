//! `narthex_reloads_avoided_total` is true: of many changes, each is either a reload, which is seen from outside, or counted as avoided.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, rule};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::json;
use testkit::kube::{PathType, mk_certificate, mk_tls_secret};
use testkit::{poll, processes};

const HOST: &str = "mixed.example.com";
const CHANGES: usize = 200;
/// Kinds of changes, of which two reload.
const KINDS: usize = 10;

/// Reloads so far, as the controller counts them.
async fn counted(controller: &Controller) -> anyhow::Result<[f64; 2]> {
    let avoided = controller.metric("narthex_reloads_avoided_total").await?;
    Ok([avoided, controller.metric("narthex_reload_seconds_count").await?])
}

/// An annotation of the Ingress, with a value that no change before had.
async fn annotate(case: &Case, ingress: &str, name: &str, value: String) -> anyhow::Result<()> {
    let annotations = json!({ format!("nginx.ingress.kubernetes.io/{name}"): value });
    case.patch::<Ingress>(ingress, json!({"metadata": {"annotations": annotations}})).await?;
    Ok(())
}

/// Makes one change, by turns of another kind.
async fn change(case: &Case, number: usize) -> anyhow::Result<()> {
    let turn = number / KINDS;
    match number % KINDS {
        0 => {
            let addresses: Vec<String> = (0..=turn % 3).map(|last| format!("10.9.{turn}.{last}")).collect();
            let endpoints: Vec<_> =
                addresses.iter().map(|address| json!({"addresses": [address], "conditions": {"ready": true}})).collect();
            case.patch::<EndpointSlice>("moving", json!({"endpoints": endpoints})).await?;
        }
        1 => drop(case.create(&rule(&format!("new-{turn}"), &format!("new-{turn}.example.com")).build()).await?),
        2 => annotate(case, "mixed", "app-root", format!("/root-{turn}")).await?,
        3 => annotate(case, "mixed", "proxy-read-timeout", (70 + turn).to_string()).await?,
        4 => {
            let secret = mk_tls_secret("tls", &mk_certificate(&[HOST])?);
            case.patch::<Secret>("tls", json!({"data": secret.data})).await?;
        }
        5 => case.settings(&[("client-header-buffer-size", &format!("{}k", 2 + turn))]).await?,
        6 => annotate(case, "canary", "canary-weight", (1 + turn).to_string()).await?,
        7 => annotate(case, "other", "proxy-buffer-size", format!("{}k", 9 + turn)).await?,
        8 => annotate(case, "other", "limit-rps", (1_000 + turn).to_string()).await?,
        _ => case.delete::<Ingress>(&format!("new-{turn}")).await?,
    }
    Ok(())
}

#[tokio::test]
async fn changes_are_either_reloads_or_avoided() -> anyhow::Result<()> {
    let case = Case::new("obs-avoided").await?;
    let _servers = case.deploy(&["echo", "moving", "next"].map(e2e::Echo::named)).await?;
    case.settings(&[]).await?;
    case.certificate("tls", &[HOST]).await?;
    case.create(&rule("mixed", HOST).path("/moving", PathType::Prefix, "moving", 80).tls(HOST, "tls").build()).await?;
    case.create(&rule("other", "other.example.com").build()).await?;
    let canary = testkit::kube::mk_ingress("canary").class("nginx").host("other.example.com").path("/", PathType::Prefix, "next", 80);
    case.create(&canary.annotation("canary", "true").annotation("canary-weight", "0").build()).await?;
    let controller = case.controller().flag("--sync-rate-limit=50").start().await?;
    controller.until("other.example.com", "/", 200).await?;
    let workers = || processes::workers(&controller.work_dir().join("nginx.conf")).into_iter().collect::<BTreeSet<i32>>();

    let began = counted(&controller).await?;
    let (mut before, mut seen, mut reloads) = (workers(), began[0] + began[1], 0);
    for number in 0..CHANGES {
        change(&case, number).await?;
        let after = poll(PATIENCE, || async {
            let now: f64 = counted(&controller).await?.iter().sum();
            ensure!(now > seen, "neither a reload nor an avoided one");
            Ok(now)
        });
        seen = after.await.with_context(|| format!("change {number}, kind {}; log:\n{}", number % KINDS, controller.log()))?;
        // New ones serve, and no old one accepts connections: each reload leaves its mark.
        let now = workers();
        reloads += usize::from(now.iter().any(|worker| !before.contains(worker)));
        before.extend(now);
    }
    // The last change, a host that is gone, is in effect: what would be counted twice is counted.
    controller.until(&format!("new-{}.example.com", (CHANGES - 1) / KINDS), "/", 404).await?;
    let ended = counted(&controller).await?;
    let [avoided, made] = [ended[0] - began[0], ended[1] - began[1]];
    assert_eq!((made, avoided), (reloads as f64, (CHANGES - reloads) as f64), "log:\n{}", controller.log());
    assert_eq!(reloads, CHANGES * 2 / KINDS, "two kinds of changes need a reload");

    let text = controller.metrics().await?;
    let of = |name: &str, labels: [&str; 2]| -> f64 {
        let series = text.lines().filter(|line| line.starts_with(&format!("{name}{{")) && labels.iter().all(|label| line.contains(label)));
        series.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    };
    let ours = format!("namespace=\"{}\"", case.ns());
    let each = (CHANGES / KINDS) as f64;
    assert_eq!(of("narthex_reloads_total", [&ours, "reason=\"profile\""]), each, "{text}");
    assert!(of("narthex_reloads_total", ["namespace=\"\"", "reason=\"globals\""]) >= each, "{text}");
    for (change, kinds) in [("endpoints", 2.0), ("certificate", 1.0), ("route", 5.0)] {
        assert_eq!(of("narthex_reloads_avoided_total", [&format!("change=\"{change}\""), ""]), kinds * each, "{change}\n{text}");
    }
    assert!(of("narthex_time_to_effect_seconds_count", ["lane=\"live\"", ""]) >= avoided, "{text}");
    assert!(of("narthex_time_to_effect_seconds_count", ["lane=\"reload\"", ""]) >= made, "{text}");
    Ok(())
}
