//! SVC: kinds of Services and their endpoints.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, Servers, rule};
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use kube::api::{Api, DeleteParams, PostParams};
use serde_json::{Value, json};
use testkit::echo::{Handle, Identity, Seen};
use testkit::http::Response;
use testkit::kube::{PathType, mk_ingress, mk_service, mk_slice};
use testkit::{poll, ports};

const HOST: &str = "svc.example.com";

fn server_of(response: &Response) -> anyhow::Result<String> {
    Ok(Seen::read(&response.body)?.server)
}

/// A Service with an endpoint, and a server on its own address.
async fn service_with_cluster_ip(case: &Case) -> anyhow::Result<(Servers, Handle, SocketAddr)> {
    let servers = case.echo(1).await?;
    let service = case.namespace.api::<Service>().get("echo").await?;
    let address: Ipv4Addr = service.spec.and_then(|spec| spec.cluster_ip).context("a Service has a cluster IP")?.parse()?;
    let address = SocketAddr::from((address, 80));
    let handle = testkit::echo::start(address, Identity::named("cluster-ip")).await?;
    Ok((servers, handle, address))
}

#[tokio::test]
async fn svc_01_service_upstream_uses_the_cluster_ip() -> anyhow::Result<()> {
    let case = Case::new("svc-01").await?;
    let (_servers, _cluster_ip, address) = service_with_cluster_ip(&case).await?;
    case.create(&rule("echo", HOST).annotation("service-upstream", "true").build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(HOST, "/", 200).await?;
    assert_eq!(server_of(&response)?, "cluster-ip");
    assert_eq!(controller.endpoints(&format!("{}/echo:80", case.ns())).await?, [address.to_string()]);
    Ok(())
}

#[tokio::test]
async fn svc_02_the_annotation_switches_service_upstream_of_the_configmap_off() -> anyhow::Result<()> {
    let case = Case::new("svc-02").await?;
    case.settings(&[("service-upstream", "true")]).await?;
    let (servers, _cluster_ip, address) = service_with_cluster_ip(&case).await?;
    case.create(&rule("echo", HOST).annotation("service-upstream", "false").build()).await?;
    let controller = case.controller().start().await?;
    let response = controller.until(HOST, "/", 200).await?;
    assert_eq!(server_of(&response)?, "echo-0");
    let endpoints = controller.endpoints(&format!("{}/echo:80", case.ns())).await?;
    assert_eq!(endpoints, servers.endpoints());
    assert!(!endpoints.contains(&address.to_string()));
    Ok(())
}

#[tokio::test]
async fn svc_03_a_service_name_of_63_characters_finds_its_slice_by_the_label() -> anyhow::Result<()> {
    let case = Case::new("svc-03").await?;
    let name = "a".repeat(63);
    let address = SocketAddr::from((ports::addresses(1)?[0], 8080));
    let _server = testkit::echo::start(address, Identity::named("long")).await?;
    case.create(&mk_service(&name, 80, 8080, None)).await?;
    case.create(&mk_slice("another-name", &name, &[address])).await?;
    case.create(&mk_ingress("echo").class("nginx").host(HOST).path("/", PathType::Prefix, &name, 80).build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    Ok(())
}

/// A Node in a zone with a Pod on it, for a controller that asks where it runs.
struct Place {
    nodes: Api<Node>,
    node: String,
}

impl Place {
    async fn make(case: &Case, zone: &str) -> anyhow::Result<Self> {
        let nodes: Api<Node> = Api::all(case.namespace.client().clone());
        let node = format!("zoned-{}", case.ns());
        let object: Node = serde_json::from_value(json!({"metadata": {"name": node, "labels": {"topology.kubernetes.io/zone": zone}}}))?;
        nodes.create(&PostParams::default(), &object).await?;
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "controller"},
            "spec": {"nodeName": node, "containers": [{"name": "controller", "image": "narthex"}]},
        }))?;
        case.create(&pod).await?;
        Ok(Self { nodes, node })
    }

    async fn remove(self) -> anyhow::Result<()> {
        self.nodes.delete(&self.node, &DeleteParams::default()).await?;
        Ok(())
    }
}

