//! Addresses that no Pod has: a tenant must not lead requests to the controller's own machine.

use std::net::{IpAddr, Ipv4Addr};

use anyhow::ensure;
use e2e::{Case, PATIENCE, rule};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::networking::v1::Ingress;
use serde_json::json;
use testkit::gate::Gate;
use testkit::kube::{PathType, mk_ingress};
use testkit::{poll, ports};

const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// A server on loopback, which is to stay out of reach.
async fn inner() -> anyhow::Result<Gate> {
    Gate::start((LOOPBACK, ports::Ports::one()?).into()).await
}

/// A name with which the bed's DNS leads to the loopback address.
async fn rebound(case: &Case) -> anyhow::Result<String> {
    let name = format!("{}.example.org", case.ns());
    case.bed.dns_set(&name, vec![LOOPBACK], 1).await?;
    Ok(name)
}

fn external(name: &str, target: &str, port: u16) -> anyhow::Result<Service> {
    let spec = json!({"type": "ExternalName", "externalName": target, "ports": [{"port": port}]});
    Ok(serde_json::from_value(json!({"metadata": {"name": name}, "spec": spec}))?)
}

/// An ExternalName of each sort, with the host it serves: all lead to loopback.
async fn external_names(case: &Case, port: u16) -> anyhow::Result<Vec<String>> {
    let resolved = rebound(case).await?;
    let mut hosts = Vec::new();
    for (name, target) in [("resolved", resolved.as_str()), ("unspecified", "0.0.0.0"), ("loopback", "127.0.0.2"), ("zero", "0.0.0.1")] {
        case.create(&external(name, target, port)?).await?;
        let host = format!("{name}.example.com");
        case.create(&mk_ingress(name).class("nginx").host(&host).path("/", PathType::Prefix, name, port).build()).await?;
        hosts.push(host);
    }
    Ok(hosts)
}

#[tokio::test]
async fn an_external_name_never_leads_to_the_controllers_own_machine() -> anyhow::Result<()> {
    let case = Case::new("local-external").await?;
    let inner = inner().await?;
    let hosts = external_names(&case, inner.address().port()).await?;
    let controller = case.controller().start().await?;
    poll(PATIENCE, || async {
        let reported = controller.metrics().await?.contains("narthex_problems{kind=\"LocalEndpoint\"} 4");
        ensure!(reported, "not each is reported");
        Ok(())
    })
    .await?;
    for host in &hosts {
        controller.until(host, "/status/200", 503).await?;
    }
    assert_eq!(inner.requests(), 0);
    Ok(())
}

#[tokio::test]
async fn allow_local_endpoints_lets_them() -> anyhow::Result<()> {
    let case = Case::new("local-allowed").await?;
    let inner = inner().await?;
    let hosts = external_names(&case, inner.address().port()).await?;
    let controller = case.controller().flag("--allow-local-endpoints").start().await?;
    for host in &hosts[..2] {
        controller.until(host, "/status/200", 200).await?;
    }
    let _echo = case.echo(1).await?;
    case.create(&rule("asks", "asks.example.com").annotation("auth-url", &inner.url("/status/200")).build()).await?;
    controller.until("asks.example.com", "/", 200).await?;
    Ok(())
}

#[tokio::test]
async fn no_authentication_service_is_the_controllers_own_machine() -> anyhow::Result<()> {
    let case = Case::new("local-auth").await?;
    let (inner, _echo) = (inner().await?, case.echo(1).await?);
    let (port, name) = (inner.address().port(), rebound(&case).await?);
    // What is written is refused when it is read, what only a request shows then.
    let hosts = [
        ("literal", format!("http://127.0.0.1:{port}/status/200"), 503),
        ("mapped", format!("http://[::ffff:127.0.0.1]:{port}/status/200"), 503),
        ("localhost", format!("http://LocalHost.:{port}/status/200"), 503),
        ("resolved", format!("http://{name}:{port}/status/200"), 500),
        ("variable", format!("http://$http_x_to:{port}/status/200"), 500),
        ("kept", format!("http://{name}:{port}/status/200?kept"), 500),
    ];
    for (host, url, _) in &hosts {
        let ingress = rule(host, &format!("{host}.example.com")).annotation("auth-url", url);
        let ingress = if *host == "kept" { ingress.annotation("auth-keepalive", "4") } else { ingress };
        case.create(&ingress.build()).await?;
    }
    let controller = case.controller().start().await?;
    let answered = async |host: &str, to: &str, status: u16| {
        let asked = || async {
            let response = controller.get_with(&format!("{host}.example.com"), "/", &[("X-To", to)]).await?;
            ensure!(response.status == status, "{host} {to}: {}", response.status);
            Ok(())
        };
        poll(PATIENCE, asked).await
    };
    for (host, _, status) in &hosts {
        answered(host, &name, *status).await?;
    }
    for to in ["127.0.0.1", "0.0.0.0", "localhost", "127.1", "[::1]", "169.254.169.254"] {
        answered("variable", to, 500).await?;
    }
    assert_eq!(inner.requests(), 0);
    // A name that leads to a Pod is asked.
    let pod = Gate::start((ports::addresses(1)?[0], port).into()).await?;
    case.bed.dns_set(&name, vec![LOOPBACK, pod.address().ip()], 1).await?;
    for host in ["resolved", "variable", "kept"] {
        answered(host, &name, 200).await?;
    }
    assert_eq!(inner.requests(), 0, "of two addresses only the one that a Pod can have is used");
    Ok(())
}

#[tokio::test]
async fn no_copy_of_a_request_goes_to_the_controllers_own_machine() -> anyhow::Result<()> {
    let case = Case::new("local-mirror").await?;
    let (inner, _echo) = (inner().await?, case.echo(1).await?);
    let (port, name) = (inner.address().port(), rebound(&case).await?);
    let other = Gate::start((ports::addresses(1)?[0], port).into()).await?;
    for (host, target) in [("literal", "127.0.0.1"), ("resolved", name.as_str()), ("variable", "$arg_to")] {
        let target = format!("http://{target}:{port}/status/200");
        case.create(&rule(host, &format!("{host}.example.com")).annotation("mirror-target", &target).build()).await?;
    }
    let controller = case.controller().start().await?;
    for host in ["literal", "resolved", "variable"] {
        controller.until(&format!("{host}.example.com"), "/?to=127.0.0.1", 200).await?;
    }
    // When this copy has arrived, those before it would have.
    poll(PATIENCE, || async {
        controller.get("variable.example.com", &format!("/?to={}", other.address().ip())).await?;
        ensure!(other.requests() > 0, "no copy arrives where it may");
        Ok(())
    })
    .await?;
    assert_eq!(inner.requests(), 0);
    Ok(())
}

#[tokio::test]
async fn the_administrators_authentication_service_may_be_beside_the_controller() -> anyhow::Result<()> {
    let case = Case::new("local-global").await?;
    let (inner, _echo) = (inner().await?, case.echo(1).await?);
    case.settings(&[("global-auth-url", &inner.url("/status/200"))]).await?;
    let _: Ingress = case.serve("global.example.com").await?;
    let controller = case.controller().start().await?;
    controller.until("global.example.com", "/", 200).await?;
    assert!(inner.requests() > 0);
    Ok(())
}
