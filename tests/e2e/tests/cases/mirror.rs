//! Copies of requests.

use anyhow::{Context, ensure};
use e2e::{Case, Echo, PATIENCE, rule};
use testkit::http::Request;
use testkit::poll;

async fn check_text(id: &str, body: Option<&str>, wanted: &str) -> anyhow::Result<()> {
    let case = Case::new(id).await?;
    let _echo = case.echo(1).await?;
    let ingress = rule("mirror", "mirror.foo.com").annotation("mirror-target", "http://mirror.example.com/mirror");
    let ingress = body.into_iter().fold(ingress, |ingress, body| ingress.annotation("mirror-request-body", body));
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    controller.until("mirror.foo.com", "/", 200).await?;
    let conf = controller.conf(&["mirror.foo.com", "/"])?;
    ensure!(conf.contains(wanted), "{wanted} in {conf}");
    let target = &controller.policy("mirror.foo.com").await?["mirror"]["mirror_target"];
    ensure!(target == "http://mirror.example.com/mirror$is_args$args", "{target}");
    Ok(())
}

#[tokio::test]
async fn mirror_01_mirror_target_gets_a_copy_of_each_request() -> anyhow::Result<()> {
    check_text("mirror-01", None, "mirror_request_body on;").await
}

#[tokio::test]
async fn mirror_02_mirror_request_body_off_leaves_the_body_out() -> anyhow::Result<()> {
    check_text("mirror-02", Some("off"), "mirror_request_body off;").await
}

#[tokio::test]
async fn mirror_host_is_the_host_of_the_copy_and_the_client_gets_the_backend_s_answer() -> anyhow::Result<()> {
    let case = Case::new("mirror").await?;
    let _echo = case.echo(1).await?;
    let other = case.deploy(&[Echo::named("other")]).await?;
    let target = format!("http://{}/copy$request_uri", other.addresses()[0]);
    let base = |host: &str| rule(host, host).annotation("mirror-target", &target).annotation("proxy-body-size", "8m");
    case.create(&base("whole.foo.com").annotation("mirror-host", "copy.$host").build()).await?;
    case.create(&base("head.foo.com").annotation("mirror-request-body", "off").build()).await?;
    let controller = case.controller().start().await?;
    let address = other.addresses()[0].ip().to_string();
    for (host, copy_host, bytes) in [("whole.foo.com", "copy.whole.foo.com", 2 << 20), ("head.foo.com", &address, 0)] {
        controller.until(host, "/", 200).await?;
        let copy = poll(PATIENCE, || async {
            let request = Request::new("POST", controller.http(), "/x?status=200").host(host).body("x".repeat(2 << 20));
            let response = request.send().await?;
            ensure!(response.status == 200 && response.text().contains("service=echo\n"), "{}", response.text());
            other.last().filter(|copy| copy.method == "POST" && copy.host == copy_host).with_context(|| format!("no copy for {host}"))
        })
        .await?;
        assert_eq!((copy.request_uri.as_str(), copy.body_bytes), ("/copy/x?status=200", bytes));
    }
    Ok(())
}
