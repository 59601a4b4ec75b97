//! LIMIT: requests, connections and bandwidth.

use std::net::SocketAddr;

use anyhow::{Context, ensure};
use e2e::{Case, Controller, PATIENCE, rule};
use testkit::http::Request;
use testkit::kube::{mk_service, mk_slice};
use testkit::{poll, ports};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

const HOST: &str = "limit.example.com";
const TARGET_PORT: u16 = 8080;

/// The Service `echo`, whose server answers no request until `open` says so.
async fn gated(case: &Case, open: watch::Receiver<bool>) -> anyhow::Result<JoinSet<()>> {
    let address = ports::addresses(1)?.pop().context("one address was asked for")?;
    let address = SocketAddr::from((address, TARGET_PORT));
    let listener = TcpListener::bind(address).await?;
    case.create(&mk_service("echo", 80, TARGET_PORT, None)).await?;
    case.create(&mk_slice("echo", "echo", &[address])).await?;
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let mut connections = JoinSet::new();
        while let Ok((stream, _)) = listener.accept().await {
            connections.spawn(answer(stream, open.clone()));
        }
    });
    Ok(tasks)
}

async fn answer(mut stream: TcpStream, mut open: watch::Receiver<bool>) {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        match stream.read_u8().await {
            Ok(byte) => request.push(byte),
            Err(_) => return,
        }
    }
    let waited = request.starts_with(b"GET /now ") || open.wait_for(|open| *open).await.is_ok();
    if waited {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 0\r\n\r\n").await;
    }
}

#[tokio::test]
async fn limit_01_limit_connections_lets_in_so_many_at_once() -> anyhow::Result<()> {
    let case = Case::new("limit-01").await?;
    let (open, opened) = watch::channel(false);
    let _server = gated(&case, opened).await?;
    case.create(&rule("echo", HOST).annotation("limit-connections", "8").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/now", 200).await?;
    let mut requests = JoinSet::new();
    for _ in 0..20 {
        requests.spawn(Request::get(controller.http(), "/sleep").host(HOST).timeout(PATIENCE).send());
    }
    for n in 0..12 {
        let refused = requests.join_next().await.context("20 requests are on their way")???;
        assert_eq!(refused.status, 503, "answer {n}");
    }
    open.send_replace(true);
    while let Some(passed) = requests.join_next().await {
        assert_eq!(passed??.status, 200);
    }
    // What has ended counts no more.
    assert_eq!(controller.get(HOST, "/now").await?.status, 200);
    Ok(())
}

async fn until_conf(controller: &Controller, text: &str) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let conf = controller.nginx_conf()?;
        ensure!(conf.contains(text), "{text:?} was expected in {conf}");
        Ok(())
    })
    .await
}

/// Waits until NGINX holds this rate.
async fn until_rate(controller: &Controller, kib: u32) -> anyhow::Result<()> {
    poll(PATIENCE, || async {
        let policy = controller.policy(HOST).await?;
        ensure!(policy["limit_rate"] == kib, "{policy}");
        Ok(())
    })
    .await
}

/// The time that an answer of `size` bytes takes.
async fn duration(controller: &Controller, size: u32) -> anyhow::Result<f64> {
    let started = std::time::Instant::now();
    let response = controller.get(HOST, &format!("/?size={size}")).await?;
    ensure!(response.status == 200 && response.body.len() == size as usize);
    Ok(started.elapsed().as_secs_f64())
}

#[tokio::test]
async fn limit_02_limit_rate_slows_answers_down() -> anyhow::Result<()> {
    let case = Case::new("limit-02").await?;
    let _servers = case.echo(1).await?;
    let annotated = |rate| rule("echo", HOST).annotation("proxy-buffering", "on").annotation("limit-rate", rate).build();
    case.create(&annotated("1")).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/?size=10", 200).await?;
    until_rate(&controller, 1).await?;
    // NGINX looks at the rate again after each second.
    assert!(duration(&controller, 2500).await? >= 1.0);

    case.patch::<k8s_openapi::api::networking::v1::Ingress>(
        "echo",
        serde_json::json!({"metadata": {"annotations": {"nginx.ingress.kubernetes.io/limit-rate": "90"}}}),
    )
    .await?;
    until_rate(&controller, 90).await
}

#[tokio::test]
async fn limit_03_limit_rate_of_the_settings_holds_where_no_other_is_set() -> anyhow::Result<()> {
    let case = Case::new("limit-03").await?;
    let _servers = case.echo(1).await?;
    case.settings(&[("limit-rate", "1"), ("limit-rate-after", "2")]).await?;
    case.create(&rule("echo", HOST).annotation("proxy-buffering", "on").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/?size=10", 200).await?;
    until_conf(&controller, "limit_rate 1k;").await?;
    until_conf(&controller, "geo $narthex_rate_after { default 2k; }").await?;
    assert!(duration(&controller, 4500).await? >= 1.0);

    case.settings(&[("limit-rate", "90")]).await?;
    until_conf(&controller, "limit_rate 90k;").await?;
    Ok(())
}

#[tokio::test]
async fn limits_of_requests_are_counted_by_ingress_and_answered_as_the_settings_say() -> anyhow::Result<()> {
    let case = Case::new("limit-rpm").await?;
    let _servers = case.echo(1).await?;
    case.settings(&[("limit-req-status-code", "429")]).await?;
    let limited = rule("echo", HOST).host("limit.example.org").path("/", testkit::kube::PathType::Prefix, "echo", 80);
    case.create(&limited.annotation("limit-rpm", "1").annotation("limit-burst-multiplier", "3").build()).await?;
    let controller = case.controller().start().await?;
    controller.until(HOST, "/", 200).await?;
    controller.until("limit.example.org", "/", 200).await?;
    // One, and three more at once; waiting may have used some. A minute brings one back.
    let mut statuses = Vec::new();
    for host in [HOST, "limit.example.org", HOST, "limit.example.org"] {
        statuses.push(controller.get(host, "/").await?.status);
    }
    assert!(statuses.iter().filter(|status| **status == 200).count() <= 2, "{statuses:?}");
    assert!(statuses.ends_with(&[429]), "{statuses:?}");
    Ok(())
}
