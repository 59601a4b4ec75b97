//! CAN: canaries.

use anyhow::{Context, ensure};
use e2e::{Case, Controller, Echo, PATIENCE, Servers, rule};
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::json;
use testkit::echo::Seen;
use testkit::http::{Request, Response};
use testkit::kube::{IngressBuilder, PathType, mk_ingress};
use testkit::poll;

const HOST: &str = "foo";

/// One path of the host to a Service.
fn path(name: &str, path: &str, service: &str) -> IngressBuilder {
    mk_ingress(name).class("nginx").host(HOST).path(path, PathType::Prefix, service, 80)
}

fn canary(annotations: &[(&str, &str)]) -> IngressBuilder {
    let canary = path("canary", "/info", "canary").annotation("canary", "true");
    annotations.iter().fold(canary, |canary, (name, value)| canary.annotation(name, value))
}

/// A main Ingress and a canary with these annotations, both served.
struct Setup {
    case: Case,
    controller: Controller,
    _servers: Servers,
}

impl Setup {
    async fn new(id: &str, main: &[(&str, &str)], annotations: &[(&str, &str)]) -> anyhow::Result<Self> {
        let case = Case::new(id).await?;
        let servers = case.deploy(&["main", "canary"].map(Echo::named)).await?;
        let controller = case.controller().start().await?;
        let ingress = main.iter().fold(path("main", "/info", "main"), |ingress, (name, value)| ingress.annotation(name, value));
        case.create(&ingress.build()).await?;
        case.create(&canary(annotations).build()).await?;
        let setup = Self { case, controller, _servers: servers };
        setup.until("\"alternative\":").await?;
        setup.controller.until(HOST, "/info", 200).await?;
        Ok(setup)
    }

    /// Waits until NGINX's record of the main backend contains a text.
    async fn until(&self, text: &str) -> anyhow::Result<()> {
        let key = format!("{}/main:80", self.case.ns());
        poll(PATIENCE, || async {
            let record = self.controller.record('b', &key).await?.context("there is no backend main")?;
            ensure!(record.contains(text), "{record} does not contain {text}");
            Ok(())
        })
        .await
    }

    async fn ask(&self, headers: &[(&str, &str)]) -> anyhow::Result<Response> {
        let response = self.controller.get_with(HOST, "/info", headers).await?;
        ensure!(response.status == 200, "{headers:?}: {} {}", response.status, response.text());
        Ok(response)
    }

    /// The Service that answers a request with these headers.
    async fn service(&self, headers: &[(&str, &str)]) -> anyhow::Result<String> {
        Ok(Seen::read(&self.ask(headers).await?.body)?.service)
    }

    /// The Services that answer requests with these values of a header, in order.
    async fn services(&self, header: &str, values: &[&str]) -> anyhow::Result<Vec<String>> {
        let mut services = Vec::new();
        for value in values {
            services.push(self.service(&[(header, value)]).await?);
        }
        Ok(services)
    }

    /// Number of `count` requests with these headers that the canary answers.
    async fn canaries_of(&self, count: usize, headers: &[(&str, &str)]) -> anyhow::Result<usize> {
        let mut canaries = 0;
        for _ in 0..count {
            canaries += usize::from(self.service(headers).await? == "canary");
        }
        Ok(canaries)
    }
}

const BY_HEADER: (&str, &str) = ("canary-by-header", "CanaryByHeader");

#[tokio::test]
async fn can_01_without_the_header_the_main_service_answers() -> anyhow::Result<()> {
    let setup = Setup::new("can-01", &[], &[BY_HEADER]).await?;
    assert_eq!(setup.service(&[]).await?, "main");
    Ok(())
}

#[tokio::test]
async fn can_02_canary_by_header_sends_always_there_and_never_not() -> anyhow::Result<()> {
    let setup = Setup::new("can-02", &[], &[BY_HEADER]).await?;
    assert_eq!(setup.services("CanaryByHeader", &["never", "always"]).await?, ["main", "canary"]);
    Ok(())
}