#[tokio::test]
async fn svc_04_zone_hints_on_every_endpoint_choose_those_of_the_controllers_zone() -> anyhow::Result<()> {
    let case = Case::new("svc-04").await?;
    let place = Place::make(&case, "zone-a").await?;
    let servers = case.echo(2).await?;
    let mode = json!({"metadata": {"annotations": {"service.kubernetes.io/topology-mode": "Auto"}}});
    case.patch::<Service>("echo", mode).await?;
    let hinted = |zones: &[Option<&str>]| -> Value {
        let endpoints = servers.addresses().into_iter().zip(zones).map(|(address, zone)| {
            let hints = zone.map(|zone| json!({"forZones": [{"name": zone}]}));
            json!({"addresses": [address.ip()], "conditions": {"ready": true}, "hints": hints})
        });
        json!({"endpoints": endpoints.collect::<Vec<_>>()})
    };
    case.patch::<EndpointSlice>("echo", hinted(&[Some("zone-a"), Some("zone-b")])).await?;
    case.create(&rule("echo", HOST).build()).await?;
    let launch = case.controller().flag("--enable-topology-aware-routing=true");
    let controller = launch.env("POD_NAME", "controller").env("POD_NAMESPACE", case.ns()).start().await?;
    let backend = format!("{}/echo:80", case.ns());

    controller.until(HOST, "/", 200).await?;
    assert_eq!(controller.endpoints(&backend).await?, [servers.addresses()[0].to_string()]);
    case.patch::<EndpointSlice>("echo", hinted(&[None, None])).await?;
    controller.until_endpoints(&backend, &servers.endpoints()).await?;
    controller.until(HOST, "/", 200).await?;
    place.remove().await
}

#[tokio::test]
async fn svc_05_a_missing_service_is_answered_503() -> anyhow::Result<()> {
    let case = Case::new("svc-05").await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 503).await?;
    Ok(())
}

/// A server outside the cluster, port 80, that the bed's DNS knows by a name.
struct External {
    name: String,
    _server: Handle,
}

impl External {
    async fn start(case: &Case, name: String) -> anyhow::Result<Self> {
        let address = ports::addresses(1)?[0];
        let server = testkit::echo::start((address, 80).into(), Identity::named("external")).await?;
        case.bed.dns_set(&name, vec![address.into()], 1).await?;
        Ok(Self { name, _server: server })
    }
}

fn external_service(name: &str, target: &str, ports: Value) -> anyhow::Result<Service> {
    let service = json!({"metadata": {"name": name}, "spec": {"type": "ExternalName", "externalName": target, "ports": ports}});
    Ok(serde_json::from_value(service)?)
}

/// Waits for the answer of the external server and returns what it saw.
async fn until_external(controller: &Controller) -> anyhow::Result<Seen> {
    let response = controller.until(HOST, "/get", 200).await?;
    let seen = Seen::read(&response.body)?;
    assert_eq!((seen.server.as_str(), seen.path.as_str()), ("external", "/get"));
    Ok(seen)
}

#[tokio::test]
async fn svc_06_an_external_name_of_one_label_is_found_through_the_search_domains() -> anyhow::Result<()> {
    let case = Case::new("svc-06").await?;
    // The bed's resolv.conf searches bed.test.
    let _external = External::start(&case, format!("{}.bed.test", case.ns())).await?;
    case.create(&external_service("echo", case.ns(), Value::Null)?).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    until_external(&controller).await?;
    Ok(())
}

#[tokio::test]
async fn svc_07_an_external_name_with_a_port_gets_the_host_header_of_upstream_vhost() -> anyhow::Result<()> {
    let case = Case::new("svc-07").await?;
    let external = External::start(&case, format!("{}.example.org", case.ns())).await?;
    case.create(&external_service("echo", &external.name, json!([{"name": "http", "port": 80, "targetPort": 80}]))?).await?;
    case.create(&rule("echo", HOST).annotation("upstream-vhost", &external.name).build()).await?;
    let controller = case.controller().start().await?;
    assert_eq!(until_external(&controller).await?.host, external.name);
    Ok(())
}

