//! The rows of the predecessor's tests.

use anyhow::{Context, ensure};
use e2e::{Case, rule};
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::json;
use testkit::kube::{PathType, mk_ingress};

use super::{Hook, with_path};

#[tokio::test]
async fn adm_01_a_body_of_9_mib_is_too_large() -> anyhow::Result<()> {
    let hook = Hook::new("adm-01", "Fail").await?;
    let _controller = hook.start(&[]).await?;
    assert_eq!(hook.post(vec![b' '; 9 << 20]).await?.status, 413);
    assert_eq!(hook.post(vec![b' '; (9 << 20) - 1]).await?.status, 400);
    Ok(())
}

#[tokio::test]
async fn adm_02_one_path_that_another_ingress_has_is_enough() -> anyhow::Result<()> {
    let hook = Hook::new("adm-02", "Fail").await?;
    let _servers = hook.case.echo(1).await?;
    let controller = hook.start(&[]).await?;
    let both = |name: &str, safe: &str| {
        with_path(name, "admission-test", safe, PathType::Prefix).path("/conflict-path", PathType::Prefix, "echo", 80).build()
    };
    hook.case.create(&both("first", "/safe-path-1")).await?;
    controller.until("admission-test", "/safe-path-1", 200).await?;
    hook.denied(&both("second", "/safe-path-2"), "already defined by Ingress").await?;
    // It may change itself.
    hook.case.patch::<Ingress>("first", json!({"metadata": {"labels": {"a": "b"}}})).await?;
    Ok(())
}

#[tokio::test]
async fn adm_03_a_path_that_looks_like_one_of_the_controller_s_files_is_refused() -> anyhow::Result<()> {
    let hook = Hook::new("adm-03", "Fail").await?;
    let _controller = hook.start(&[]).await?;
    hook.case.create(&with_path("mypage", "invalid-path", "/mypage", PathType::Prefix).build()).await?;
    hook.denied(&with_path("files", "invalid-path", "/etc/nginx", PathType::Prefix).build(), "/etc/nginx").await?;
    Ok(())
}

#[tokio::test]
async fn adm_04_a_forbidden_word_is_refused() -> anyhow::Result<()> {
    let hook = Hook::new("adm-04", "Fail").await?;
    hook.case.settings(&[("annotation-value-word-blocklist", "}")]).await?;
    let _controller = hook.start(&[]).await?;
    let word = with_path("word", "word.example.com", "/", PathType::Prefix).annotation("connection-proxy-header", "a;}");
    hook.denied(&word.build(), "connection-proxy-header").await?;
    Ok(())
}

#[tokio::test]
async fn adm_05_path_types() -> anyhow::Result<()> {
    let hook = Hook::new("adm-05", "Fail").await?;
    hook.case.settings(&[("strict-validate-path-type", "true")]).await?;
    let _controller = hook.start(&[]).await?;
    let odd = |name: &str, kind| with_path(name, "paths.example.com", "/foo/bar/[a-z]{3}", kind);
    hook.denied(&odd("exact", PathType::Exact).build(), "strict-validate-path-type").await?;
    hook.denied(&odd("prefix", PathType::Prefix).build(), "strict-validate-path-type").await?;
    let free = odd("free", PathType::ImplementationSpecific).annotation("use-regex", "true").annotation("rewrite-target", "/new/backend");
    hook.case.create(&free.build()).await?;
    hook.case.create(&with_path("plain", "other.example.com", "/bloblo", PathType::Prefix).build()).await?;
    Ok(())
}

#[tokio::test]
async fn adm_06_an_ingress_of_the_class_annotation_is_reviewed_and_served() -> anyhow::Result<()> {
    let hook = Hook::new("adm-06", "Fail").await?;
    let _servers = hook.case.echo(1).await?;
    let controller = hook.start(&[]).await?;
    let annotated = |name: &str, path: &str| {
        let mut ingress = mk_ingress(name).host("extensions-class").path(path, PathType::Prefix, "echo", 80).build();
        ingress.metadata.annotations.get_or_insert_default().insert("kubernetes.io/ingress.class".into(), "nginx".into());
        ingress
    };
    hook.case.create(&annotated("extensions-class", "/")).await?;
    controller.until("extensions-class", "/", 200).await?;
    ensure!(controller.conf(&["extensions-class"])?.contains("extensions-class"));
    hook.denied(&annotated("files", "/etc/nginx"), "/etc/nginx").await?;
    let metrics = controller.metrics().await?;
    assert!(metrics.contains("nginx_ingress_controller_admission_roundtrip_duration{"), "{metrics}");
    let counted =
        metrics.lines().find(|line| line.starts_with("nginx_ingress_controller_check_success{") && line.contains("extensions-class"));
    assert!(counted.is_some_and(|line| line.ends_with(" 1")), "{metrics}");
    Ok(())
}

#[tokio::test]
async fn adm_07_an_ingress_of_another_class_is_not_looked_at() -> anyhow::Result<()> {
    let hook = Hook::new("adm-07", "Fail").await?;
    hook.case.settings(&[("allow-snippet-annotations", "true"), ("annotations-risk-level", "Critical")]).await?;
    let controller = hook.start(&[]).await?;
    let other = |name: &str, path: &str| {
        let ingress = mk_ingress(name).class("nginx-other").host("other.example.com").path(path, PathType::Prefix, "echo", 80);
        ingress.annotation("configuration-snippet", "something invalid").build()
    };
    hook.case.create(&other("other", "/")).await?;
    hook.case.create(&other("files", "/etc/nginx")).await?;
    ensure!(!controller.metrics().await?.contains("ingress=\"other\""), "it was reviewed");
    Ok(())
}

#[tokio::test]
async fn adm_08_an_annotation_above_the_permitted_risk_is_refused() -> anyhow::Result<()> {
    let hook = Hook::new("adm-08", "Fail").await?;
    let case: &Case = &hook.case;
    case.settings(&[("allow-snippet-annotations", "true"), ("annotations-risk-level", "Medium")]).await?;
    let _controller = hook.start(&[]).await?;
    let low = rule("risk", "risk.example.com").annotation("default-backend", "bla").annotation("denylist-source-range", "1.1.1.1/32");
    case.create(&low.build()).await?;
    let prefix = "nginx.ingress.kubernetes.io";
    let high = json!({"metadata": {"annotations": {
        format!("{prefix}/modsecurity-transaction-id"): "a", format!("{prefix}/modsecurity-snippet"): "SecRuleEngine On",
    }}});
    let refused = case.patch::<Ingress>("risk", high).await.err().context("the update was not refused")?;
    ensure!(format!("{refused:#}").contains("modsecurity-snippet"), "{refused:#}");
    Ok(())
}
