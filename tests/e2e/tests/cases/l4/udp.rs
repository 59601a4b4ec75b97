//! UDP services.

use std::collections::BTreeSet;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anyhow::{Context, ensure};
use e2e::{Case, PATIENCE};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::api::discovery::v1::EndpointSlice;
use serde_json::{Value, json};
use testkit::poll;
use testkit::ports::{Ports, addresses};
use tokio::net::UdpSocket;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::world::{at, entries};

/// How long an answer may take before the question counts as lost.
const LOST: Duration = Duration::from_secs(2);

/// Answers each datagram with its name.
struct Server {
    address: SocketAddr,
    _task: JoinSet<()>,
}

impl Server {
    async fn start(name: &'static str) -> anyhow::Result<Self> {
        let socket = UdpSocket::bind((addresses(1)?[0], 5300)).await?;
        let address = socket.local_addr()?;
        let mut task = JoinSet::new();
        task.spawn(async move {
            let mut bytes = [0; 512];
            while let Ok((_, peer)) = socket.recv_from(&mut bytes).await {
                let _ = socket.send_to(name.as_bytes(), peer).await;
            }
        });
        Ok(Self { address, _task: task })
    }
}

/// A client with a port of its own.
struct Client(UdpSocket);

impl Client {
    async fn new() -> anyhow::Result<Self> {
        Ok(Self(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await?))
    }

    async fn ask(&self, port: u16) -> anyhow::Result<String> {
        self.0.send_to(b"who", at(port)).await?;
        let mut bytes = [0; 512];
        let read = timeout(LOST, self.0.recv(&mut bytes)).await.context("no answer")??;
        Ok(String::from_utf8_lossy(&bytes[..read]).into_owned())
    }
}

fn ready(servers: &[&Server]) -> Value {
    json!(servers.iter().map(|server| json!({"addresses": [server.address.ip()], "conditions": {"ready": true}})).collect::<Vec<_>>())
}

#[tokio::test]
async fn l4_08_clients_of_a_udp_service_keep_their_endpoint_and_changes_need_no_reload() -> anyhow::Result<()> {
    let case = Case::new("l4-08").await?;
    let (one, two, three) = (Server::start("one").await?, Server::start("two").await?, Server::start("three").await?);
    // TCP and UDP with the same number, as DNS has.
    let ports = json!([{"name": "dns", "port": 53, "targetPort": 5300, "protocol": "UDP"}, {"name": "dns-tcp", "port": 53, "targetPort": 1, "protocol": "TCP"}]);
    let service: Service = serde_json::from_value(json!({"metadata": {"name": "dns"}, "spec": {"ports": ports}}))?;
    case.create(&service).await?;
    let slice: EndpointSlice = serde_json::from_value(json!({
        "metadata": {"name": "dns", "labels": {"kubernetes.io/service-name": "dns"}}, "addressType": "IPv4",
        "ports": [{"name": "dns-tcp", "port": 1, "protocol": "TCP"}, {"name": "dns", "port": 5300, "protocol": "UDP"}],
        "endpoints": ready(&[&one, &two]),
    }))?;
    case.create(&slice).await?;
    let port = Ports::one()?;
    entries(&case, "udp", &[(port, "{NS}/dns:53")]).await?;
    case.settings(&[("worker-processes", "2"), ("proxy-stream-responses", "1")]).await?;
    let controller = case.controller().flag("--udp-services-configmap={NS}/udp").start().await?;
    let first = Client::new().await?;
    poll(PATIENCE, || first.ask(port)).await?;
    let reloads = controller.reloads().await?;

    let mut kept = Vec::new();
    for _ in 0..24 {
        let client = Client::new().await?;
        let own = client.ask(port).await?;
        for _ in 0..4 {
            assert_eq!(client.ask(port).await?, own, "another endpoint");
        }
        kept.push((client, own));
    }
    let used: BTreeSet<&str> = kept.iter().map(|(_, own)| own.as_str()).collect();
    assert_eq!(used, ["one", "two"].into(), "all clients have the same endpoint");

    // Clients of what stays stay there.
    case.patch::<EndpointSlice>("dns", json!({"endpoints": ready(&[&two, &three])})).await?;
    let (moved, stayed): (Vec<_>, Vec<_>) = kept.iter().partition(|(_, own)| own == "one");
    poll(PATIENCE, || async {
        for (client, _) in &moved {
            ensure!(client.ask(port).await? != "one", "still served by what is gone");
        }
        Ok(())
    })
    .await?;
    let mut left = 0;
    for (client, _) in &stayed {
        left += usize::from(client.ask(port).await? != "two");
    }
    assert!(left < stayed.len(), "all were moved to what is new");
    assert_eq!(controller.reloads().await?, reloads);
    Ok(())
}
