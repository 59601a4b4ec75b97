//! Server names, aliases and the Host that backends see.

use e2e::Case;
use testkit::kube::{IngressBuilder, PathType, mk_ingress};

fn rule(name: &str, host: &str, path: &str) -> IngressBuilder {
    mk_ingress(name).class("nginx").host(host).path(path, PathType::Prefix, "echo", 80)
}

#[tokio::test]
async fn host_01_without_an_alias_only_the_host_itself_is_served() -> anyhow::Result<()> {
    let case = Case::new("host-01").await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("foo", "foo", "/").build()).await?;
    let controller = case.controller().start().await?;
    controller.until("foo", "/", 200).await?;
    assert_eq!(controller.seen("foo", "/").await?.header("host"), Some("foo"));
    let other = controller.get("bar", "/").await?;
    assert_eq!(other.status, 404);
    assert!(other.text().contains("404 Not Found"), "{}", other.text());
    Ok(())
}

#[tokio::test]
async fn host_02_an_alias_serves_every_path_of_its_host() -> anyhow::Result<()> {
    let case = Case::new("host-02").await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("app-a", "foo", "/app-a").build()).await?;
    case.create(&rule("app-b", "foo", "/app-b").annotation("server-alias", "bar").build()).await?;
    let controller = case.controller().start().await?;
    for host in ["foo", "bar"] {
        controller.until(host, "/app-a", 200).await?;
        assert_eq!(controller.statuses(host, ["/app-a", "/app-b", "/"]).await?, [200, 200, 404]);
    }
    Ok(())
}

#[tokio::test]
async fn host_03_the_backend_sees_the_host_that_the_annotation_names() -> anyhow::Result<()> {
    let case = Case::new("host-03").await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("vhost", "foo", "/").annotation("upstream-vhost", "upstreamvhost.bar.com").build()).await?;
    let controller = case.controller().start().await?;
    controller.until("foo", "/", 200).await?;
    assert_eq!(controller.seen("foo", "/").await?.host, "upstreamvhost.bar.com");
    Ok(())
}

#[tokio::test]
async fn host_04_snippets_know_the_name_of_the_upstream() -> anyhow::Result<()> {
    let case = Case::new("host-04").await?;
    case.allow_snippets().await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("proxy", "foo", "/").annotation("configuration-snippet", "add_header Custom-Header $proxy_host;").build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until("foo", "/", 200).await?;
    assert_eq!(response.header("custom-header"), Some(format!("{}-echo-80", case.ns()).as_str()));
    Ok(())
}

#[tokio::test]
async fn server_alias_may_be_a_pattern() -> anyhow::Result<()> {
    let case = Case::new("host-patterns").await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("foo", "foo.com", "/").annotation("server-alias", "*.bar.com,~^v[0-9]+\\.baz$").build()).await?;
    let controller = case.controller().start().await?;
    for host in ["foo.com", "a.b.bar.com", "a.bar.com", "v12.baz"] {
        controller.until(host, "/", 200).await?;
    }
    for host in ["bar.com", "va.baz", "v1.baz.com"] {
        assert_eq!(controller.get(host, "/").await?.status, 404, "{host}");
    }
    Ok(())
}

#[tokio::test]
async fn ssl_ciphers_and_ssl_prefer_server_ciphers_are_the_host_s_own() -> anyhow::Result<()> {
    let case = Case::new("host-ciphers").await?;
    let _echo = case.echo(1).await?;
    let ingress = rule("foo", "foo.com", "/").annotation("ssl-ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384");
    case.create(&ingress.annotation("ssl-prefer-server-ciphers", "false").annotation("ssl-redirect", "false").build()).await?;
    // As OpenSSL reads lists: what begins with @ may follow an item.
    let list = "ECDHE+AESGCM@STRENGTH:+HIGH@SECLEVEL=0";
    case.create(&rule("bar", "bar.com", "/").annotation("ssl-ciphers", list).annotation("ssl-redirect", "false").build()).await?;
    let controller = case.controller().start().await?;
    controller.until("foo.com", "/", 200).await?;
    for response in [controller.until("bar.com", "/", 200).await?, controller.get_tls("bar.com", "/").await?] {
        assert_eq!(response.status, 200);
    }
    assert!(controller.nginx_conf()?.contains(&format!("ssl_ciphers {list};")));
    let conf = controller.conf(&["foo.com"])?;
    assert!(conf.contains("ssl_ciphers ECDHE-ECDSA-AES256-GCM-SHA384; ssl_prefer_server_ciphers off;"), "{conf}");
    Ok(())
}

/// NGINX itself would prefer the block of the wildcard to the default one.
#[tokio::test]
async fn a_literal_host_below_a_pattern_with_a_server_block_is_served_by_its_own_rules() -> anyhow::Result<()> {
    let case = Case::new("host-literal").await?;
    case.allow_snippets().await?;
    let _echo = case.echo(1).await?;
    let snippet = "more_set_headers \"X-Block: pattern\";";
    case.create(&rule("wild", "*.wild.com", "/").annotation("server-snippet", snippet).build()).await?;
    case.create(&rule("alias", "alias.com", "/").annotation("server-alias", "*.many.com").annotation("server-snippet", snippet).build())
        .await?;
    case.create(&rule("early", "early.wild.com", "/").build()).await?;
    let controller = case.controller().start().await?;
    let block = |host: &'static str| {
        let controller = &controller;
        async move { anyhow::Ok(controller.until(host, "/", 200).await?.header("x-block").map(str::to_owned)) }
    };
    assert_eq!(block("any.wild.com").await?.as_deref(), Some("pattern"));
    assert_eq!(block("a.b.many.com").await?.as_deref(), Some("pattern"));
    assert_eq!(block("early.wild.com").await?, None);

    // One that comes later has its own name after a reload.
    case.create(&rule("late", "late.wild.com", "/").build()).await?;
    case.create(&rule("deep", "a.b.many.com", "/").build()).await?;
    for host in ["late.wild.com", "a.b.many.com"] {
        controller
            .until_that("its own block", host, "/", |response| response.status == 200 && response.header("x-block").is_none())
            .await?;
    }
    let conf = controller.nginx_conf()?;
    assert!(conf.contains(r#"server_name "_" "a.b.many.com" "early.wild.com" "late.wild.com";"#), "{conf}");
    Ok(())
}

#[tokio::test]
async fn new_hosts_below_a_pattern_that_has_nothing_but_ciphers_wait_for_no_reload() -> anyhow::Result<()> {
    let case = Case::new("host-ciphers").await?;
    let _echo = case.echo(1).await?;
    case.create(&rule("wild", "*.wild.com", "/").annotation("ssl-ciphers", "ECDHE-ECDSA-AES256-GCM-SHA384").build()).await?;
    // A reload in 100 seconds.
    let controller = case.controller().flag("--sync-rate-limit=0.01").start().await?;
    controller.until("any.wild.com", "/", 200).await?;
    for name in ["one", "two", "three"] {
        let host = format!("{name}.wild.com");
        case.create(&rule(name, &host, "/").annotation("permanent-redirect", "https://own.example.com").build()).await?;
        controller.until(&host, "/", 301).await?;
    }
    assert!(!controller.nginx_conf()?.contains("three.wild.com"));
    Ok(())
}
