//! Services, ConfigMaps and clients of these cases.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::ensure;
use e2e::{Case, Launch, PATIENCE};
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Map, Value, json};
use testkit::http::raw;
use testkit::kube::{mk_service, mk_slice};
use testkit::poll;
use testkit::ports::addresses;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// Answers each connection with its name, a blank and what it was sent first, and closes.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    _tasks: JoinSet<()>,
}

impl Server {
    pub(super) async fn start(name: &'static str) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((addresses(1)?[0], 8080)).await?;
        let address = listener.local_addr()?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut answers = JoinSet::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                answers.spawn(async move {
                    let (mut bytes, mut read) = (vec![0; 4096], 0);
                    // NGINX sends a PROXY header by itself.
                    while read == 0 || bytes.starts_with(b"PROXY ") && bytes[..read].ends_with(b"\r\n") {
                        match stream.read(&mut bytes[read..]).await {
                            Ok(more @ 1..) => read += more,
                            _ => return,
                        }
                    }
                    let _ = stream.write_all(&[name.as_bytes(), b" ", &bytes[..read]].concat()).await;
                });
            }
        });
        Ok(Self { address, _tasks: tasks })
    }

    /// Makes it the endpoint of port 80 of a new Service.
    pub(super) async fn serve(&self, case: &Case, service: &str) -> anyhow::Result<()> {
        case.create(&mk_service(service, 80, self.address.port(), None)).await?;
        case.create(&mk_slice(service, service, &[self.address])).await?;
        Ok(())
    }
}

/// Makes the ConfigMap of the services of a protocol; `{NS}` stands for the namespace's name.
pub(super) async fn entries(case: &Case, protocol: &str, entries: &[(u16, &str)]) -> anyhow::Result<()> {
    let data: Map<String, Value> =
        entries.iter().map(|(port, entry)| (port.to_string(), entry.replace("{NS}", case.ns()).into())).collect();
    let map: ConfigMap = serde_json::from_value(json!({"metadata": {"name": protocol}, "data": data}))?;
    case.create(&map).await?;
    Ok(())
}

/// A controller that reads the ConfigMap `tcp`.
pub(super) fn controller(case: &Case) -> Launch<'_> {
    case.controller().flag("--tcp-services-configmap={NS}/tcp")
}

/// The address of a port.
pub(super) fn at(port: u16) -> SocketAddr {
    (Ipv4Addr::LOCALHOST, port).into()
}

/// Waits until these bytes get this answer.
pub(super) async fn until(port: u16, bytes: &[u8], expected: &[u8]) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let answer = raw(at(port), bytes).await?;
        ensure!(answer == expected, "{:?}", String::from_utf8_lossy(&answer));
        Ok(())
    })
    .await
}
