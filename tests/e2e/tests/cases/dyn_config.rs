//! DYN: changes that need no reload, and the few that do.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, rule};
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::networking::v1::Ingress;
use kube::api::DeleteParams;
use serde_json::json;
use testkit::kube::{Certificate, create_all, mk_certificate, mk_tls_secret};
use testkit::poll;

const HOST: &str = "foo.com";

/// Set-up DYNTLS: a TLS Ingress whose Secret came after it, and is served.
async fn tls_ingress(case: &Case) -> anyhow::Result<(Controller, Certificate)> {
    let controller = case.controller().start().await?;
    case.create(&rule("foo", HOST).tls(HOST, HOST).build()).await?;
    controller.until(HOST, "/", 308).await?;
    let certificate = case.certificate(HOST, &[HOST]).await?;
    controller.until_certificate(HOST, &certificate).await?;
    Ok((controller, certificate))
}

/// Duration of the soak.
struct Soak {
    /// Hosts of a round.
    hosts: usize,
    rounds: usize,
    /// Hosts that exist at the same time.
    batch: usize,
}

impl Soak {
    /// Short, or as long as the predecessor's with `NARTHEX_SOAK` set.
    fn wanted() -> Self {
        let long = std::env::var_os("NARTHEX_SOAK").is_some();
        if long { Self { hosts: 1000, rounds: 10, batch: 200 } } else { Self { hosts: 100, rounds: 2, batch: 100 } }
    }
}

/// Creates hosts with a Secret each, has each answer with its own certificate, and deletes them all.
async fn come_and_go(case: &Case, controller: &Controller, hosts: &[String]) -> anyhow::Result<()> {
    let client = case.namespace.client();
    let certificates = hosts.iter().map(|host| mk_certificate(&[host])).collect::<Result<Vec<_>, _>>()?;
    let secrets = hosts.iter().zip(&certificates).map(|(host, certificate)| mk_tls_secret(host, certificate));
    create_all::<Secret>(client, case.ns(), secrets).await?;
    create_all::<Ingress>(client, case.ns(), hosts.iter().map(|host| rule(host, host).tls(host, host).build())).await?;
    let last = hosts.last().zip(certificates.last());
    for (host, certificate) in last.into_iter().chain(hosts.iter().zip(&certificates)) {
        controller.until_certificate(host, certificate).await?;
    }
    for (host, certificate) in hosts.iter().zip(&certificates) {
        let response = controller.get_tls(host, "/").await?;
        assert_eq!((response.status, response.certificates), (200, vec![certificate.der.clone()]), "{host}");
    }
    let all = Default::default();
    case.namespace.api::<Ingress>().delete_collection(&DeleteParams::default(), &all).await?;
    case.namespace.api::<Secret>().delete_collection(&DeleteParams::default(), &all).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn dyn_01_hosts_with_certificates_come_and_go_and_leave_nothing() -> anyhow::Result<()> {
    let case = Case::new("dyn-01").await?;
    let _servers = case.echo(1).await?;
    let controller = case.controller().start().await?;
    let before = controller.keys().await?;
    let soak = Soak::wanted();
    let mut free = BTreeSet::new();
    for round in 0..soak.rounds {
        for first in (0..soak.hosts).step_by(soak.batch) {
            let hosts: Vec<String> = (first..first + soak.batch).map(|n| format!("{round}-{n}.soak.example.com")).collect();
            come_and_go(&case, &controller, &hosts).await?;
        }
        poll(PATIENCE, || async {
            let keys = controller.keys().await?;
            ensure!(keys == before, "NGINX holds {} keys, {} before", keys.len(), before.len());
            Ok(())
        })
        .await?;
        free.insert(controller.free_bytes("certificate_data").await?);
    }
    assert_eq!(free.len(), 1, "the dictionary of certificates fills up: {free:?} bytes are free after each round");
    assert_eq!(controller.reloads().await?, 0.0);
    Ok(())
}

#[tokio::test]
async fn dyn_02_tls_can_be_added_to_an_ingress() -> anyhow::Result<()> {
    let case = Case::new("dyn-02").await?;
    let _servers = case.echo(1).await?;
    let controller = case.controller().start().await?;
    case.create(&rule("foo", HOST).build()).await?;
    controller.until(HOST, "/", 200).await?;
    let certificate = case.certificate(HOST, &[HOST]).await?;
    case.patch::<Ingress>("foo", json!({"spec": {"tls": [{"hosts": [HOST], "secretName": HOST}]}})).await?;
    controller.until_certificate(HOST, &certificate).await?;
    assert_eq!(controller.reloads().await?, 0.0);
    Ok(())
}

#[tokio::test]
async fn dyn_03_a_dot_at_the_end_of_the_host_makes_no_difference() -> anyhow::Result<()> {
    let case = Case::new("dyn-03").await?;
    let _servers = case.echo(1).await?;
    let (controller, certificate) = tls_ingress(&case).await?;
    let response = controller.get_tls("foo.com.", "/").await?;
    assert_eq!((response.status, response.certificates), (200, vec![certificate.der]));
    Ok(())
}

#[tokio::test]
async fn dyn_04_a_deleted_secret_leaves_the_generated_certificate() -> anyhow::Result<()> {
    let case = Case::new("dyn-04").await?;
    let _servers = case.echo(1).await?;
    let (controller, _) = tls_ingress(&case).await?;
    let reloads = controller.reloads().await?;
    case.delete::<Secret>(HOST).await?;
    controller.until_fake_certificate(HOST).await?;
    assert_eq!(controller.reloads().await?, reloads);
    Ok(())
}

#[tokio::test]
async fn dyn_05_a_host_that_its_tls_section_does_not_name_has_the_generated_certificate() -> anyhow::Result<()> {
    let case = Case::new("dyn-05").await?;
    let _servers = case.echo(1).await?;
    let (controller, _) = tls_ingress(&case).await?;
    let mut spec = rule("foo", "foo2.com").build().spec.context("an Ingress has a spec")?;
    let rules = spec.rules.take();
    case.patch::<Ingress>("foo", json!({"spec": {"rules": rules}})).await?;
    controller.until_fake_certificate("foo2.com").await?;
    Ok(())
}

#[tokio::test]
async fn dyn_06_the_balancer_is_lua() -> anyhow::Result<()> {
    let case = Case::new("dyn-06").await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 503).await?;
    let text = controller.nginx_conf()?;
    assert!(text.contains("upstream upstream_balancer { server 0.0.0.1; balancer_by_lua_block { "), "{text}");
    Ok(())
}

