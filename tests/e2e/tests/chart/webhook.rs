//! The webhook as the chart installs it, called by the API server through its Service.

use std::process::Command;

use anyhow::{Context, ensure};
use e2e::helm::{Release, rights};
use e2e::{Case, PATIENCE};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::core::v1::{Event, Secret};
use k8s_openapi::api::networking::v1::Ingress;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use testkit::kube::{PathType, mk_ingress};
use testkit::poll;

use super::controller::{rule, start, values};

fn installed(case: &Case, webhooks: Value) -> Value {
    let mut all = json!({"controller": {"config": {"worker-processes": 1}, "service": {"type": "ClusterIP"}}});
    e2e::rollout::merge(&mut all, json!({"controller": {"admissionWebhooks": webhooks}}));
    values(case, all)
}

/// An Ingress that is refused where it is reviewed; the API server only pretends to store it.
async fn refusal(case: &Case) -> anyhow::Result<String> {
    let bad = mk_ingress("bad").class(case.ns()).host("bad.example.com").path("/etc/nginx", PathType::Prefix, "echo", 80).build();
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let refused = case.namespace.api::<Ingress>().create(&dry, &bad).await.err().context("it is not reviewed")?;
    Ok(refused.to_string())
}

/// Waits until the API server gets answers.
async fn reviewed(case: &Case) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let refusal = refusal(case).await?;
        ensure!(refusal.contains("denied the request") && refusal.contains("/etc/nginx"), "{refusal}");
        Ok(())
    })
    .await
}

/// What `kubectl` prints on both channels.
fn kubectl(case: &Case, args: &[&str]) -> anyhow::Result<String> {
    let mut command = Command::new(case.bed.info().binaries.join("kubectl"));
    let output = command.env("KUBECONFIG", case.bed.kubeconfig()).args(args).output()?;
    let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    ensure!(output.status.success(), "{args:?}: {text}");
    Ok(text)
}

async fn registration(case: &Case) -> anyhow::Result<ValidatingWebhookConfiguration> {
    let api: Api<ValidatingWebhookConfiguration> = Api::all(case.namespace.client().clone());
    Ok(api.get(&format!("{}-narthex-admission", case.ns())).await?)
}

/// Objects of the release and all Secrets, but those of Helm.
fn left(case: &Case) -> anyhow::Result<String> {
    let label = format!("--selector=app.kubernetes.io/instance={}", case.ns());
    let cluster = "clusterroles,clusterrolebindings,ingressclasses,validatingwebhookconfigurations";
    let own = "services,secrets,configmaps,serviceaccounts,roles,rolebindings,deployments";
    let namespace = format!("--namespace={}", case.ns());
    let mut all = kubectl(case, &["get", cluster, &label, "--output=name", "--ignore-not-found"])?;
    all += &kubectl(case, &["get", own, &label, &namespace, "--output=name", "--ignore-not-found"])?;
    all += &kubectl(case, &["get", "secrets", &namespace, "--field-selector=type!=helm.sh/release.v1", "--output=name"])?;
    Ok(all)
}

