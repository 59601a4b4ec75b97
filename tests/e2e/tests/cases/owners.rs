//! Ownership by tenants: hosts with `--host-ownership`, and turns to reload.

use e2e::{Case, Echo, has_fake_certificate, rule};
use testkit::bed::Bed;
use testkit::echo::Seen;
use testkit::kube::{PathType, mk_ingress};

/// The victim has the host, then another namespace adds a canary that takes everything, and a path.
async fn two_tenants(id: &str) -> anyhow::Result<(Case, Case, Vec<e2e::Servers>, String)> {
    let (victim, evil) = (Case::new(id).await?, Case::with_bed(Bed::from_env()?, &format!("{id}-evil")).await?);
    let servers = vec![victim.deploy(&[Echo::named("echo")]).await?, evil.deploy(&[Echo::named("echo")]).await?];
    let host = format!("{}.example.com", victim.ns());
    let stored = victim.create(&rule("shop", &host).build()).await?;
    let later = async || anyhow::Ok(evil.create(&rule("probe", &format!("{}.example.com", evil.ns())).build()).await?);
    // Ages have whole seconds: within one the name decides.
    while later().await?.metadata.creation_timestamp <= stored.metadata.creation_timestamp {
        evil.delete::<k8s_openapi::api::networking::v1::Ingress>("probe").await?;
    }
    evil.create(&rule("canary", &host).annotation("canary", "true").annotation("canary-weight", "100").build()).await?;
    evil.create(&mk_ingress("path").class("nginx").host(&host).path("/admin", PathType::Prefix, "echo", 80).build()).await?;
    Ok((victim, evil, servers, host))
}

async fn namespace_of(controller: &e2e::Controller, host: &str, path: &str) -> anyhow::Result<String> {
    Ok(Seen::read(&controller.until(host, path, 200).await?.body)?.namespace)
}

#[tokio::test]
async fn another_tenants_canary_and_paths_take_no_request_of_a_host() -> anyhow::Result<()> {
    let (victim, evil, _servers, host) = two_tenants("owners").await?;
    let controller = victim.bare_controller().flag("--host-ownership=namespace").start().await?;
    // When this host is served, the other Ingresses of its namespace have been read.
    controller.until(&format!("{}.example.com", evil.ns()), "/", 200).await?;
    for path in ["/", "/admin"] {
        assert_eq!(namespace_of(&controller, &host, path).await?, victim.ns(), "{path}");
    }
    let text = format!("belongs to namespace \"{}\", because of the older Ingress {}/shop", victim.ns(), victim.ns());
    let log = controller.log();
    for name in ["canary", "path"] {
        let ingress = format!("{}/{name}", evil.ns());
        assert!(log.lines().any(|line| line.contains(&text) && line.contains(&ingress)), "{ingress}: {log}");
    }
    Ok(())
}

#[tokio::test]
async fn by_default_ingresses_of_all_namespaces_share_a_host() -> anyhow::Result<()> {
    let (victim, evil, _servers, host) = two_tenants("sharing").await?;
    let controller = victim.bare_controller().start().await?;
    controller.until(&format!("{}.example.com", evil.ns()), "/", 200).await?;
    for path in ["/", "/admin"] {
        assert_eq!(namespace_of(&controller, &host, path).await?, evil.ns(), "{path}");
    }
    Ok(())
}

#[tokio::test]
async fn the_wildcard_of_another_tenant_sends_no_client_of_a_host_below_it_to_https() -> anyhow::Result<()> {
    let (victim, evil) = (Case::new("below").await?, Case::with_bed(Bed::from_env()?, "below-evil").await?);
    let _servers = [victim.deploy(&[Echo::named("echo")]).await?, evil.deploy(&[Echo::named("echo")]).await?];
    let domain = format!("{}.example.com", victim.ns());
    let (host, wildcard) = (format!("shop.{domain}"), format!("*.{domain}"));
    victim.create(&rule("shop", &host).build()).await?;
    let certificate = evil.certificate("above", &[&wildcard]).await?;
    let controller = victim.bare_controller().flag("--host-ownership=namespace").start().await?;
    controller.until(&host, "/", 200).await?;
    evil.create(&rule("above", &wildcard).tls(&wildcard, "above").build()).await?;
    controller.until_certificate(&format!("other.{domain}"), &certificate).await?;
    assert_eq!(namespace_of(&controller, &host, "/").await?, victim.ns());
    assert!(has_fake_certificate(&controller.get_tls(&host, "/").await?), "it shows another tenant's certificate");
    Ok(())
}

#[tokio::test]
async fn a_host_whose_ingress_is_refused_is_not_served_by_another_tenants_wildcard() -> anyhow::Result<()> {
    let (victim, evil) = (Case::new("refused").await?, Case::with_bed(Bed::from_env()?, "refused-evil").await?);
    let _servers = [victim.deploy(&[Echo::named("echo")]).await?, evil.deploy(&[Echo::named("echo")]).await?];
    let domain = format!("{}.example.com", victim.ns());
    let (host, wildcard) = (format!("shop.{domain}"), format!("*.{domain}"));
    victim.create(&rule("shop", &host).annotation("limit-connections", "many").build()).await?;
    let certificate = evil.certificate("above", &[&wildcard]).await?;
    let controller = victim.bare_controller().flag("--host-ownership=namespace").start().await?;
    evil.create(&rule("above", &wildcard).tls(&wildcard, "above").build()).await?;
    controller.until_certificate(&format!("other.{domain}"), &certificate).await?;
    let answer = controller.get_tls(&host, "/").await?;
    assert!(has_fake_certificate(&answer), "it shows another tenant's certificate");
    assert_eq!(answer.status, 404, "{}", answer.text());
    Ok(())
}

#[tokio::test]
async fn the_reloads_that_one_tenant_asks_for_delay_those_of_no_other() -> anyhow::Result<()> {
    let (victim, evil) = (Case::new("turns").await?, Case::with_bed(Bed::from_env()?, "turns-evil").await?);
    let _servers = [victim.deploy(&[Echo::named("echo")]).await?, evil.deploy(&[Echo::named("echo")]).await?];
    // A turn in 100 seconds for each.
    let controller = victim.bare_controller().flag("--sync-rate-limit=0.01").start().await?;
    let profiled =
        |name: &str, size: &str| rule(name, &format!("{name}.turns.example.com")).annotation("client-body-buffer-size", size).build();
    evil.create(&profiled("first", "11k")).await?;
    controller.until("first.turns.example.com", "/", 200).await?;
    evil.create(&profiled("second", "12k")).await?;
    // Live, so it comes after the controller has seen the second.
    evil.create(&rule("live", "live.turns.example.com").build()).await?;
    controller.until("live.turns.example.com", "/", 200).await?;
    let waiting = controller.get("second.turns.example.com", "/").await?;
    assert_eq!(waiting.status, 404, "its tenant has used its turn");
    victim.create(&profiled("own", "13k")).await?;
    controller.until("own.turns.example.com", "/", 200).await?;
    assert_eq!(controller.reloads().await?, 2.0);
    Ok(())
}