/// Changes the endpoints of the slice of `echo`.
async fn set_endpoints(case: &Case, servers: &[std::net::SocketAddr]) -> anyhow::Result<()> {
    let endpoints: Vec<_> = servers.iter().map(|server| json!({"addresses": [server.ip()], "conditions": {"ready": true}})).collect();
    case.patch::<EndpointSlice>("echo", json!({"endpoints": endpoints})).await?;
    Ok(())
}

#[tokio::test]
async fn dyn_07_endpoints_of_ewma_change_without_a_new_configuration() -> anyhow::Result<()> {
    let case = Case::new("dyn-07").await?;
    let servers = case.echo(2).await?;
    set_endpoints(&case, &servers.addresses()[..1]).await?;
    case.create(&rule("foo", HOST).annotation("load-balance", "ewma").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    let conf = controller.nginx_conf()?;

    set_endpoints(&case, &servers.addresses()).await?;
    controller.until_endpoints(&format!("{}/echo:80", case.ns()), &servers.endpoints()).await?;
    for _ in 0..20 {
        assert_eq!(controller.get(HOST, "/").await?.status, 200);
    }
    assert_eq!(controller.nginx_conf()?, conf);

    set_endpoints(&case, &[]).await?;
    controller.until(HOST, "/", 503).await?;
    assert_eq!(controller.nginx_conf()?, conf);
    Ok(())
}

#[tokio::test]
async fn dyn_08_the_algorithm_changes_without_a_new_configuration() -> anyhow::Result<()> {
    let case = Case::new("dyn-08").await?;
    let _servers = case.echo(2).await?;
    case.create(&rule("foo", HOST).annotation("load-balance", "ewma").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    let (conf, backend) = (controller.nginx_conf()?, format!("{}/echo:80", case.ns()));
    let algorithm = |record: &str| record.contains("\"load_balance\":\"ewma\"");
    assert!(controller.record('b', &backend).await?.is_some_and(|record| algorithm(&record)));

    let patch = json!({"metadata": {"annotations": {"nginx.ingress.kubernetes.io/load-balance": "round_robin"}}});
    case.patch::<Ingress>("foo", patch).await?;
    poll(PATIENCE, || async {
        ensure!(controller.record('b', &backend).await?.is_some_and(|record| !algorithm(&record)), "it is still ewma");
        Ok(())
    })
    .await?;
    assert_eq!(controller.get(HOST, "/").await?.status, 200);
    assert_eq!(controller.nginx_conf()?, conf);
    Ok(())
}

/// The checksum in the first line of `nginx.conf`.
fn checksum(conf: &str) -> anyhow::Result<String> {
    let (_, rest) = conf.split_once("Configuration checksum: ").context("there is a checksum")?;
    Ok(rest.split(' ').next().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn dyn_09_settings_of_the_configmap_come_into_effect() -> anyhow::Result<()> {
    let case = Case::new("dyn-09").await?;
    let _servers = case.echo(1).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    case.settings(&[("whitelist-source-range", "1.1.1.1")]).await?;
    controller.until(HOST, "/", 403).await?;

    let before = checksum(&controller.nginx_conf()?)?;
    let reloads = || controller.log().matches("Backend successfully reloaded").count();
    case.settings(&[("whitelist-source-range", "1.1.1.1"), ("error-log-level", "debug")]).await?;
    poll(PATIENCE, || async {
        ensure!(reloads() == 2, "{} reloads in the log", reloads());
        Ok(())
    })
    .await?;
    let conf = controller.nginx_conf()?;
    let level = conf.split_once("error_log ").and_then(|(_, rest)| rest.split_once(';')).map(|(line, _)| line.ends_with(" debug"));
    assert_eq!(level, Some(true), "{conf}");
    assert_ne!(checksum(&conf)?, before);
    Ok(())
}

#[tokio::test]
async fn dyn_10_sizes_of_shared_dictionaries_are_set_and_bad_ones_left_out() -> anyhow::Result<()> {
    let case = Case::new("dyn-10").await?;
    case.settings(&[("lua-shared-dicts", "configuration_data:60,certificate_data:300, my_dict: 15 , invalid: 1a")]).await?;
    let controller = case.controller().start().await?;
    let text = controller.nginx_conf()?;
    for expected in ["configuration_data 60M;", "certificate_data 20M;", "my_dict 15M;"] {
        assert!(text.contains(&format!("lua_shared_dict {expected}")), "{expected} is not in {text}");
    }
    assert!(!text.contains("lua_shared_dict invalid"), "{text}");
    Ok(())
}