#[tokio::test]
async fn can_03_a_changed_main_ingress_keeps_its_canary() -> anyhow::Result<()> {
    let setup = Setup::new("can-03", &[], &[BY_HEADER]).await?;
    let patch = json!({"metadata": {"annotations": {"nginx.ingress.kubernetes.io/proxy-read-timeout": "61"}}});
    setup.case.patch::<Ingress>("main", patch).await?;
    poll(PATIENCE, || async {
        let policy = setup.controller.policy(HOST).await?;
        ensure!(policy["proxy_read_timeout"] == 61, "the main Ingress has not changed yet: {policy}");
        Ok(())
    })
    .await?;
    assert_eq!(setup.services("CanaryByHeader", &["never", "always"]).await?, ["main", "canary"]);
    Ok(())
}

#[tokio::test]
async fn can_04_a_canary_with_another_header_listens_to_that() -> anyhow::Result<()> {
    let setup = Setup::new("can-04", &[], &[BY_HEADER]).await?;
    let patch = json!({"metadata": {"annotations": {"nginx.ingress.kubernetes.io/canary-by-header": "CanaryByHeader2"}}});
    setup.case.patch::<Ingress>("canary", patch).await?;
    setup.until("CanaryByHeader2").await?;
    assert_eq!(setup.services("CanaryByHeader2", &["never", "always"]).await?, ["main", "canary"]);
    assert_eq!(setup.services("CanaryByHeader", &["always"]).await?, ["main"]);
    Ok(())
}

#[tokio::test]
async fn can_05_canary_by_header_value_is_the_only_value() -> anyhow::Result<()> {
    let setup = Setup::new("can-05", &[], &[BY_HEADER, ("canary-by-header-value", "DoCanary")]).await?;
    let services = setup.services("CanaryByHeader", &["DoCanary", "always", "never", "otherheadervalue"]).await?;
    assert_eq!(services, ["canary", "main", "main", "main"]);
    Ok(())
}

#[tokio::test]
async fn can_06_a_value_beats_canary_by_header_pattern() -> anyhow::Result<()> {
    let both = [BY_HEADER, ("canary-by-header-value", "DoCanary"), ("canary-by-header-pattern", "^Do[A-Z][a-z]+y$")];
    let setup = Setup::new("can-06", &[], &both).await?;
    assert_eq!(setup.services("CanaryByHeader", &["DoCananry", "DoCanary"]).await?, ["main", "canary"]);
    Ok(())
}

#[tokio::test]
async fn can_07_a_pattern_that_is_none_means_main_whatever_the_cookie_says() -> anyhow::Result<()> {
    let broken = [BY_HEADER, ("canary-by-header-pattern", "[][**da?$&*"), ("canary-by-cookie", "CanaryByCookie")];
    let setup = Setup::new("can-07", &[], &broken).await?;
    assert_eq!(setup.service(&[("CanaryByHeader", "DoCanary"), ("Cookie", "CanaryByCookie=always")]).await?, "main");
    assert_eq!(setup.service(&[("Cookie", "CanaryByCookie=always")]).await?, "canary");
    assert!(setup.controller.log().contains("canary-by-header-pattern"), "nothing is said about it");
    Ok(())
}

#[tokio::test]
async fn can_08_canary_by_cookie_sends_always_there_and_nothing_else() -> anyhow::Result<()> {
    let setup = Setup::new("can-08", &[], &[("canary-by-cookie", "Canary-By-Cookie")]).await?;
    for (value, expected) in [("always", 50), ("never", 0), ("badcookievalue", 0)] {
        assert_eq!(setup.canaries_of(50, &[("Cookie", &format!("Canary-By-Cookie={value}"))]).await?, expected, "{value}");
    }
    Ok(())
}

#[tokio::test]
async fn can_09_a_canary_weight_of_100_is_everybody() -> anyhow::Result<()> {
    let setup = Setup::new("can-09", &[], &[("canary-weight", "100")]).await?;
    assert_eq!(setup.canaries_of(20, &[]).await?, 20);
    Ok(())
}

#[tokio::test]
async fn can_10_a_canary_weight_of_its_canary_weight_total_is_everybody() -> anyhow::Result<()> {
    let setup = Setup::new("can-10", &[], &[("canary-weight", "1000"), ("canary-weight-total", "1000")]).await?;
    assert_eq!(setup.canaries_of(20, &[]).await?, 20);
    Ok(())
}