#[tokio::test]
async fn svc_08_an_external_name_s_port_can_be_referred_to_by_name() -> anyhow::Result<()> {
    let case = Case::new("svc-08").await?;
    let external = External::start(&case, format!("{}.example.org", case.ns())).await?;
    case.create(&external_service("echo", &external.name, json!([{"name": "echo", "port": 80, "targetPort": 80}]))?).await?;
    let ingress = mk_ingress("echo").class("nginx").annotation("upstream-vhost", &external.name);
    case.create(&ingress.host(HOST).path("/", PathType::Prefix, "echo", "echo").build()).await?;
    let controller = case.controller().start().await?;
    assert_eq!(until_external(&controller).await?.host, external.name);
    Ok(())
}

#[tokio::test]
async fn svc_09_an_external_name_may_end_in_a_dot_and_need_no_ports() -> anyhow::Result<()> {
    let case = Case::new("svc-09").await?;
    let external = External::start(&case, format!("{}.example.org", case.ns())).await?;
    case.create(&external_service("echo", &format!("{}.", external.name), Value::Null)?).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    until_external(&controller).await?;
    Ok(())
}

#[tokio::test]
async fn svc_10_an_external_name_service_may_come_and_go() -> anyhow::Result<()> {
    let case = Case::new("svc-10").await?;
    let external = External::start(&case, format!("{}.example.org", case.ns())).await?;
    case.serve(HOST).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/get", 503).await?;
    case.create(&external_service("echo", &external.name, json!([{"name": "http", "port": 80, "targetPort": 80}]))?).await?;
    until_external(&controller).await?;
    case.delete::<Service>("echo").await?;
    controller.until(HOST, "/get", 503).await?;
    assert_eq!(controller.reloads().await?, 0.0);
    Ok(())
}

#[tokio::test]
async fn svc_11_a_resource_backend_is_passed_over() -> anyhow::Result<()> {
    let case = Case::new("svc-11").await?;
    let _servers = case.echo(1).await?;
    case.serve("valid.svc.com").await?;
    case.apply(
        "
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: nilbackend}
spec:
  ingressClassName: nginx
  rules:
  - host: nilbackend.svc.com
    http: {paths: [{path: /, pathType: Prefix, backend: {resource: {apiGroup: example.com, kind: Storage, name: files}}}]}
",
    )
    .await?;
    let controller = case.controller().start().await?;
    controller.until("valid.svc.com", "/", 200).await?;
    controller.until("nilbackend.svc.com", "/", 404).await?;
    Ok(())
}

#[tokio::test]
async fn svc_12_external_names_can_be_switched_off() -> anyhow::Result<()> {
    let case = Case::new("svc-12").await?;
    let _servers = case.echo(1).await?;
    let external = External::start(&case, format!("{}.example.org", case.ns())).await?;
    case.create(&external_service("external", &external.name, json!([{"name": "http", "port": 80}]))?).await?;
    case.serve("echo-svc.com").await?;
    let path = mk_ingress("external").class("nginx").host("echo-external-svc.com").path("/", PathType::Prefix, "external", 80);
    case.create(&path.build()).await?;
    let controller = case.controller().flag("--disable-svc-external-name=true").start().await?;
    controller.until("echo-svc.com", "/", 200).await?;
    controller.until("echo-external-svc.com", "/", 503).await?;
    // Not even asked for.
    assert_eq!(case.bed.dns_queries(&external.name).await?, 0);
    poll(PATIENCE, || async {
        ensure!(controller.metrics().await?.contains("narthex_problems{kind=\"ExternalName\"} 1"), "no problem is reported");
        Ok(())
    })
    .await?;
    Ok(())
}
