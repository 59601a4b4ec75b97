//! AFF: cookie affinity.

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, Servers, rule};
use k8s_openapi::api::networking::v1::Ingress;
use testkit::echo::Seen;
use testkit::http::Response;
use testkit::kube::{IngressBuilder, PathType, mk_ingress};
use testkit::poll;

const HOST: &str = "sticky.foo.com";

/// Adds affinity with a cookie of this name.
fn sticky(ingress: IngressBuilder, name: &str) -> IngressBuilder {
    ingress.annotation("affinity", "cookie").annotation("session-cookie-name", name)
}

fn one_path(name: &str, path: &str) -> IngressBuilder {
    mk_ingress(name).class("nginx").host(HOST).path(path, PathType::Prefix, "echo", 80)
}

/// A controller and two endpoints behind `echo`.
async fn start(id: &str) -> anyhow::Result<(Case, Servers, Controller)> {
    let case = Case::new(id).await?;
    let servers = case.echo(2).await?;
    let controller = case.controller().start().await?;
    Ok((case, servers, controller))
}

/// The one cookie that an answer sets.
fn cookie(response: &Response) -> anyhow::Result<&str> {
    let mut cookies = response.header_all("set-cookie");
    let cookie = cookies.next().context("no cookie is set")?;
    ensure!(cookies.next().is_none(), "more than one cookie is set");
    Ok(cookie)
}

/// The cookie that a new client gets for a path once it is served.
async fn cookie_of(controller: &Controller, path: &str) -> anyhow::Result<String> {
    Ok(cookie(&controller.until(HOST, path, 200).await?)?.to_owned())
}

#[tokio::test]
async fn aff_01_affinity_sets_a_cookie_of_the_session_cookie_name() -> anyhow::Result<()> {
    let (case, _servers, controller) = start("aff-01").await?;
    case.create(&sticky(rule("echo", HOST), "SERVERID").build()).await?;
    let cookie = cookie_of(&controller, "/").await?;
    assert!(cookie.starts_with("SERVERID="), "{cookie}");
    Ok(())
}

#[tokio::test]
async fn aff_02_the_cookie_has_the_path_of_the_rule() -> anyhow::Result<()> {
    let (case, _servers, controller) = start("aff-02").await?;
    case.create(&sticky(one_path("echo", "/something"), "SERVERID").build()).await?;
    let cookie = cookie_of(&controller, "/something").await?;
    assert!(cookie.contains("; Path=/something;"), "{cookie}");
    Ok(())
}

/// `Wdy, DD-Mon-YY HH:MM:SS GMT` as seconds since 1970, by `date`.
fn seconds(date: &str) -> anyhow::Result<u64> {
    let output = std::process::Command::new("date").args(["-u", "+%s", "-d", &date.replace('-', " ")]).output()?;
    String::from_utf8(output.stdout)?.trim().parse().with_context(|| format!("{date:?} is no date"))
}

#[tokio::test]
async fn aff_03_session_cookie_expires_and_session_cookie_max_age_are_attributes() -> anyhow::Result<()> {
    let (case, _servers, controller) = start("aff-03").await?;
    let ingress = sticky(rule("echo", HOST), "ExpiresCookie");
    case.create(&ingress.annotation("session-cookie-expires", "172800").annotation("session-cookie-max-age", "259200").build()).await?;
    let cookie = cookie_of(&controller, "/").await?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_secs();
    let (_, expires) = cookie.split_once("Expires=").context("it has Expires")?;
    let date = expires.split(';').next().unwrap_or_default();
    assert!(date.matches('-').count() == 2 && date.ends_with(" GMT"), "{date}");
    // NGINX's clock ticks when it works; a slow machine may take its time between the two readings.
    assert!(seconds(date)?.abs_diff(now + 172_800) <= PATIENCE.as_secs(), "{date}, now {now}");
    assert!(cookie.contains("; Max-Age=259200;"), "{cookie}");
    Ok(())
}

#[tokio::test]
async fn aff_04_session_cookie_domain_is_an_attribute() -> anyhow::Result<()> {
    let (case, _servers, controller) = start("aff-04").await?;
    case.create(&sticky(rule("echo", HOST), "a").annotation("session-cookie-domain", "foo.bar").build()).await?;
    let cookie = cookie_of(&controller, "/").await?;
    assert!(cookie.contains("; Domain=foo.bar;"), "{cookie}");
    Ok(())
}

#[tokio::test]
async fn aff_05_session_cookie_path_takes_the_place_of_a_regex() -> anyhow::Result<()> {
    let (case, _servers, controller) = start("aff-05").await?;
    let ingress = mk_ingress("echo").class("nginx").host(HOST).path("/foo/.*", PathType::ImplementationSpecific, "echo", 80);
    let ingress = sticky(ingress, "SERVERID").annotation("use-regex", "true").annotation("session-cookie-path", "/foo/bar");
    case.create(&ingress.build()).await?;
    let cookie = cookie_of(&controller, "/foo/bar").await?;
    assert!(cookie.starts_with("SERVERID=") && cookie.contains("; Path=/foo/bar;"), "{cookie}");
    Ok(())
}

