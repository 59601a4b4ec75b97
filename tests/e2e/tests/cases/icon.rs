//! The Ingress API's conformance cases.
//!
//! They are written for the cluster's default class. That mark is the whole cluster's, and other cases of the bed rely on it that Ingresses
//! without a class stay so; these Ingresses therefore name the class that the API server would fill in.
//! The suite's client follows redirects, so this one does: to HTTPS, which any TLS section switches on for every host of its Ingress, and
//! to the slash at which a Prefix path ends.

mod default_backend;
mod host_rules;
mod path_rules;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, Echo, PATIENCE, Servers};
use k8s_openapi::api::networking::v1::Ingress;
use testkit::echo::Format;
use testkit::http::{Request, Response};
use testkit::kube::{PathType, mk_ingress};
use testkit::poll;

const ADDRESS: &str = "127.0.0.1";
const USER_AGENT: &str = "conformance/1.0";

/// A case with its servers and its controller, which publishes [`ADDRESS`].
struct Conformance {
    controller: Controller,
    case: Case,
    _servers: Servers,
}

impl Conformance {
    /// Services of port 8080 which answer in JSON, with so many endpoints each, and an Ingress, which has its address on return.
    async fn new(id: &str, services: &[(&str, usize)], ingress: Ingress) -> anyhow::Result<Self> {
        let case = Case::new(&id[.."icon-00".len()]).await?;
        case.settings(&[("server-tokens", "true")]).await?;
        let echo = |&(service, endpoints)| Echo { service, port: 8080, endpoints, format: Format::Json };
        let servers = case.deploy(&services.iter().map(echo).collect::<Vec<_>>()).await?;
        let name = ingress.metadata.name.clone().context("an Ingress has a name")?;
        case.create(&ingress).await?;
        let launch = case.controller().flag(&format!("--publish-status-address={ADDRESS}")).flag("--election-id={NS}");
        let this = Self { controller: launch.start().await?, case, _servers: servers };
        this.addressed(&name).await?;
        Ok(this)
    }

    /// The address in the status of an Ingress.
    async fn address(&self, ingress: &str) -> anyhow::Result<Option<String>> {
        let ingress = self.case.namespace.api::<Ingress>().get(ingress).await?;
        let addresses = ingress.status.and_then(|status| status.load_balancer).and_then(|balancer| balancer.ingress);
        Ok(addresses.unwrap_or_default().into_iter().find_map(|address| address.ip))
    }

    /// Waits for the address in the status of an Ingress.
    async fn addressed(&self, ingress: &str) -> anyhow::Result<()> {
        let published = poll(PATIENCE, || async {
            let address = self.address(ingress).await?;
            ensure!(address.as_deref() == Some(ADDRESS), "Ingress {ingress:?} has the address {address:?}");
            Ok(())
        });
        published.await.with_context(|| format!("log of the controller:\n{}", self.controller.log()))
    }

    /// A request as the suite sends it.
    fn request(&self, method: &str, host: &str, path: &str) -> Request {
        Request::new(method, self.controller.http(), path).host(host).header("User-Agent", USER_AGENT)
    }

    /// The answer after redirects within the host.
    async fn get(&self, host: &str, path: &str) -> anyhow::Result<Response> {
        let mut response = self.request("GET", host, path).send().await?;
        for _ in 0..3 {
            let Some(location) = response.header("location").map(str::to_owned) else { break };
            let (scheme, rest) = location.split_once("://").with_context(|| format!("redirect to {location:?}"))?;
            let path = rest.strip_prefix(host).with_context(|| format!("redirect away from {host}: {location:?}"))?;
            let path = if path.is_empty() { "/" } else { path };
            let controller = &self.controller;
            response = if scheme == "https" { controller.get_tls(host, path).await? } else { controller.get(host, path).await? };
        }
        Ok(response)
    }

    /// Waits until the answer after redirects is 200.
    async fn served(&self, host: &str, path: &str) -> anyhow::Result<Response> {
        poll(PATIENCE, || async {
            let response = self.get(host, path).await?;
            ensure!(response.status == 200, "{host}{path}: {} {}", response.status, response.text());
            Ok(response)
        })
        .await
    }
}

#[tokio::test]
async fn icon_13_an_ingress_of_an_unknown_class_is_left_alone() -> anyhow::Result<()> {
    let path = |name: &str| mk_ingress(name).host(name).path("/", PathType::Prefix, "ingress-class-prefix", 8080);
    let known = path("known").class("nginx").build();
    let conformance = Conformance::new("icon-13", &[("ingress-class-prefix", 1)], known).await?;
    conformance.case.create(&path("ingress-class").class("some-invalid-class-name").build()).await?;
    // One of ours, made later, is served and has its address: by then the other one would have been.
    conformance.case.create(&path("later").class("nginx").build()).await?;
    conformance.addressed("later").await?;
    conformance.served("later", "/").await?;
    assert_eq!(conformance.address("ingress-class").await?, None);
    assert_eq!(conformance.get("ingress-class", "/").await?.status, 404);
    Ok(())
}