#[tokio::test]
async fn can_11_half_the_weight_is_half_of_the_requests() -> anyhow::Result<()> {
    let setup = Setup::new("can-11", &[], &[("canary-weight", "100"), ("canary-weight-total", "200")]).await?;
    // One sample in 300 has fewer than 80 of either; three in a row do not happen.
    let mut samples = Vec::new();
    while samples.len() < 3 {
        let canaries = setup.canaries_of(200, &[]).await?;
        if (80..=120).contains(&canaries) {
            return Ok(());
        }
        samples.push(canaries);
    }
    anyhow::bail!("the canary answered {samples:?} of 200 requests");
}

#[tokio::test]
async fn can_12_a_canary_alone_makes_no_host() -> anyhow::Result<()> {
    let case = Case::new("can-12").await?;
    let _servers = case.deploy(&["echo", "canary"].map(Echo::named)).await?;
    let controller = case.controller().start().await?;
    case.create(&canary(&[BY_HEADER]).build()).await?;
    case.create(&rule("bar", "bar").build()).await?;
    controller.until("bar", "/", 200).await?;
    assert_eq!(controller.record('h', HOST).await?, None);
    assert_eq!(controller.get(HOST, "/info").await?.status, 404);
    Ok(())
}

#[tokio::test]
async fn can_13_a_canary_whose_service_does_not_exist_does_no_harm() -> anyhow::Result<()> {
    let case = Case::new("can-13").await?;
    let _servers = case.deploy(&["main"].map(Echo::named)).await?;
    let controller = case.controller().start().await?;
    let canary = path("canary", "/foo", "missing").path("/bar", PathType::Prefix, "missing", 80);
    case.create(&canary.annotation("canary", "true").annotation("canary-by-header", "CanaryByHeader").build()).await?;
    case.create(&path("main", "/info", "main").build()).await?;
    controller.until(HOST, "/info", 200).await?;
    assert_eq!(controller.statuses(HOST, ["/foo", "/bar"]).await?, [404, 404]);
    Ok(())
}

#[tokio::test]
async fn can_14_affinity_canary_behavior_sticky_binds_to_the_canary() -> anyhow::Result<()> {
    let main = [("affinity", "cookie"), ("session-cookie-name", "aff")];
    let canary = [
        ("canary-by-header", "ForceCanary"),
        ("canary-by-header-value", "yes"),
        ("canary-weight", "1"),
        ("affinity-canary-behavior", "sticky"),
    ];
    let setup = Setup::new("can-14", &main, &canary).await?;
    let first = setup.ask(&[("ForceCanary", "yes")]).await?;
    assert_eq!(Seen::read(&first.body)?.service, "canary");
    let cookie = first.header("set-cookie").and_then(|cookie| cookie.split(';').next()).context("a cookie is set")?;
    assert!(cookie.starts_with("aff="), "{cookie}");
    assert_eq!(setup.canaries_of(50, &[("Cookie", cookie)]).await?, 50);
    Ok(())
}

#[tokio::test]
async fn golden_16_header_then_cookie_then_weight_and_one_canary_only() -> anyhow::Result<()> {
    let rules = [("canary-by-header", "X-Go"), ("canary-by-cookie", "go"), ("canary-weight", "100")];
    let setup = Setup::new("golden-16", &[], &rules).await?;
    let _second = setup.case.deploy(&["second"].map(Echo::named)).await?;
    let second = path("another", "/info", "second").annotation("canary", "true").annotation("canary-weight", "100");
    setup.case.create(&second.build()).await?;
    let exact = mk_ingress("exact").class("nginx").host(HOST).path("/info", PathType::Exact, "second", 80);
    setup.case.create(&exact.annotation("canary", "true").annotation("canary-weight", "100").build()).await?;
    poll(PATIENCE, || async {
        let log = setup.controller.log();
        ensure!(log.contains("has a canary already") && log.contains("there is nothing to add to"), "nothing is said about the others");
        Ok(())
    })
    .await?;
    assert_eq!(setup.service(&[("X-Go", "never"), ("Cookie", "go=always")]).await?, "main");
    assert_eq!(setup.service(&[("X-Go", "no word"), ("Cookie", "go=never")]).await?, "main");
    assert_eq!(setup.service(&[("Cookie", "go=no word")]).await?, "canary");
    let request = Request::get(setup.controller.http(), "/info").host(HOST).header("X-Go", "always").header("Cookie", "go=never");
    assert_eq!(Seen::read(&request.send().await?.body)?.service, "canary");
    Ok(())
}
