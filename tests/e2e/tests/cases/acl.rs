//! Lists of addresses.

use e2e::{Case, rule};

const HOST: &str = "lists.foo.com";

#[tokio::test]
async fn acl_01_allowlist_source_range_lets_only_its_addresses_in() -> anyhow::Result<()> {
    let case = Case::new("acl-01").await?;
    case.settings(&[("use-forwarded-headers", "true")]).await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("allow", HOST).annotation("allowlist-source-range", "18.0.0.0/8, 56.0.0.0/8").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 403).await?;
    for (address, status) in [("18.0.0.1", 200), ("56.1.2.3", 200), ("57.0.0.1", 403)] {
        assert_eq!(controller.get_with(HOST, "/", &[("x-forwarded-for", address)]).await?.status, status, "{address}");
    }
    Ok(())
}

#[tokio::test]
async fn acl_02_denylist_source_range_keeps_its_addresses_out() -> anyhow::Result<()> {
    let case = Case::new("acl-02").await?;
    case.settings(&[("use-forwarded-headers", "true")]).await?;
    let _servers = case.echo(1).await?;
    case.create(&rule("deny", HOST).annotation("denylist-source-range", "18.0.0.0/8, 56.0.0.1").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    for (address, status) in [("18.0.0.1", 403), ("56.0.0.1", 403), ("56.0.0.2", 200)] {
        assert_eq!(controller.get_with(HOST, "/", &[("x-forwarded-for", address)]).await?.status, status, "{address}");
    }
    Ok(())
}

#[tokio::test]
async fn acl_03_blocked_networks_get_in_nowhere() -> anyhow::Result<()> {
    let case = Case::new("acl-03").await?;
    let networks = ["10.0.0.0/8", "127.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"];
    case.settings(&[("block-cidrs", &networks.join(",")), ("use-forwarded-headers", "true")]).await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 403).await?;
    for (address, status) in [("10.1.2.3", 403), ("172.16.0.1", 403), ("192.168.0.1", 403), ("8.8.8.8", 200)] {
        assert_eq!(controller.get_with(HOST, "/", &[("x-forwarded-for", address)]).await?.status, status, "{address}");
    }
    Ok(())
}

#[tokio::test]
async fn acl_04_blocked_referers_and_user_agents_get_403() -> anyhow::Result<()> {
    let case = Case::new("acl-04").await?;
    case.settings(&[("block-referers", r"~*example\.com,qwerty"), ("block-user-agents", "~^Bad,default")]).await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    for (name, value, status) in [
        ("referer", "http://Example.com/", 403),
        ("referer", "qwerty", 403),
        ("referer", "qwerty123", 200),
        ("user-agent", "Bad/1.0", 403),
        ("user-agent", "default", 403),
        ("user-agent", "NotBad", 200),
    ] {
        assert_eq!(controller.get_with(HOST, "/", &[(name, value)]).await?.status, status, "{name}: {value}");
    }
    Ok(())
}
