//! `narthex run` as the chart installs it: its arguments, its ConfigMap, its ServiceAccount, its rights.

use anyhow::{Context, ensure};
use e2e::helm::{Release, rights};
use e2e::{Case, Controller, PATIENCE};
use k8s_openapi::api::core::v1::{Namespace, Service};
use k8s_openapi::api::networking::v1::Ingress;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use testkit::kube::{IngressBuilder, PathType, mk_ingress};
use testkit::poll;
use testkit::ports::Ports;

/// Values by which the release shares nothing with other cases: a class of its own, and reviews in its namespace alone.
pub(crate) fn values(case: &Case, more: Value) -> Value {
    let class = json!({"name": case.ns(), "controllerValue": format!("narthex.dev/{}", case.ns())});
    let webhooks = json!({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": case.ns()}}});
    let mut values = json!({"controller": {"ingressClass": case.ns(), "ingressClassResource": class, "admissionWebhooks": webhooks}});
    e2e::rollout::merge(&mut values, more);
    values
}

/// Starts what the release's Deployment says, as its ServiceAccount.
pub(crate) async fn start(case: &Case, release: &Release<'_>) -> anyhow::Result<(Controller, tempfile::NamedTempFile)> {
    start_as(case, release, "pod", &[]).await
}

/// The same in a Pod of this name, with further flags. Of several, each has its webhook on a port of its own.
pub(crate) async fn start_as(
    case: &Case,
    release: &Release<'_>,
    pod: &str,
    flags: &[String],
) -> anyhow::Result<(Controller, tempfile::NamedTempFile)> {
    let mut run = release.container(&format!("{}-narthex-controller", case.ns())).await?;
    assert_eq!(run.args.first().map(String::as_str), Some("run"));
    let kubeconfig = case.kubeconfig_of(&run.account).await?;
    let mut args = vec![format!("--kubeconfig={}", kubeconfig.path().display())];
    // The harness adds a work directory and ports of its own: later flags win.
    args.extend(run.args.into_iter().skip(1));
    // The webhook is where its Service is: in the bed, those addresses are local and lead to no Pod.
    if args.iter().any(|arg| arg.starts_with("--validating-webhook=")) {
        let service = case.namespace.api::<Service>().get(&format!("{}-narthex-controller-admission", case.ns())).await?;
        let address = service.spec.and_then(|spec| spec.cluster_ip).context("a Service has an address")?;
        let is_taken = std::net::TcpListener::bind((address.as_str(), 443)).is_err();
        args.push(format!("--validating-webhook={address}:{}", if is_taken { Ports::one()? } else { 443 }));
    }
    args.extend(flags.iter().cloned());
    for (_, value) in run.env.iter_mut().filter(|(name, _)| name == "POD_NAME") {
        pod.clone_into(value);
    }
    Ok((Controller::launch(args, run.env, None, None).await?, kubeconfig))
}

pub(crate) fn rule(class: &str, host: &str) -> IngressBuilder {
    mk_ingress(host).class(class).host(host).path("/", PathType::Prefix, "echo", 80)
}

fn sorted(rights: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = rights.iter().map(|right| (*right).to_owned()).collect();
    all.sort();
    all
}

const WATCHED: [&str; 13] = [
    "/configmaps list",
    "/configmaps watch",
    "/secrets list",
    "/secrets watch",
    "/services list",
    "/services watch",
    "discovery.k8s.io/endpointslices list",
    "discovery.k8s.io/endpointslices watch",
    "networking.k8s.io/ingresses list",
    "networking.k8s.io/ingresses watch",
    "networking.k8s.io/ingresses/status patch",
    "/events create",
    "/events patch",
];

/// In the release's namespace: its Pod and its Lease.
fn own(case: &Case) -> Vec<String> {
    let lease = format!("coordination.k8s.io/leases/{}-narthex-leader", case.ns());
    vec![
        "/pods get".into(),
        "/pods list".into(),
        "coordination.k8s.io/leases create".into(),
        format!("{lease} get"),
        format!("{lease} update"),
    ]
}

#[tokio::test]
async fn the_rights_for_the_cluster_are_enough_and_no_more() -> anyhow::Result<()> {
    let case = Case::new("chart-run").await?;
    let label = json!({"metadata": {"labels": {"chart-test": case.ns()}}});
    let namespaces: Api<Namespace> = Api::all(case.namespace.client().clone());
    namespaces.patch(case.ns(), &Default::default(), &Patch::Merge(&label)).await?;
    let release = Release::install(
        &case,
        &values(
            &case,
            json!({"controller": {
                "scope": {"namespaceSelector": format!("chart-test={}", case.ns())}, "addHeaders": {"X-Chart": "yes"},
                "config": {"worker-processes": 1, "server-snippet": ""}, "metrics": {"enabled": true}, "extraArgs": {"log-level": "info"},
            }}),
        ),
    )?;
    let _servers = case.echo(1).await?;
    case.certificate("cert", &["chart.example.com"]).await?;
    case.create(&rule(case.ns(), "chart.example.com").tls("chart.example.com", "cert").build()).await?;
    let (controller, kubeconfig) = start(&case, &release).await?;
    // A host with a certificate is redirected, to where the certificate is.
    controller.until("chart.example.com", "/", 308).await?;
    let answer = controller.get_tls("chart.example.com", "/").await?;
    assert_eq!((answer.status, answer.header("x-chart")), (200, Some("yes")));
    poll(PATIENCE, || async {
        ensure!(controller.metrics().await?.contains("nginx_ingress_controller_requests"), "no request metrics");
        Ok(())
    })
    .await?;

    // The status has the addresses of the chart's Service.
    let services = case.namespace.api::<Service>();
    let status = json!({"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}});
    services.patch_status(&format!("{}-narthex-controller", case.ns()), &PatchParams::default(), &Patch::Merge(status)).await?;
    poll(PATIENCE, || async {
        let ingress = case.namespace.api::<Ingress>().get("chart.example.com").await?;
        let written = serde_json::to_value(ingress.status)?;
        ensure!(written["loadBalancer"]["ingress"][0]["ip"] == "192.0.2.7", "{written}");
        Ok(())
    })
    .await?;
    let log = controller.log();
    assert!(!log.contains("forbidden"), "{log}");

    let mut everywhere = sorted(&WATCHED);
    everywhere.extend(["list", "watch"].map(|verb| format!("networking.k8s.io/ingressclasses {verb}")));
    everywhere.extend(["list", "watch"].map(|verb| format!("/namespaces {verb}")));
    let registration = format!("admissionregistration.k8s.io/validatingwebhookconfigurations/{}-narthex-admission", case.ns());
    everywhere.extend(["get", "patch"].map(|verb| format!("{registration} {verb}")));
    everywhere.sort();
    assert_eq!(rights(kubeconfig.path(), "default").await?, everywhere);
    let certificate = ["get", "update"].map(|verb| format!("/secrets/{}-narthex-admission-certificate {verb}", case.ns()));
    let mut here = [everywhere, own(&case), certificate.to_vec()].concat();
    here.sort();
    assert_eq!(rights(kubeconfig.path(), case.ns()).await?, here);
    Ok(())
}

#[tokio::test]
async fn one_namespace_needs_nothing_that_belongs_to_the_cluster() -> anyhow::Result<()> {
    let case = Case::new("chart-scope").await?;
    let own = json!({"scope": {"enabled": true}, "config": {"worker-processes": 1}, "service": {"type": "ClusterIP"}, "admissionWebhooks": {"enabled": false}});
    let scope = json!({"rbac": {"scope": true}, "controller": own});
    let release = Release::install(&case, &values(&case, scope))?;
    let _servers = case.echo(1).await?;
    // Classes can't be read: the annotation names ours.
    let plain = mk_ingress("plain").host("plain.example.com").path("/", PathType::Prefix, "echo", 80);
    case.create(&plain.annotation("kubernetes.io/ingress.class", case.ns()).build()).await?;
    let (controller, kubeconfig) = start(&case, &release).await?;
    controller.until("plain.example.com", "/", 200).await?;
    let mut here = [sorted(&WATCHED), self::own(&case)].concat();
    here.sort();
    assert_eq!(rights(kubeconfig.path(), case.ns()).await?, here);
    assert_eq!(rights(kubeconfig.path(), "default").await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn another_namespace_may_be_watched_than_that_of_the_release() -> anyhow::Result<()> {
    let (case, watched) = (Case::new("chart-here").await?, Case::new("chart-there").await?);
    let webhooks = json!({"enabled": false});
    let scope = json!({"controller": {"scope": {"enabled": true, "namespace": watched.ns()}, "config": {"worker-processes": 1},
        "admissionWebhooks": webhooks, "addHeaders": {"X-Chart": "yes"}, "proxySetHeaders": {"X-To-Backend": "yes"}}});
    let release = Release::install(&case, &values(&case, scope))?;
    let _servers = watched.echo(1).await?;
    watched.create(&rule(case.ns(), "there.example.com").build()).await?;
    let (controller, kubeconfig) = start(&case, &release).await?;
    controller.until("there.example.com", "/", 200).await?;
    // So are the headers that they name.
    let answer = controller.until_that("headers", "there.example.com", "/", |answer| answer.header("x-chart") == Some("yes")).await?;
    assert_eq!(answer.status, 200);
    assert_eq!(controller.seen("there.example.com", "/").await?.header("x-to-backend"), Some("yes"));
    // The settings beside the controller are read.
    ensure!(controller.nginx_conf()?.contains("worker_processes 1;"), "{}", controller.nginx_conf()?);
    let log = controller.log();
    assert!(!log.contains("forbidden"), "{log}");
    let there = rights(kubeconfig.path(), watched.ns()).await?;
    let classes = ["list", "watch"].map(|verb| format!("networking.k8s.io/ingressclasses {verb}"));
    let mut expected = [sorted(&WATCHED), classes.to_vec()].concat();
    expected.sort();
    assert_eq!(there, expected);
    let here = rights(kubeconfig.path(), case.ns()).await?;
    let service = format!("/services/{}-narthex-controller list", case.ns());
    assert!(here.contains(&service) && !here.iter().any(|right| right.contains("secrets")), "{here:?}");
    Ok(())
}
