//! The way from objects to answers: a Deployment comes, changes and goes.

use e2e::Case;
use serde_json::json;

const ECHO: &str = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: echo}
spec:
  replicas: 1
  selector: {matchLabels: {app: echo}}
  template:
    metadata: {labels: {app: echo}}
    spec: {containers: [{name: echo, image: echo, ports: [{containerPort: 8080}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: echo}
spec: {selector: {app: echo}, ports: [{name: http, port: 80, targetPort: 8080}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: echo}
spec:
  ingressClassName: nginx
  rules: [{host: echo.{NS}, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: echo, port: {number: 80}}}}]}}]
";

#[tokio::test]
async fn a_deployment_is_served_and_gone_when_it_is_deleted_without_a_reload() -> anyhow::Result<()> {
    let case = Case::new("serve").await?;
    let controller = case.controller().start().await?;
    let host = format!("echo.{}", case.ns());
    assert_eq!(controller.get(&host, "/").await?.status, 404);
    case.apply(ECHO).await?;
    controller.until(&host, "/", 200).await?;
    case.namespace.api::<k8s_openapi::api::apps::v1::Deployment>().delete("echo", &Default::default()).await?;
    controller.until(&host, "/", 503).await?;
    case.namespace.api::<k8s_openapi::api::networking::v1::Ingress>().delete("echo", &Default::default()).await?;
    controller.until(&host, "/", 404).await?;
    assert_eq!(controller.reloads().await?, 0.0);
    Ok(())
}

#[tokio::test]
async fn a_server_whose_certificate_is_not_verified_is_warned_of_once() -> anyhow::Result<()> {
    let case = Case::new("unverified").await?;
    let mut kubeconfig: serde_json::Value = serde_json::from_slice(&std::fs::read(case.bed.kubeconfig())?)?;
    let server = kubeconfig["clusters"][0]["cluster"]["server"].clone();
    kubeconfig["clusters"][0]["cluster"] = json!({"server": server, "insecure-skip-tls-verify": true});
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), kubeconfig.to_string())?;
    let controller = case.controller().start_as(file.path()).await?;
    case.apply(ECHO).await?;
    controller.until(&format!("echo.{}", case.ns()), "/", 200).await?;
    let log = controller.log();
    let about = |words: &str| log.lines().filter(|line| line.contains(words)).count();
    assert_eq!(about("insecure-skip-tls-verify is set"), 1, "{log}");
    assert_eq!(about("bypassed"), 0, "the library's line for each connection: {log}");
    Ok(())
}
