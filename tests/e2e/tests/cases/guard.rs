//! Protection that can't be used closes, whatever was served before.

use e2e::{Case, Controller, rule};
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::json;
use testkit::echo::Seen;
use testkit::http::Request;

use super::auth::external::gate;

const HOST: &str = "guard.foo.com";
const PREFIX: &str = "nginx.ingress.kubernetes.io";

/// Writes an annotation of the Ingress `guarded`, and leaves the others.
async fn annotate(case: &Case, name: &str, value: Option<&str>) -> anyhow::Result<()> {
    case.patch::<Ingress>("guarded", json!({ "metadata": { "annotations": { format!("{PREFIX}/{name}"): value } } })).await?;
    Ok(())
}

async fn again(case: &Case, controller: Controller) -> anyhow::Result<Controller> {
    drop(controller);
    case.controller().start().await
}

#[tokio::test]
async fn clients_get_503_where_a_protecting_annotation_is_refused_before_and_after_a_restart() -> anyhow::Result<()> {
    let case = Case::new("guard-refused").await?;
    let servers = case.echo(1).await?;
    case.create(&rule("guarded", HOST).build()).await?;
    let mut controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    for (name, value) in [
        ("auth-url", "javascript:\"nothing\""),
        ("auth-type", "bearer"),
        ("auth-tls-secret", "no;name"),
        ("whitelist-source-range", "all"),
        ("denylist-source-range", "10.0.0.0/8,"),
    ] {
        annotate(&case, name, Some(value)).await?;
        controller.until(HOST, "/", if name == "auth-tls-secret" { 403 } else { 503 }).await?;
        assert!(controller.log().contains("because it protects the"), "{name}: the reason is missing");
        let asked = servers.requests();
        if name == "auth-url" {
            controller = again(&case, controller).await?;
            controller.until(HOST, "/", 503).await?;
        }
        assert_eq!(controller.get(HOST, "/").await?.status / 100, if name == "auth-tls-secret" { 4 } else { 5 });
        assert_eq!(servers.requests(), asked, "{name}: the backend was reached");
        annotate(&case, name, None).await?;
        controller.until(HOST, "/", 200).await?;
    }
    Ok(())
}

#[tokio::test]
async fn a_refused_ingress_is_never_served_without_the_protection_that_it_asks_for_now() -> anyhow::Result<()> {
    let case = Case::new("guard-beside").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("guarded", HOST).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    // The list is good; what refuses the Ingress is something else.
    let both = json!({ format!("{PREFIX}/whitelist-source-range"): "192.0.2.1", format!("{PREFIX}/limit-rps"): "many" });
    case.patch::<Ingress>("guarded", json!({ "metadata": { "annotations": both } })).await?;
    controller.until(HOST, "/", 403).await?;
    let controller = again(&case, controller).await?;
    controller.until(HOST, "/", 503).await?;
    annotate(&case, "limit-rps", None).await?;
    controller.until(HOST, "/", 403).await?;
    Ok(())
}

#[tokio::test]
async fn a_request_in_absolute_form_has_one_host_for_rules_service_and_backend() -> anyhow::Result<()> {
    let case = Case::new("guard-absolute").await?;
    let (gate, _servers) = (gate().await?, case.echo(1).await?);
    let asks = rule("guarded", HOST).annotation("auth-url", &gate.url("/ok")).annotation("auth-response-headers", "X-Asked");
    case.create(&asks.build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    let response = Request::get(controller.http(), format!("http://{HOST}:81/x")).host("other.foo.com").send().await?;
    let seen = Seen::read(&response.body)?;
    assert_eq!((seen.header("host"), seen.header("x-asked")), (Some("guard.foo.com:81"), Some("http://guard.foo.com:81/x")));
    Ok(())
}
