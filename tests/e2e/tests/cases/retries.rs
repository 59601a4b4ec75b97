//! Timeouts and retries of proxying, from annotations and from the ConfigMap, as clients and endpoints see them.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

use anyhow::ensure;
use e2e::{Case, Controller, PATIENCE, rule};
use testkit::http::Request;
use testkit::kube::{mk_service, mk_slice};
use testkit::{poll, ports};

const HOST: &str = "retries.foo.com";

/// The place of a setting.
#[derive(Clone, Copy)]
enum At {
    Annotation,
    ConfigMap,
}

impl At {
    /// A host with these settings.
    async fn serve(self, case: &Case, settings: &[(&str, &str)]) -> anyhow::Result<Controller> {
        let (annotations, keys) = match self {
            Self::Annotation => (settings, &[][..]),
            Self::ConfigMap => (&[][..], settings),
        };
        case.settings(keys).await?;
        let ingress = annotations.iter().fold(rule("retries", HOST), |ingress, (name, value)| ingress.annotation(name, value));
        case.create(&ingress.annotation("proxy-body-size", "0").build()).await?;
        case.controller().start().await
    }
}

/// Makes the Service `echo` with a listener that accepts nothing as its endpoint.
async fn mute(case: &Case) -> anyhow::Result<TcpListener> {
    let address: SocketAddr = (ports::addresses(1)?[0], 8080).into();
    let listener = TcpListener::bind(address)?;
    case.create(&mk_service("echo", 80, 8080, None)).await?;
    case.create(&mk_slice("echo", "echo", &[address])).await?;
    Ok(listener)
}

/// A phase of proxying that the endpoint keeps waiting.
#[derive(Clone, Copy)]
enum Phase {
    Connect,
    Send,
    Read,
}

/// With one second as its timeout, a phase that the endpoint keeps waiting ends with 504 after about that, and not after the default of 5 or 60.
async fn gives_up(id: &str, at: At, phase: Phase) -> anyhow::Result<()> {
    let case = Case::new(id).await?;
    let listener = mute(&case).await?;
    let (setting, full) = match phase {
        // A full accept queue: the kernel answers no more connections.
        Phase::Connect => ("proxy-connect-timeout", fill(&listener)?),
        Phase::Send => ("proxy-send-timeout", Vec::new()),
        Phase::Read => ("proxy-read-timeout", Vec::new()),
    };
    let controller = at.serve(&case, &[(setting, "1")]).await?;
    poll(PATIENCE, || async { controller.host_record(HOST).await.map(drop) }).await?;
    let request = match phase {
        // More than the buffers of both sockets hold.
        Phase::Send => Request::new("POST", controller.http(), "/").body("x".repeat(64 << 20)),
        Phase::Connect | Phase::Read => Request::get(controller.http(), "/"),
    };
    let started = Instant::now();
    let status = request.host(HOST).timeout(PATIENCE).send().await?.status;
    let took = started.elapsed();
    drop(full);
    ensure!(status == 504, "{status} after {took:?}");
    ensure!((Duration::from_millis(900)..Duration::from_millis(4500)).contains(&took), "{took:?}");
    Ok(())
}

/// Connections that the listener does not accept, as many as its queue takes.
fn fill(listener: &TcpListener) -> anyhow::Result<Vec<TcpStream>> {
    let address = listener.local_addr()?;
    let queued: Vec<TcpStream> = std::iter::from_fn(|| TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok()).collect();
    ensure!(!queued.is_empty());
    Ok(queued)
}

/// Number of endpoints that get a request that each refuses after `delay_ms`.
async fn tries(id: &str, at: At, settings: &[(&str, &str)], delay_ms: u32) -> anyhow::Result<u64> {
    let case = Case::new(id).await?;
    let echo = case.echo(3).await?;
    let controller = at.serve(&case, settings).await?;
    controller.until(HOST, "/", 200).await?;
    let before = echo.requests();
    let status = controller.get(HOST, &format!("/?status=502&delay_ms={delay_ms}")).await?.status;
    ensure!(status == 502, "{status}");
    Ok(echo.requests() - before)
}

async fn retries(id: &str, at: At) -> anyhow::Result<()> {
    let conditions = ("proxy-next-upstream", "error timeout http_502");
    let all = [conditions, ("proxy-next-upstream-tries", "3")];
    assert_eq!(tries(&format!("{id}-all"), at, &all, 0).await?, 3);
    let timed = [conditions, ("proxy-next-upstream-tries", "3"), ("proxy-next-upstream-timeout", "1")];
    assert_eq!(tries(&format!("{id}-timed"), at, &timed, 700).await?, 2);
    Ok(())
}

#[tokio::test]
async fn proxy_08_proxy_connect_timeout_ends_what_the_endpoint_does_not_accept() -> anyhow::Result<()> {
    gives_up("proxy-08-connect", At::Annotation, Phase::Connect).await
}

#[tokio::test]
async fn proxy_08_proxy_send_timeout_ends_what_the_endpoint_does_not_read() -> anyhow::Result<()> {
    gives_up("proxy-08-send", At::Annotation, Phase::Send).await
}

#[tokio::test]
async fn proxy_08_proxy_read_timeout_ends_what_the_endpoint_does_not_answer() -> anyhow::Result<()> {
    gives_up("proxy-08-read", At::Annotation, Phase::Read).await
}

#[tokio::test]
async fn proxy_10_proxy_next_upstream_timeout_and_the_other_retries() -> anyhow::Result<()> {
    retries("proxy-10", At::Annotation).await
}

#[tokio::test]
async fn proxy_12_connect_timeout_of_the_configmap() -> anyhow::Result<()> {
    gives_up("proxy-12", At::ConfigMap, Phase::Connect).await
}

#[tokio::test]
async fn proxy_13_retries_of_the_configmap() -> anyhow::Result<()> {
    retries("proxy-13", At::ConfigMap).await
}

#[tokio::test]
async fn proxy_14_read_timeout_of_the_configmap() -> anyhow::Result<()> {
    gives_up("proxy-14", At::ConfigMap, Phase::Read).await
}

#[tokio::test]
async fn proxy_15_send_timeout_of_the_configmap() -> anyhow::Result<()> {
    gives_up("proxy-15", At::ConfigMap, Phase::Send).await
}