#[tokio::test]
async fn it_holds_nothing_up_before_the_first_pod_and_leaves_nothing_behind() -> anyhow::Result<()> {
    let case = Case::new("chart-hook").await?;
    let _servers = case.echo(1).await?;
    let release = Release::install(&case, &installed(&case, json!({})))?;
    // There is no Pod and no authority yet.
    case.create(&rule(case.ns(), "early.example.com").build()).await?;
    let unseen = mk_ingress("unseen").class(case.ns()).host("unseen.example.com").path("/etc/nginx", PathType::Prefix, "echo", 80);
    case.create(&unseen.build()).await?;
    let (mut controller, kubeconfig) = start(&case, &release).await?;
    reviewed(&case).await.with_context(|| controller.log())?;
    controller.until("early.example.com", "/", 200).await?;
    // What a review would have refused has no effect without one.
    assert_eq!(controller.get("unseen.example.com", "/etc/nginx").await?.status, 404);
    poll(PATIENCE, || async {
        let events = case.namespace.api::<Event>().list(&Default::default()).await?;
        let about = events.items.iter().find(|event| event.involved_object.name.as_deref() == Some("unseen"));
        let event = about.context("no Event about it")?;
        ensure!(
            event.type_.as_deref() == Some("Warning") && event.message.as_deref().is_some_and(|text| text.contains("/etc/nginx")),
            "{event:?}"
        );
        Ok(())
    })
    .await?;
    let secret = case.namespace.api::<Secret>().get(&format!("{}-narthex-admission-certificate", case.ns())).await?;
    assert_eq!(secret.data.unwrap_or_default().into_keys().collect::<Vec<_>>(), ["ca", "cert", "key"]);

    // A finding about the settings is a warning.
    let map = format!("{}-narthex-controller", case.ns());
    let patch = ["patch", "configmap", &map, "--namespace", case.ns(), "--patch", r#"{"data": {"gzip-level": "many"}}"#];
    let printed = kubectl(&case, &patch)?;
    ensure!(printed.contains("Warning:") && printed.contains("gzip-level") && printed.contains("patched"), "{printed}");

    // An upgrade keeps the authority that the controller has written.
    release.upgrade(&installed(&case, json!({"timeoutSeconds": 7})))?;
    let webhooks = registration(&case).await?.webhooks.unwrap_or_default();
    assert_eq!((webhooks.len(), webhooks[0].timeout_seconds), (2, Some(7)));
    ensure!(webhooks.iter().all(|webhook| webhook.client_config.ca_bundle.is_some()), "{webhooks:?}");
    reviewed(&case).await?;

    let log = controller.log();
    assert!(!log.contains("forbidden"), "{log}");
    let rights = rights(kubeconfig.path(), case.ns()).await?;
    let of_webhook: Vec<&String> = rights.iter().filter(|right| right.contains("-admission")).collect();
    let name = format!("{}-narthex-admission", case.ns());
    let registration = format!("admissionregistration.k8s.io/validatingwebhookconfigurations/{name}");
    let expected = [
        format!("/secrets/{name}-certificate get"),
        format!("/secrets/{name}-certificate update"),
        format!("{registration} get"),
        format!("{registration} patch"),
    ];
    assert_eq!(of_webhook, expected.iter().collect::<Vec<_>>());

    controller.kill()?;
    case.create(&rule(case.ns(), "late.example.com").build()).await?;
    assert_eq!(controller.get("early.example.com", "/").await?.status, 200);
    release.uninstall()?;
    assert_eq!(left(&case)?, "");
    Ok(())
}

#[tokio::test]
async fn with_the_policy_fail_no_ingress_is_stored_without_a_review() -> anyhow::Result<()> {
    let case = Case::new("chart-hook-fail").await?;
    let _servers = case.echo(1).await?;
    let release = Release::install(&case, &installed(&case, json!({"failurePolicy": "Fail"})))?;
    let early = case.create(&rule(case.ns(), "early.example.com").build()).await.err().context("it was stored")?;
    ensure!(format!("{early:#}").contains("failed calling webhook"), "{early:#}");
    // Our own objects are no Ingresses: the Pod needs no review to start.
    let (mut controller, _kubeconfig) = start(&case, &release).await?;
    reviewed(&case).await.with_context(|| controller.log())?;
    case.create(&rule(case.ns(), "served.example.com").build()).await?;
    controller.until("served.example.com", "/", 200).await?;
    controller.kill()?;
    let late = case.create(&rule(case.ns(), "late.example.com").build()).await.err().context("it was stored")?;
    ensure!(format!("{late:#}").contains("failed calling webhook"), "{late:#}");
    assert_eq!(controller.get("served.example.com", "/").await?.status, 200);
    // Nor does it keep the release from going away: then Ingresses are stored again.
    release.uninstall()?;
    poll(PATIENCE, || async { case.create(&rule(case.ns(), "after.example.com").build()).await.map(drop) }).await
}
