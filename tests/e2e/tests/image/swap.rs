//! A default installation of ingress-nginx whose image alone is changed, or that is upgraded to the chart with its values file; and back.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use e2e::Case;
use e2e::helm::Helm;
use e2e::rollout::merge;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Secret, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::IngressClass;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};
use testkit::kube::{PathType, documents, mk_certificate, mk_ingress};
use testkit::poll_every;
use testkit::service;

use super::audit::Audit;
use super::pods::{case, forbidden, logs, rolled_out};
use super::release::{balance, published};
use super::traffic::{Backends, Traffic, rule};

const MANIFEST: &str = include_str!("ingress-nginx.yaml");
const NAME: &str = "ingress-nginx-controller";
const SELECTOR: &str = "app.kubernetes.io/component=controller";
const ADMISSION: &str = "ingress-nginx-controller-admission";
const OURS: &str = "narthex:0.1.0";
const THEIRS: &str = "registry.k8s.io/ingress-nginx/controller:v1.15.1";
/// Longest wait for the first review.
const REVIEWED: Duration = Duration::from_secs(60);

/// The template of the Deployment with the image left out.
async fn template(case: &Case) -> anyhow::Result<Value> {
    let mut template = json!(case.namespace.api::<Deployment>().get(NAME).await?.spec.context("a spec")?.template);
    template["spec"]["containers"][0]["image"] = Value::Null;
    Ok(template)
}

/// Installs everything with `put`, as well as the certificate of the webhook, and the way of the API server to it.
async fn install(case: &Case, put: impl AsyncFnOnce() -> anyhow::Result<()>) -> anyhow::Result<service::Service> {
    let names = [ADMISSION.to_owned(), format!("{ADMISSION}.{}", case.ns()), format!("{ADMISSION}.{}.svc", case.ns())];
    let certificate = mk_certificate(&names.each_ref().map(String::as_str))?;
    let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
    let (pem, key) = (bytes(&certificate.certificate_pem), bytes(&certificate.key_pem));
    let data = [("ca".to_owned(), pem.clone()), ("cert".to_owned(), pem.clone()), ("key".to_owned(), key)].into();
    let mut secret = Secret { data: Some(data), ..Secret::default() };
    secret.metadata.name = Some("ingress-nginx-admission".to_owned());
    case.create(&secret).await?;
    put().await?;
    registered(case).await?;
    let address = case.namespace.api::<Service>().get(ADMISSION).await?.spec.and_then(|spec| spec.cluster_ip).context("an address")?;
    let mut admission = service::Service::follow(case.namespace.api::<EndpointSlice>(), ADMISSION);
    admission.forward(SocketAddr::new(address.parse()?, 443), 8443).await?;
    Ok(admission)
}