#[tokio::test]
async fn aff_06_only_the_paths_of_an_ingress_with_affinity_set_cookies() -> anyhow::Result<()> {
    let (case, _servers, controller) = start("aff-06").await?;
    case.create(&sticky(one_path("sticky", "/foo/bar"), "a").build()).await?;
    case.create(&one_path("plain", "/foo").build()).await?;
    let plain = controller.until(HOST, "/foo", 200).await?;
    assert_eq!(plain.header("set-cookie"), None);
    let cookie = cookie_of(&controller, "/foo/bar").await?;
    assert!(cookie.contains("; Path=/foo/bar;"), "{cookie}");
    Ok(())
}

#[tokio::test]
async fn aff_07_a_rule_without_host_sets_cookies_on_any() -> anyhow::Result<()> {
    let (case, _servers, controller) = start("aff-07").await?;
    case.create(&sticky(mk_ingress("echo").class("nginx").host("").path("/", PathType::Prefix, "echo", 80), "SERVERID").build()).await?;
    let cookie = cookie_of(&controller, "/").await?;
    assert!(cookie.starts_with("SERVERID="), "{cookie}");
    Ok(())
}

#[tokio::test]
async fn aff_08_session_cookie_secure_holds_over_plain_http() -> anyhow::Result<()> {
    let (case, _servers, controller) = start("aff-08").await?;
    case.create(&sticky(rule("echo", HOST), "a").annotation("session-cookie-secure", "true").build()).await?;
    let cookie = cookie_of(&controller, "/bar").await?;
    assert!(cookie.contains("; Secure"), "{cookie}");
    Ok(())
}

#[tokio::test]
async fn aff_09_over_tls_the_cookie_is_secure_whatever_session_cookie_secure_says() -> anyhow::Result<()> {
    let (case, _servers, controller) = start("aff-09").await?;
    let certificate = case.certificate(HOST, &[HOST]).await?;
    case.create(&sticky(rule("echo", HOST), "a").annotation("session-cookie-secure", "false").tls(HOST, HOST).build()).await?;
    let response = controller.until_certificate(HOST, &certificate).await?;
    let cookie = cookie(&response)?;
    assert!(cookie.contains("; Secure"), "{cookie}");
    Ok(())
}

#[tokio::test]
async fn aff_10_annotations_are_kept_as_they_were_written() -> anyhow::Result<()> {
    let case = Case::new("aff-10").await?;
    let _servers = case.echo(5).await?;
    let controller = case.controller().start().await?;
    let annotations = [
        ("affinity", "cookie"),
        ("session-cookie-name", "hello-cookie"),
        ("session-cookie-expires", "172800"),
        ("session-cookie-max-age", "172800"),
        ("ssl-redirect", "false"),
        ("affinity-mode", "balanced"),
        ("session-cookie-hash", "sha1"),
    ];
    let ingress = annotations.iter().fold(rule("echo", HOST), |ingress, (name, value)| ingress.annotation(name, value)).build();
    case.create(&ingress).await?;
    controller.until(HOST, "/", 200).await?;
    let stored = case.namespace.api::<Ingress>().get("echo").await?;
    assert_eq!(stored.metadata.annotations, ingress.metadata.annotations);
    Ok(())
}

#[tokio::test]
async fn golden_17_a_cookie_leads_to_its_endpoint_on_every_path_and_over_tls() -> anyhow::Result<()> {
    let (case, _servers, controller) = start("golden-17").await?;
    let ingress = sticky(one_path("sticky", "/in"), "route").annotation("affinity-mode", "persistent");
    case.create(&ingress.annotation("ssl-redirect", "false").tls(HOST, "").build()).await?;
    case.create(&one_path("plain", "/out").annotation("ssl-redirect", "false").build()).await?;
    controller.until(HOST, "/out", 200).await?;
    let response = controller.until(HOST, "/in", 200).await?;
    let server = Seen::read(&response.body)?.server;
    let value = cookie(&response)?.split(';').next().unwrap_or_default().to_owned();
    for path in ["/in", "/out"].repeat(10) {
        let response = controller.get_with(HOST, path, &[("Cookie", &value)]).await?;
        assert_eq!((Seen::read(&response.body)?.server, response.header("set-cookie")), (server.clone(), None), "{path}");
    }
    poll(PATIENCE, || async {
        let response = controller.get_tls(HOST, "/in").await?;
        ensure!(response.status == 200, "{}", response.status);
        let cookie = cookie(&response)?;
        ensure!(cookie.ends_with("; Path=/in; Secure; HttpOnly"), "{cookie}");
        Ok(())
    })
    .await
}
