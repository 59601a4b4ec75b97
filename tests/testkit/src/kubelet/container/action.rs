//! What probes and hooks do.

use std::net::Ipv4Addr;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use k8s_openapi::api::core::v1::{Container, HTTPGetAction, LifecycleHandler, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use tokio::net::TcpStream;

use super::runtime::Exec;
use crate::http::Request;

/// One action; its success is what counts.
#[derive(Debug, Clone)]
pub(super) enum Action {
    /// A command that ends with 0.
    Exec(Vec<String>),
    /// An answer below 400.
    Http { address: Ipv4Addr, port: u16, path: String, tls: bool, headers: Vec<(String, String)> },
    /// A connection.
    Tcp(Ipv4Addr, u16),
    /// A time that passes.
    Sleep(Duration),
}

impl Action {
    /// The action of a probe.
    ///
    /// # Errors
    /// It is of a kind that is not supported.
    pub(super) fn of_probe(probe: &Probe, container: &Container, address: Ipv4Addr) -> anyhow::Result<Self> {
        if let Some(get) = &probe.http_get {
            return http(get, container, address);
        }
        if let Some(exec) = &probe.exec {
            return Ok(Self::Exec(exec.command.clone().unwrap_or_default()));
        }
        let tcp = probe.tcp_socket.as_ref().context("only httpGet, exec and tcpSocket are supported")?;
        Ok(Self::Tcp(address, port(&tcp.port, container)?))
    }

    /// The action of a hook.
    ///
    /// # Errors
    /// It is of a kind that is not supported.
    pub(super) fn of_hook(hook: &LifecycleHandler, container: &Container, address: Ipv4Addr) -> anyhow::Result<Self> {
        if let Some(get) = &hook.http_get {
            return http(get, container, address);
        }
        if let Some(sleep) = &hook.sleep {
            return Ok(Self::Sleep(Duration::from_secs(sleep.seconds.try_into().unwrap_or(0))));
        }
        let exec = hook.exec.as_ref().context("only httpGet, exec and sleep are supported")?;
        Ok(Self::Exec(exec.command.clone().unwrap_or_default()))
    }

    /// Does it in a container.
    ///
    /// # Errors
    /// It fails; the error says how.
    pub(super) async fn run(&self, exec: &Exec) -> anyhow::Result<()> {
        match self {
            Self::Exec(command) => {
                let output = exec.run(command).await?;
                ensure!(output.status.success(), "{command:?}: {}: {}", output.status, String::from_utf8_lossy(&output.stderr).trim());
            }
            Self::Http { address, port, path, tls, headers } => {
                let mut request = Request::get(std::net::SocketAddr::from((*address, *port)), path.clone());
                if !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host")) {
                    request = request.host(format!("{address}:{port}"));
                }
                request = headers.iter().fold(request, |request, (name, value)| request.header(name, value));
                let request = request.header("Connection", "close");
                let answer = if *tls { request.tls("").send().await } else { request.send().await }?;
                ensure!((200..400).contains(&answer.status), "{path}: {}", answer.status);
            }
            Self::Tcp(address, port) => drop(TcpStream::connect((*address, *port)).await?),
            Self::Sleep(time) => tokio::time::sleep(*time).await,
        }
        Ok(())
    }
}

fn http(get: &HTTPGetAction, container: &Container, address: Ipv4Addr) -> anyhow::Result<Action> {
    let address = match &get.host {
        Some(host) => host.parse().with_context(|| format!("host {host:?} is no IPv4 address"))?,
        None => address,
    };
    let headers = get.http_headers.iter().flatten().map(|header| (header.name.clone(), header.value.clone())).collect();
    let path = get.path.clone().unwrap_or_else(|| "/".to_owned());
    let tls = get.scheme.as_deref().is_some_and(|scheme| scheme.eq_ignore_ascii_case("https"));
    Ok(Action::Http { address, port: port(&get.port, container)?, path, tls, headers })
}

/// A port by its number or its name.
fn port(port: &IntOrString, container: &Container) -> anyhow::Result<u16> {
    let number = match port {
        IntOrString::Int(number) => *number,
        IntOrString::String(name) => {
            let ports = container.ports.iter().flatten();
            match ports.clone().find(|port| port.name.as_deref() == Some(name)) {
                Some(port) => port.container_port,
                None => match name.parse() {
                    Ok(number) => number,
                    Err(_) => bail!("container {} has no port {name:?}", container.name),
                },
            }
        }
    };
    u16::try_from(number).with_context(|| format!("port {number}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ports_have_names() {
        let container: Container =
            serde_json::from_value(json!({"name": "a", "ports": [{"name": "http", "containerPort": 8080}]})).unwrap();
        for (text, expected) in [(json!("http"), 8080), (json!(10254), 10254), (json!("81"), 81)] {
            assert_eq!(port(&serde_json::from_value(text).unwrap(), &container).unwrap(), expected);
        }
        assert!(port(&IntOrString::String("x".into()), &container).unwrap_err().to_string().contains("no port \"x\""));
    }

    #[test]
    fn an_http_probe_asks_the_pod() {
        let container: Container = serde_json::from_value(json!({"name": "a"})).unwrap();
        let probe: Probe = serde_json::from_value(json!({"httpGet": {"port": 10254, "path": "/healthz"}})).unwrap();
        let action = Action::of_probe(&probe, &container, [10, 77, 16, 1].into()).unwrap();
        assert!(matches!(&action, Action::Http { port: 10254, path, tls: false, .. } if path == "/healthz"), "{action:?}");
    }
}
