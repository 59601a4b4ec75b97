//! `kubectl narthex doctor`: what only the API server knows.

use anyhow::ensure;
use e2e::{Case, PATIENCE};
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use testkit::poll;

use super::{Fake, controller};

/// A port on which nothing listens.
const NOWHERE: &str = "https://127.0.0.1:9/networking/v1/ingresses";

/// Waits until the first finding is this one, and for the exit code.
async fn names(fake: &Fake<'_>, code: i32, what: &str) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let (found, output, error) = fake.fails(&["doctor", "--namespace", fake.case.ns(), "--output=json"])?;
        let findings: Value = serde_json::from_str(&output)?;
        ensure!(found == Some(code), "{found:?} {findings:#} {error}");
        ensure!(findings[0]["what"].as_str().is_some_and(|text| text.contains(what)), "{findings:#}");
        Ok(())
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_that_is_down_is_named_whatever_the_policy() -> anyhow::Result<()> {
    let case = Case::new("doctor-webhook").await?;
    let _servers = case.echo(1).await?;
    let controller = controller(&case).await?;
    let fake = Fake::new(&case, &controller)?;
    poll(PATIENCE, || async {
        let (code, output, error) = fake.fails(&["doctor", "--namespace", case.ns()])?;
        ensure!(code == Some(0) && output.ends_with("\nnothing is wrong\n"), "{code:?} {output} {error}");
        Ok(())
    })
    .await?;
    let webhook = json!({
        "name": "validate.nginx.ingress.kubernetes.io", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "failurePolicy": "Fail", "timeoutSeconds": 2, "clientConfig": {"url": NOWHERE},
        "rules": [{"apiGroups": ["networking.k8s.io"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["ingresses"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": case.ns()}},
    });
    let metadata = json!({"name": case.ns(), "labels": {"app.kubernetes.io/name": "narthex"}});
    let registration = serde_json::from_value(json!({"metadata": metadata, "webhooks": [webhook]}))?;
    let api: Api<ValidatingWebhookConfiguration> = Api::all(case.namespace.client().clone());
    api.create(&PostParams::default(), &registration).await?;
    names(&fake, 3, "the admission webhook is down: no Ingress can be stored").await?;
    let ignored = json!([{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]);
    api.patch(case.ns(), &PatchParams::default(), &Patch::<()>::Json(serde_json::from_value(ignored)?)).await?;
    names(&fake, 1, "the admission webhook is down: Ingresses are stored without a review").await?;
    api.delete(case.ns(), &Default::default()).await?;
    Ok(())
}
