//! LB: balancing.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, rule};
use serde_json::Value;
use testkit::echo::Seen;
use testkit::poll;

const HOST: &str = "lb.example.com";

/// Numbers of `count` requests that the servers answer.
async fn servers(controller: &Controller, count: usize) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut servers = BTreeMap::new();
    for _ in 0..count {
        let response = controller.get(HOST, "/").await?;
        ensure!(response.status == 200, "{} {}", response.status, response.text());
        *servers.entry(Seen::read(&response.body)?.server).or_default() += 1;
    }
    Ok(servers)
}

/// A field of the record of the backend `echo`.
async fn field(case: &Case, controller: &Controller, name: &str) -> anyhow::Result<Value> {
    let record = controller.record('b', &format!("{}/echo:80", case.ns())).await?.context("NGINX has no backend echo")?;
    Ok(serde_json::from_str::<Value>(&record)?[name].take())
}

#[tokio::test]
async fn lb_01_upstream_hash_by_sends_one_key_to_one_endpoint() -> anyhow::Result<()> {
    let case = Case::new("lb-01").await?;
    let _servers = case.echo(6).await?;
    let controller = case.controller().start().await?;
    case.create(&rule("echo", HOST).annotation("upstream-hash-by", "$request_uri").build()).await?;
    controller.until(HOST, "/", 200).await?;
    assert_eq!(servers(&controller, 100).await?.into_values().collect::<Vec<_>>(), [100]);
    Ok(())
}

#[tokio::test]
async fn lb_02_load_balance_of_the_configmap_is_that_of_the_backends() -> anyhow::Result<()> {
    let case = Case::new("lb-02").await?;
    let _servers = case.echo(1).await?;
    case.settings(&[("load-balance", "ewma")]).await?;
    let controller = case.controller().start().await?;
    case.serve(HOST).await?;
    controller.until(HOST, "/", 200).await?;
    assert_eq!(field(&case, &controller, "load_balance").await?, "ewma");
    Ok(())
}

#[tokio::test]
async fn lb_03_ewma_serves_with_two_workers() -> anyhow::Result<()> {
    let case = Case::new("lb-03").await?;
    let _servers = case.echo(3).await?;
    case.settings(&[("load-balance", "ewma"), ("worker-processes", "2")]).await?;
    let controller = case.controller().start().await?;
    case.serve(HOST).await?;
    controller.until(HOST, "/", 200).await?;
    assert_eq!(field(&case, &controller, "load_balance").await?, "ewma");
    assert_eq!(servers(&controller, 30).await?.into_values().sum::<usize>(), 30);
    Ok(())
}

#[tokio::test]
async fn lb_04_round_robin_gives_each_endpoint_the_same() -> anyhow::Result<()> {
    let case = Case::new("lb-04").await?;
    let _servers = case.echo(3).await?;
    let controller = case.controller().start().await?;
    case.serve(HOST).await?;
    controller.until(HOST, "/", 200).await?;
    assert_eq!(servers(&controller, 600).await?.into_values().collect::<Vec<_>>(), [200, 200, 200]);
    Ok(())
}

#[tokio::test]
async fn service_upstream_is_the_address_of_the_service() -> anyhow::Result<()> {
    let case = Case::new("service-upstream").await?;
    let _servers = case.echo(2).await?;
    let controller = case.controller().start().await?;
    case.create(&rule("echo", HOST).annotation("service-upstream", "true").build()).await?;
    let service = case.namespace.api::<k8s_openapi::api::core::v1::Service>().get("echo").await?;
    let address = service.spec.and_then(|spec| spec.cluster_ip).context("a Service has an address")?;
    poll(PATIENCE, || async {
        let endpoints = controller.endpoints(&format!("{}/echo:80", case.ns())).await?;
        ensure!(endpoints == [format!("{address}:80")], "{endpoints:?}");
        Ok(())
    })
    .await
}

/// The owner of a key on the ring of endpoints, by the published rule: 160 points each, the first point from the key's CRC-32 on.
fn owner<'a>(key: &str, endpoints: &'a [String]) -> &'a str {
    let mut ring = BTreeMap::new();
    for endpoint in endpoints {
        let mut last = 0_u32;
        for _ in 0..160 {
            last = crc32fast::hash(&[endpoint.as_bytes(), &last.to_le_bytes()].concat());
            ring.insert(last, &**endpoint);
        }
    }
    let point = ring.range(crc32fast::hash(key.as_bytes())..).next().or_else(|| ring.first_key_value());
    point.map_or("", |(_, endpoint)| *endpoint)
}

#[tokio::test]
async fn golden_19_the_choice_of_consistent_hashing_can_be_computed() -> anyhow::Result<()> {
    let case = Case::new("golden-19").await?;
    let echoes = case.echo(4).await?;
    let controller = case.controller().start().await?;
    case.create(&rule("echo", HOST).annotation("upstream-hash-by", "${host}-$request_uri").build()).await?;
    controller.until(HOST, "/", 200).await?;
    let endpoints = echoes.endpoints();
    for n in 0..100 {
        let path = format!("/item/{n}?x");
        let seen = controller.seen(HOST, &path).await?;
        assert_eq!(seen.address, owner(&format!("{HOST}-{path}"), &endpoints), "{path}");
    }
    Ok(())
}