/// Writes the authority in the Secret of ingress-nginx's webhook into its registration, as a Job of its chart does after an upgrade.
async fn registered(case: &Case) -> anyhow::Result<()> {
    let secret = case.namespace.api::<Secret>().get("ingress-nginx-admission").await?;
    let authority = secret.data.and_then(|mut data| data.remove("ca")).context("an authority")?;
    let webhooks: Api<ValidatingWebhookConfiguration> = Api::all(case.namespace.client().clone());
    let bundle = json!([{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": authority}]);
    let patch = Patch::Json::<()>(serde_json::from_value(bundle)?);
    webhooks.patch("ingress-nginx-admission", &PatchParams::default(), &patch).await.map(drop).map_err(Into::into)
}

/// Changes the image and nothing else, and waits until it runs.
async fn roll(case: &Case, image: &str) -> anyhow::Result<()> {
    let patch = json!([{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": image}]);
    let patch = Patch::Json::<()>(serde_json::from_value(patch)?);
    case.namespace.api::<Deployment>().patch(NAME, &PatchParams::default(), &patch).await?;
    rolled_out(case, NAME, SELECTOR).await
}

/// One Ingress is reviewed and stored, and one that is wrong is refused.
async fn reviewed(case: &Case, name: &str) -> anyhow::Result<()> {
    poll_every(Duration::from_millis(500), REVIEWED, || async {
        let wrong = mk_ingress("wrong").class("nginx").host("wrong.example.com").path("/etc/nginx", PathType::Prefix, "echo", 80).build();
        let error = case.create(&wrong).await.err().context("it was not refused")?;
        let error = format!("{error:#}");
        ensure!(error.contains("denied the request"), "{error}");
        Ok(())
    })
    .await?;
    case.create(&rule("nginx", &format!("{name}.example.com"), "echo").build()).await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_installation_of_ingress_nginx_moves_by_its_image_alone_and_back() -> anyhow::Result<()> {
    let Some(case) = case("swap").await? else { return Ok(()) };
    let _backends = Backends::start(&case, "nginx").await?;
    let _admission = install(&case, async || case.apply(MANIFEST).await).await?;
    balance(&case, NAME).await?;
    rolled_out(&case, NAME, SELECTOR).await?;
    let installed = template(&case).await?;

    let traffic = Traffic::start(&case, NAME, None).await?;
    published(&case, "web.example.com").await?;
    reviewed(&case, "theirs").await?;
    for (image, host) in [(OURS, "ours"), (THEIRS, "back")] {
        roll(&case, image).await?;
        reviewed(&case, host).await?;
        published(&case, &format!("{host}.example.com")).await?;
        ensure!(template(&case).await? == installed, "more than the image changed");
    }
    traffic.flow(1000).await;
    traffic.stop(&BTreeSet::new()).await.with_context(|| logs(&case))?;
    let mut refused = Audit::read(&case)?.refused;
    // These roles have `update` alone for it, which is used from the first refusal on.
    refused.retain(|right| !right.starts_with("patch networking.k8s.io/ingresses/status "));
    ensure!(refused.is_empty(), "{refused:#?}");
    ensure!(forbidden(&case).is_empty(), "{:#?}", forbidden(&case));
    Ok(())
}

/// A chart that renders the manifest, as that of ingress-nginx does with its defaults.
fn chart(directory: &Path) -> anyhow::Result<()> {
    fs::write(directory.join("Chart.yaml"), "{apiVersion: v2, name: ingress-nginx, version: 4.15.1}")?;
    fs::create_dir(directory.join("templates"))?;
    fs::write(directory.join("templates/all.yaml"), MANIFEST.replace("{NS}", "{{ .Release.Namespace }}"))?;
    Ok(())
}

/// The complete values file of ingress-nginx's chart; names and labels stay those of that chart.
fn their_values() -> anyhow::Result<Value> {
    let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/chart/values/ingress-nginx.yaml"))?;
    let mut values = documents(&text)?.into_iter().next().context("a document")?;
    merge(&mut values, json!({"nameOverride": "ingress-nginx"}));
    Ok(values)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_of_ingress_nginx_moves_to_the_chart_with_its_values_file_and_back() -> anyhow::Result<()> {
    let Some(case) = case("move").await? else { return Ok(()) };
    let client = case.namespace.client().clone();
    // That of the release.
    Api::<IngressClass>::all(client).delete("nginx", &DeleteParams::default()).await?;
    let _backends = Backends::start(&case, "nginx").await?;
    let (helm, scratch) = (Helm::of(&case.bed)?, tempfile::tempdir()?);
    chart(scratch.path())?;
    let release = |verb: &str, chart: &Path, values: &Value| {
        helm.run(&[verb, "ingress-nginx", &chart.to_string_lossy(), "--namespace", case.ns()], values).map(drop)
    };
    let _admission = install(&case, async || release("install", scratch.path(), &json!({}))).await?;
    balance(&case, NAME).await?;
    rolled_out(&case, NAME, SELECTOR).await?;
    let service = || async { anyhow::Ok(case.namespace.api::<Service>().get(NAME).await?.metadata.uid) };
    let balancer = service().await?;

    let traffic = Traffic::start(&case, NAME, None).await?;
    published(&case, "web.example.com").await?;
    reviewed(&case, "theirs").await?;
    release("upgrade", &e2e::helm::chart(), &their_values()?)?;
    rolled_out(&case, NAME, SELECTOR).await?;
    reviewed(&case, "ours").await?;
    published(&case, "ours.example.com").await?;
    let spec = case.namespace.api::<Deployment>().get(NAME).await?.spec.and_then(|spec| spec.template.spec).context("a Pod")?;
    ensure!(spec.containers[0].image.as_deref() == Some(OURS), "{:?}", spec.containers[0].image);
    helm.run(&["rollback", "ingress-nginx", "1", "--namespace", case.ns()], &json!({}))?;
    rolled_out(&case, NAME, SELECTOR).await?;
    // A rollback runs no Job of that chart: docs/migrate.md has the command.
    registered(&case).await?;
    reviewed(&case, "back").await?;
    published(&case, "back.example.com").await?;
    ensure!(service().await? == balancer, "the Service is another one, and its load balancer");
    traffic.flow(1000).await;
    traffic.stop(&BTreeSet::new()).await.with_context(|| logs(&case))?;
    Ok(())
}
