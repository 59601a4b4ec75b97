//! Redirects.

use anyhow::ensure;
use e2e::{Case, PATIENCE, rule};
use testkit::kube::{IngressBuilder, PathType, mk_ingress};
use testkit::poll;

fn at(host: &str, path: &str) -> IngressBuilder {
    mk_ingress("redirect").class("nginx").host(host).path(path, PathType::Prefix, "echo", 80)
}

#[tokio::test]
async fn redir_01_app_root_redirects_the_root_of_the_host() -> anyhow::Result<()> {
    let case = Case::new("redir-01").await?;
    let _servers = case.echo(1).await?;
    let host = "approot.bar.com";
    case.create(&rule("approot", host).annotation("app-root", "/foo").annotation("force-ssl-redirect", "true").build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(host, "/", 302).await?;
    assert_eq!(response.header("location"), Some("http://approot.bar.com/foo"));
    assert_eq!(controller.get(host, "/foo").await?.status, 308);
    Ok(())
}

#[tokio::test]
async fn redir_02_force_ssl_redirect_needs_no_tls_section() -> anyhow::Result<()> {
    let case = Case::new("redir-02").await?;
    let _servers = case.echo(1).await?;
    let host = "forcesslredirect.bar.com";
    case.create(&rule("force", host).annotation("force-ssl-redirect", "true").build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(host, "/", 308).await?;
    assert_eq!(response.header("location"), Some("https://forcesslredirect.bar.com"));
    Ok(())
}

#[tokio::test]
async fn redir_03_from_to_www_redirect_sends_the_other_name_to_the_host() -> anyhow::Result<()> {
    let case = Case::new("redir-03").await?;
    let _servers = case.echo(1).await?;
    let host = "fromtowwwredirect.bar.com";
    let alias = format!("www.{host}");
    case.create(&rule("www", host).annotation("from-to-www-redirect", "true").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(host, "/", 200).await?;
    let response = controller.until(&alias, "/foo", 308).await?;
    let port = controller.http().port();
    assert_eq!(response.header("location"), Some(format!("http://{host}:{port}/foo").as_str()));

    // A host of that name keeps it.
    let reloads = controller.reloads().await?;
    case.create(&rule("own", &alias).build()).await?;
    controller.until(&alias, "/foo", 200).await?;
    case.delete::<k8s_openapi::api::networking::v1::Ingress>("own").await?;
    controller.until(&alias, "/foo", 308).await?;
    assert_eq!(controller.reloads().await?, reloads, "names are data");
    Ok(())
}

#[tokio::test]
async fn redir_04_preserve_trailing_slash_keeps_it_in_the_redirect_to_https() -> anyhow::Result<()> {
    let case = Case::new("redir-04").await?;
    let _servers = case.echo(1).await?;
    let host = "forcesslredirect.bar.com";
    let ingress = rule("keep", host).annotation("ssl-redirect", "true").annotation("preserve-trailing-slash", "true");
    case.create(&ingress.tls(host, host).build()).await?;
    case.certificate(host, &[host]).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(host, "/", 308).await?;
    assert_eq!(response.header("location"), Some("https://forcesslredirect.bar.com/"));
    Ok(())
}

#[tokio::test]
async fn redir_05_permanent_redirect_answers_301() -> anyhow::Result<()> {
    let case = Case::new("redir-05").await?;
    let _servers = case.echo(1).await?;
    let host = "redirect.com";
    let ingress = at(host, "/something").annotation("permanent-redirect", "http://redirect.example.com");
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(host, "/something", 301).await?;
    assert_eq!(response.header("location"), Some("http://redirect.example.com"));
    Ok(())
}

#[tokio::test]
async fn redir_06_relative_redirects_name_no_host() -> anyhow::Result<()> {
    let case = Case::new("redir-06").await?;
    let _servers = case.echo(1).await?;
    let host = "rr.foo.com";
    case.create(&at(host, "/something/").annotation("relative-redirects", "true").build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(host, "/something", 301).await?;
    assert_eq!(response.header("location"), Some("/something/"));
    Ok(())
}

#[tokio::test]
async fn redir_07_relative_redirects_hold_for_a_permanent_redirect_to_a_path() -> anyhow::Result<()> {
    let case = Case::new("redir-07").await?;
    let _servers = case.echo(1).await?;
    let host = "rr.foo.com";
    let ingress = at(host, "/something").annotation("permanent-redirect", "/new-location").annotation("relative-redirects", "true");
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(host, "/something", 301).await?;
    assert_eq!(response.header("location"), Some("/new-location"));
    Ok(())
}

#[tokio::test]
async fn redir_08_a_missing_secret_does_not_keep_from_redirecting() -> anyhow::Result<()> {
    let case = Case::new("redir-08").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("missing", "redirect.com").tls("redirect.com", "missing").build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until("redirect.com", "/", 308).await?;
    assert_eq!(response.header("location"), Some("https://redirect.com"));
    assert_eq!(controller.get_tls("redirect.com", "/").await?.status, 200);
    Ok(())
}

#[tokio::test]
async fn redir_09_no_tls_redirect_locations_are_paths_of_rules() -> anyhow::Result<()> {
    let case = Case::new("redir-09").await?;
    let _servers = case.echo(1).await?;
    let (host, path) = ("no-tls.foo.com", "/check-no-tls");
    case.create(&at(host, path).annotation("force-ssl-redirect", "true").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(host, path, 308).await?;
    case.settings(&[("no-tls-redirect-locations", path)]).await?;
    controller.until(host, path, 200).await?;
    Ok(())
}

#[tokio::test]
async fn temporal_redirect_and_temporal_redirect_code_win_over_permanent_redirect_and_permanent_redirect_code() -> anyhow::Result<()> {
    let case = Case::new("redir-temporal").await?;
    let _servers = case.echo(1).await?;
    let new = "http://redirect.example.com";
    for (host, annotations) in [
        ("temporal.foo.com", vec![("temporal-redirect", new), ("permanent-redirect", "/other")]),
        ("empty.foo.com", vec![("temporal-redirect", new), ("permanent-redirect", ""), ("permanent-redirect-code", "")]),
        ("temporal-code.foo.com", vec![("temporal-redirect", new), ("temporal-redirect-code", "307")]),
        ("permanent-code.foo.com", vec![("permanent-redirect", new), ("permanent-redirect-code", "308")]),
        ("body.foo.com", vec![("permanent-redirect", new), ("permanent-redirect-code", "300")]),
    ] {
        let ingress = rule(host, host).annotation("force-ssl-redirect", "true");
        case.create(&annotations.iter().fold(ingress, |ingress, (name, value)| ingress.annotation(name, value)).build()).await?;
    }
    let controller = case.controller().start().await?;
    for (host, status) in
        [("temporal.foo.com", 302), ("empty.foo.com", 302), ("temporal-code.foo.com", 307), ("permanent-code.foo.com", 308)]
    {
        assert_eq!(controller.until(host, "/", status).await?.header("location"), Some(new), "{host}");
    }
    let answer = controller.until("body.foo.com", "/", 300).await?;
    assert_eq!((answer.header("location"), answer.text().as_str()), (None, new));
    Ok(())
}

#[tokio::test]
async fn use_port_in_redirects_names_the_port() -> anyhow::Result<()> {
    let case = Case::new("redir-port").await?;
    let _servers = case.echo(1).await?;
    let (host, secure) = ("port.foo.com", "secure.foo.com");
    case.create(&at(host, "/something/").annotation("use-port-in-redirects", "true").build()).await?;
    let ingress = rule("secure", secure).annotation("use-port-in-redirects", "true").annotation("force-ssl-redirect", "true");
    case.create(&ingress.build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(host, "/something", 301).await?;
    assert_eq!(response.header("location"), Some(format!("http://{host}:{}/something/", controller.http().port()).as_str()));
    let response = controller.until(secure, "/a", 308).await?;
    assert_eq!(response.header("location"), Some(format!("https://{secure}:{}/a", controller.https().port()).as_str()));

    // As a setting it applies to all, and an annotation may turn it off.
    case.create(
        &rule("plain", "plain.foo.com").annotation("use-port-in-redirects", "false").annotation("force-ssl-redirect", "true").build(),
    )
    .await?;
    case.settings(&[("use-port-in-redirects", "true"), ("relative-redirects", "true")]).await?;
    poll(PATIENCE, || async {
        let response = controller.get(host, "/something").await?;
        ensure!(response.header("location") == Some("/something/"), "{:?}", response.header("location"));
        Ok(())
    })
    .await?;
    assert_eq!(controller.until("plain.foo.com", "/a", 308).await?.header("location"), Some("https://plain.foo.com/a"));
    Ok(())
}

#[tokio::test]
async fn ssl_redirect_false_leaves_plain_http_of_a_host_with_tls() -> anyhow::Result<()> {
    let case = Case::new("redir-off").await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("on", "on.foo.com").tls("on.foo.com", "").build()).await?;
    case.create(&rule("off", "off.foo.com").tls("off.foo.com", "").annotation("ssl-redirect", "false").build()).await?;
    let controller = case.controller().start().await?;
    let location = controller.until("on.foo.com", "/x", 308).await?;
    assert_eq!(location.header("location"), Some("https://on.foo.com/x"));
    controller.until("off.foo.com", "/x", 200).await?;
    Ok(())
}

#[tokio::test]
async fn http_redirect_code_of_an_ingress_over_the_one_of_the_configmap() -> anyhow::Result<()> {
    let case = Case::new("redirect-code").await?;
    case.settings(&[("http-redirect-code", "302")]).await?;
    let _servers = case.echo(1).await?;
    let forced = |name: &str, host: &str| rule(name, host).annotation("force-ssl-redirect", "true");
    case.create(&forced("default", "default.foo.com").build()).await?;
    for code in ["301", "302", "307", "308"] {
        let host = format!("code{code}.foo.com");
        case.create(&forced(&format!("code{code}"), &host).annotation("http-redirect-code", code).build()).await?;
    }
    case.create(&forced("wrong", "wrong.foo.com").annotation("http-redirect-code", "303").build()).await?;
    let controller = case.controller().start().await?;
    for (name, status) in [("default", 302), ("code301", 301), ("code302", 302), ("code307", 307), ("code308", 308), ("wrong", 302)] {
        let host = format!("{name}.foo.com");
        let response = controller.until(&host, "/a?b=c", status).await?;
        assert_eq!(response.header("location"), Some(format!("https://{host}/a?b=c").as_str()));
    }
    poll(PATIENCE, || async {
        let events = case.namespace.api::<k8s_openapi::api::core::v1::Event>().list(&Default::default()).await?.items;
        let of_it = events.iter().filter(|event| event.involved_object.name.as_deref() == Some("wrong"));
        let reported = of_it.filter_map(|event| event.message.as_deref()).any(|text| text.contains("http-redirect-code"));
        ensure!(reported, "no Event names the annotation: {events:?}");
        Ok(())
    })
    .await?;

    // Another status is live.
    let reloads = controller.reloads().await?;
    let change = serde_json::json!({"metadata": {"annotations": {"nginx.ingress.kubernetes.io/http-redirect-code": "307"}}});
    case.patch::<k8s_openapi::api::networking::v1::Ingress>("code301", change).await?;
    controller.until("code301.foo.com", "/", 307).await?;
    assert_eq!(controller.reloads().await?, reloads, "a status needs no reload");
    Ok(())
}
